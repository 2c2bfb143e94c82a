"""Probabilistic classes of optimization problems (section 3.1 of the paper)."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Real
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, Scalar

from ..machine import (
    batched_lapack,  # noqa: F401 (makes batched calls of LAPACK safe before anything is compiled)
    wrong_compiler,  # noqa: F401 (warns of a version of JAX that computes wrong results)
)
from ..messages.arguments import shown
from ..messages.waiting import waiting_for
from ..messages.warning import warn
from . import coincidences
from .estimated_smoothness import estimated_smoothness

OPTIONAL = (
    "gradient", "value_and_gradient", "hessian_product", "hessian", "residuals", "smooth", "prox", "constraint",
    "stochastic_loss", "smoothness", "optimal_loss", "optimal_accuracy", "solution", "next",
)  # fmt: skip
"""What a problem class may say about its problems beyond how to draw one, its loss and where to start."""


class MissingOracle(TypeError):
    """An algorithm or functional asked a problem class for something that it does not provide."""


class ProblemClass(eqx.Module):
    r"""A distribution of optimization problems, with their loss and the point where algorithms start.

    A problem \(\theta \sim P_P\) is to be solved as \(\min_x \ell(x, \theta)\) (section 3.1 of the paper). Subclasses
    define how to draw a problem (`sample`), its loss (`loss`) and where an algorithm starts (`start`). Everything is
    written for *one* problem, a pytree of arrays, and *one* point x, an array of any shape; loa does the batching. A
    class that knows more overrides the optional methods: `gradient`, `value_and_gradient`, `hessian_product`,
    `hessian`, `residuals`, `smooth` and `constraint` or `prox`, `stochastic_loss`, `smoothness`, `optimal_loss`,
    `solution`. Asking for one of these that has no default and was not overridden raises `MissingOracle`.

    A class with a constraint says `constraint = loa.sets.Simplex()`, or another set or penalty g of `loa.sets`, or has
    a method `constraint(self, problem)` that returns one. It defines `smooth` in the place of `loss`: its loss is then
    smooth + g, and its `prox` is that of g.

    Arrays that are drawn once and shared by all problems (a fixed design matrix) are fields of the subclass. A point
    may also be a pytree of arrays, such as a dictionary: all methods then see points of the form that `start` returns.

    >>> class Parabolas(ProblemClass):
    ...     def sample(self, key):
    ...         return jax.random.uniform(key, (3,), minval=1.0, maxval=2.0)
    ...     def loss(self, x, problem):
    ...         return 0.5 * jnp.sum(problem * x**2)
    ...     def start(self, problem, key):
    ...         return jnp.ones(3)
    >>> Parabolas().draw(jax.random.key(0), 10).shape
    (10, 3)
    """

    finite: ClassVar[bool] = False
    """Whether there are finitely many problems, so that independent draws may coincide."""

    affine_gradient: ClassVar[bool] = False
    """Whether the smooth part is quadratic in x, so that the gradient at x + β(x - y) follows from those at x and y."""

    def __init_subclass__(cls, **options: Any):
        super().__init_subclass__(**options)
        composite = cls.loss is ProblemClass.loss and cls.smooth is not ProblemClass.smooth
        if composite and (cls.prox is ProblemClass.prox or cls.constraint is not ProblemClass.constraint):
            cls.loss = ProblemClass._smooth_and_constraint

    def sample(self, key: Key[Array, ""]) -> Any:
        """Draw one problem θ from the distribution. A class whose problems come from a log needs no such method."""
        raise self._missing("way to draw a problem", "sample(self, key)")

    @abstractmethod
    def loss(self, x: Any, problem: Any) -> Scalar:
        """The loss ℓ(x, θ) of a point, a scalar."""

    @abstractmethod
    def start(self, problem: Any, key: Key[Array, ""]) -> Any:
        """The initial point of an algorithm, fixed or random."""

    def draw(self, key: Key[Array, ""], num_problems: int) -> Any:
        """Draw independent problems, stacked along a new leading axis.

        Problem n depends only on the key and on n, so a longer draw begins with the shorter one. A class whose problems
        are all the same is refused unless it is `finite`, and where many coincide there is a warning: most likely
        `sample` does not use its key.

        Arguments:
            key: a PRNG key such as `jax.random.key(0)`.
            num_problems: how many to draw, at least 1.

        Returns:
            A stack of problems: what `sample` returns, each array with a leading axis of length num_problems.
        """
        check_key(key)
        name, number = type(self).__name__, whole_number("num_problems", num_problems)
        with waiting_for(f"{number} problems of {name} to be drawn"):
            problems = _draw(self, key, number)
            copies = None if self.finite else coincidences.explained(name, problems)
        if copies is not None:
            if coincidences.distinct(problems)[0] == 1:
                raise ValueError(copies)
            warn(copies)
        return problems

    def at_most(self, num_problems: int) -> int:
        """How many problems a draw can have, of the number wanted: all of them, unless there are finitely many."""
        return num_problems

    def smooth(self, x: Any, problem: Any) -> Scalar:
        """The smooth part of the loss. This is the whole loss unless `constraint` or `prox` stands for the rest."""
        return self.loss(x, problem)

    def gradient(self, x: Any, problem: Any) -> Any:
        """The gradient of the smooth part. Override it if a formula is better than automatic differentiation."""
        return jax.grad(self.smooth)(x, problem)

    def value_and_gradient(self, x: Any, problem: Any) -> tuple[Scalar, Any]:
        """Loss and gradient. Override it, with `gradient`, where the two have more in common than JAX can see."""
        if self.has("smooth") or self.has("gradient"):
            return self.loss(x, problem), self.gradient(x, problem)
        return jax.value_and_grad(self.loss)(x, problem)

    def hessian_product(self, x: Any, direction: Any, problem: Any) -> Any:
        """The Hessian of the smooth part times a direction, which costs about as much as two gradients."""
        return jax.jvp(lambda point: self.gradient(point, problem), (x,), (direction,))[1]

    def hessian(self, x: Any, problem: Any) -> Float[Array, "d d"]:
        """The Hessian of the smooth part. The coordinates of a point that is not a vector are its entries in order."""
        directions = jnp.eye(x.size, dtype=x.dtype).reshape(-1, *x.shape)
        rows = jax.vmap(lambda direction: self.hessian_product(x, direction, problem))(directions)
        return rows.reshape(x.size, x.size)

    def residuals(self, x: Any, problem: Any) -> Float[Array, " m"]:
        r"""The residuals of a least-squares problem: half their squared norm is the smooth part of the loss.

        That is, \(h(x, \theta) = \frac12 \|r(x, \theta)\|^2\).
        """
        raise self._missing("residuals", "residuals(self, x, problem)")

    def prox(self, x: Any, step_size: Any, problem: Any) -> Any:
        """The proximal mapping prox_{αg}(x) of the non-smooth part g, or of `constraint`, with step size α."""
        if self.has("constraint"):
            return self.term(problem).at(x).prox(x, step_size)
        raise self._missing("prox", "prox(self, x, step_size, problem)")

    def constraint(self, problem: Any) -> Any:
        """The set that x must lie in, or another non-smooth part of the loss: one of `loa.sets`."""
        raise self._missing("constraint", "constraint(self, problem)")

    def term(self, problem: Any) -> Any:
        """The constraint of one problem, whether the class has one for all problems or a method."""
        return self.constraint(problem) if callable(self.constraint) else self.constraint

    def check_numbers(self, problem: Any) -> None:
        """Refuse one problem, given as numbers, whose constraint nothing satisfies, such as lower > upper in a Box."""
        if self.has("constraint"):
            self.term(problem)

    def _smooth_and_constraint(self, x: Any, problem: Any) -> Scalar:
        """The loss of a class that defines only its smooth part."""
        smooth = self.smooth(x, problem)
        return smooth + self.term(problem).at(x).value(x) if self.has("constraint") else smooth

    def stochastic_loss(self, x: Any, problem: Any, key: Key[Array, ""]) -> Scalar:
        """An unbiased estimate of the loss, for example on a mini-batch drawn with `key`."""
        raise self._missing("stochastic loss", "stochastic_loss(self, x, problem, key)")

    def smoothness(self, problem: Any) -> Scalar:
        """A Lipschitz constant L of the gradient of the smooth part; estimated by default where there is a prox."""
        if self.has("prox"):
            return estimated_smoothness(self, problem)
        raise self._missing("smoothness constant", "smoothness(self, problem)")

    def optimal_loss(self, problem: Any) -> Scalar | float:
        """The smallest value of the loss; 0 by default, as losses in the paper are non-negative.

        If a gap to the optimum is measured and this method is not overridden, loa warns. Overriding it with
        `return 0.0` states that 0 is right.
        """
        return 0.0

    def optimal_accuracy(self, problem: Any) -> Scalar | float:
        """The largest error of `optimal_loss`, 0 if a formula gives it. Reported gaps are never smaller."""
        return 0.0

    def solution(self, problem: Any) -> Any:
        """A minimizer of the loss."""
        raise self._missing("known solution", "solution(self, problem)")

    def next(self, problem: Any, x: Any, key: Key[Array, ""]) -> Any:
        """The problem that follows one whose solution x is put to use, as in a closed loop; see `loa.rollout`."""
        raise self._missing("next problem", "next(self, problem, x, key)")

    def has(self, method: str) -> bool:
        """Say whether this class provides one of the optional methods itself.

        A default of `ProblemClass`, such as automatic differentiation or the optimal loss 0, does not count.

        Arguments:
            method: "gradient", "value_and_gradient", "hessian_product", "hessian", "residuals", "smooth", "prox",
                "constraint", "stochastic_loss", "smoothness", "optimal_loss", "optimal_accuracy", "solution" or "next".

        >>> from loa.problems import Lasso, Rosenbrock
        >>> Lasso(rows=2, columns=3).has("prox"), Rosenbrock().has("prox")
        (True, False)
        """
        if method not in OPTIONAL:
            raise ValueError(
                f"{method!r} is not an optional method of a problem class; these are {', '.join(OPTIONAL)}."
            )
        return self.defines(method) or (method == "prox" and self.defines("constraint"))

    def defines(self, method: str) -> bool:
        """Whether a subclass, or one object of it, has its own method of this name."""
        own = vars(self).get(method, getattr(type(self), method))
        return own is not None and own is not getattr(ProblemClass, method)

    def _missing(self, what: str, method: str) -> MissingOracle:
        name = type(self).__name__
        return MissingOracle(f"{name} has no {what}: define `def {method}` in {name}, or ask for something else.")


@eqx.filter_jit
def _draw(problem_class: ProblemClass, key: Key[Array, ""], num_problems: int) -> Any:
    return jax.vmap(lambda index: sampled(problem_class, jax.random.fold_in(key, index)))(jnp.arange(num_problems))


def sampled(problem_class: ProblemClass, key: Key[Array, ""]) -> Any:
    """One problem, refused unless it is made of arrays and numbers."""
    problem = problem_class.sample(key)
    check_arrays(f"{type(problem_class).__name__}.sample must return", problem)
    return problem


def check_arrays(says: str, problem: Any) -> None:
    """Refuse a problem that is not made of arrays and numbers; the sentence begins as `says`."""
    leaves, wanted = jax.tree.leaves(problem), "one array or a tuple, list or dictionary of arrays"
    if not leaves:
        raise TypeError(f"{says} {wanted}, got {problem!r}.")
    for leaf in leaves:
        if not eqx.is_array_like(leaf) or (isinstance(leaf, np.ndarray) and leaf.dtype.kind in "OSUMm"):
            raise TypeError(f"{says} {wanted}, got {leaf!r} in it.")


def check_key(key: Any) -> None:
    """Refuse anything but one typed PRNG key."""
    if not (isinstance(key, jax.Array) and jnp.issubdtype(key.dtype, jax.dtypes.prng_key) and key.shape == ()):
        raise TypeError(f"key must be one typed PRNG key such as jax.random.key(0), got {shown(key)}.")


MOST = 2**31 - 1
"""The largest whole number that JAX can count to in its usual integers."""


def whole_number(name: str, number: Any, least: int = 1, most: int = MOST) -> int:
    """Refuse anything but a whole number that is neither too small nor too large."""
    try:
        whole = np.ndim(number) == 0 and not isinstance(number, bool | np.bool_) and int(number) == number >= least
    except (TypeError, ValueError, OverflowError):
        whole = False
    if not whole:
        raise ValueError(f"{name} must be a whole number and at least {least}, got {shown(number)}.")
    if number > most:
        raise ValueError(f"{name} must be a whole number of at most {most}, got {shown(number)}.")
    return int(number)


def count_problems(problems: Any) -> int:
    """The common length of the leading axes of a stack of problems."""
    leaves = jax.tree_util.tree_leaves_with_path(problems)
    for path, leaf in leaves:
        _check_leaf(jax.tree_util.keystr(path), leaf)
    lengths = {jax.tree_util.keystr(path) or "the stack": jnp.shape(leaf)[:1] for path, leaf in leaves}
    if not lengths:
        raise ValueError("problems must be arrays stacked along a leading axis, but there are none.")
    if () in lengths.values():
        scalars = ", ".join(name for name, length in lengths.items() if not length)
        raise ValueError(f"problems must be stacked along a leading axis, but {scalars} has none.")
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name}: {length[0]}" for name, length in lengths.items())
        raise ValueError(f"the leading axes of a stack of problems must agree, got lengths {shown}.")
    num_problems = next(iter(lengths.values()))[0]
    if num_problems == 0:
        raise ValueError("the stack of problems is empty.")
    return num_problems


def check_stack(name: str, problems: Any) -> None:
    """Refuse what is not a stack of problems, in a sentence that names the argument."""
    try:
        count_problems(problems)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name} must be a number of problems or a stack of them: {error}") from error


def _check_leaf(path: str, leaf: Any) -> None:
    """Refuse a part of a stack of problems that JAX cannot compute with."""
    dtype = getattr(leaf, "dtype", np.dtype(float) if isinstance(leaf, Real) else None)
    if dtype is None or not any(jnp.issubdtype(dtype, kind) for kind in (jnp.number, bool, jax.dtypes.prng_key)):
        where = f" at {path}" if path else ""
        raise TypeError(f"problems must be arrays of numbers, stacked along a leading axis, got {shown(leaf)}{where}.")
