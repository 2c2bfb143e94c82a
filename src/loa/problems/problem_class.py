"""Probabilistic classes of optimization problems (section 3.1 of the paper)."""

from __future__ import annotations

import copy
from abc import abstractmethod
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.extend.core import get_opaque_trace_state
from jaxtyping import Array, Key, Scalar

from . import linear_algebra  # noqa: F401 (makes batched calls of LAPACK safe before anything is compiled)


class MissingOracle(TypeError):
    """Something was asked of a problem class that it does not provide."""


class ProblemClass(eqx.Module):
    r"""A distribution of problems \(\min_x \ell(x, \theta)\), \(\theta \sim P_P\), and where to start on them.

    Subclasses say how to draw a problem, what its loss is and where an algorithm starts. Everything is written for
    *one* problem, a pytree of arrays, and *one* point x, an array of any shape; batching is done by loa. What a class
    knows beyond that it says by overriding one of the optional methods: `gradient`, `value_and_gradient`, `smooth` and
    `prox`, `stochastic_loss`, `smoothness`, `optimal_loss`, `solution`. Asking for one of these that has no default and
    was not given raises `MissingOracle`.

    Arrays that are drawn once and shared by all problems (a fixed design matrix) are fields of the subclass.

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
    """Whether there are finitely many problems, so that independent draws may coincide here and there."""

    affine_gradient: ClassVar[bool] = False
    """Whether the smooth part is quadratic in x, so that the gradient at x + β(x - y) follows from those at x and y."""

    @abstractmethod
    def sample(self, key: Key[Array, ""]) -> Any:
        """Draw one problem θ from the distribution."""

    @abstractmethod
    def loss(self, x: Any, problem: Any) -> Scalar:
        r"""The loss \(\ell(x, \theta)\), a scalar."""

    @abstractmethod
    def start(self, problem: Any, key: Key[Array, ""]) -> Any:
        r"""The initial point \(x^{(0)}\), fixed or random."""

    def draw(self, key: Key[Array, ""], num_problems: int) -> Any:
        """Draw independent problems, stacked along a new leading axis.

        Problem n depends on the key and on n alone, so a longer draw begins with the shorter one.
        """
        check_key(key)
        return _draw(self, key, whole_number("num_problems", num_problems))

    def smooth(self, x: Any, problem: Any) -> Scalar:
        """The smooth part of the loss; all of it unless the class has a `prox` for the rest."""
        return self.loss(x, problem)

    def gradient(self, x: Any, problem: Any) -> Any:
        """Gradient of the smooth part. Override it where automatic differentiation is not the best way."""
        return jax.grad(self.smooth)(x, problem)

    def value_and_gradient(self, x: Any, problem: Any) -> tuple[Scalar, Any]:
        """Loss and gradient. Override it, with `gradient`, where the two have more in common than JAX can see."""
        own = type(self)
        if own.smooth is ProblemClass.smooth and own.gradient is ProblemClass.gradient:
            return jax.value_and_grad(self.loss)(x, problem)
        return self.loss(x, problem), self.gradient(x, problem)

    def prox(self, x: Any, step_size: Any, problem: Any) -> Any:
        r"""\(\mathrm{prox}_{\alpha g}(x)\) of the non-smooth part g with step size α."""
        raise self._missing("prox", "prox(self, x, step_size, problem)")

    def stochastic_loss(self, x: Any, problem: Any, key: Key[Array, ""]) -> Scalar:
        """An unbiased estimate of the loss, for example on a mini-batch drawn with `key`."""
        raise self._missing("stochastic loss", "stochastic_loss(self, x, problem, key)")

    def smoothness(self, problem: Any) -> Scalar:
        """L, a Lipschitz constant of the gradient of the smooth part."""
        raise self._missing("smoothness constant", "smoothness(self, problem)")

    def optimal_loss(self, problem: Any) -> Scalar | float:
        """The smallest value of the loss: 0 unless overridden, as losses in the paper are non-negative.

        Where a gap to the optimum is measured and this is not overridden, loa warns; `return 0.0` says it is meant.
        """
        return 0.0

    def optimal_accuracy(self, problem: Any) -> Scalar | float:
        """How far from the truth `optimal_loss` may be: 0 where a formula gives it. Gaps are at least as large."""
        return 0.0

    def solution(self, problem: Any) -> Any:
        """A minimizer of the loss."""
        raise self._missing("known solution", "solution(self, problem)")

    def _missing(self, what: str, method: str) -> MissingOracle:
        name = type(self).__name__
        return MissingOracle(f"{name} has no {what}: define `def {method}` in {name}, or ask for something else.")


def seen_from(
    problem_class: ProblemClass, x: Any, problem: Any, known: tuple[Scalar, Any] | None = None
) -> ProblemClass:
    """The same class, except that loss and gradient of this problem at this point are computed at most once.

    Not at all if they are known. XLA would notice some of what is asked twice, but not all of it inside of loops. A
    gradient that nobody asks for is not computed either, once it is compiled.
    """
    home = get_opaque_trace_state(convention="nnx")
    memory: list[tuple[Scalar, Any]] = [] if known is None else [known]

    def here(y: Any, p: Any) -> bool:
        return y is x and p is problem

    def at_home() -> bool:
        """What is computed inside of a loop must not leave it."""
        return get_opaque_trace_state(convention="nnx") == home

    def value_and_gradient(y: Any, p: Any) -> tuple[Scalar, Any]:
        if here(y, p) and memory:
            return memory[0]
        found = problem_class.value_and_gradient(y, p)
        if here(y, p) and at_home():
            memory.append(found)
        return found

    def gradient(y: Any, p: Any) -> Any:
        return value_and_gradient(y, p)[1] if here(y, p) else problem_class.gradient(y, p)

    def loss(y: Any, p: Any) -> Scalar:
        return value_and_gradient(y, p)[0] if here(y, p) and (memory or at_home()) else problem_class.loss(y, p)

    there = copy.copy(problem_class)
    vars(there).update(loss=loss, gradient=gradient, value_and_gradient=value_and_gradient)
    return there


@eqx.filter_jit
def _draw(problem_class: ProblemClass, key: Key[Array, ""], num_problems: int) -> Any:
    return jax.vmap(lambda index: problem_class.sample(jax.random.fold_in(key, index)))(jnp.arange(num_problems))


def check_key(key: Any) -> None:
    """Refuse anything but one typed PRNG key."""
    if not (isinstance(key, jax.Array) and jnp.issubdtype(key.dtype, jax.dtypes.prng_key) and key.shape == ()):
        raise TypeError(f"key must be one typed PRNG key such as jax.random.key(0), got {key!r}.")


def whole_number(name: str, number: Any) -> int:
    """Refuse anything but a whole number of at least one."""
    if isinstance(number, bool) or number != int(number) or number < 1:
        raise ValueError(f"{name} must be a whole number and at least 1, got {number}.")
    return int(number)


def count_problems(problems: Any) -> int:
    """The common length of the leading axes of a stack of problems."""
    leaves = jax.tree_util.tree_leaves_with_path(problems)
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
