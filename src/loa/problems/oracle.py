"""The oracle: what an algorithm may ask of a problem, with every call counted (section 3.1, appendix E.6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, Scalar

from .problem_class import ProblemClass

Carry = TypeVar("Carry")


class Calls(NamedTuple):
    """The number of calls of each kind; a whole Hessian or Jacobian counts as one product per column."""

    value: Int[Array, ""]
    gradient: Int[Array, ""]
    prox: Int[Array, ""]
    stochastic_gradient: Int[Array, ""]
    hessian_product: Int[Array, ""]

    @staticmethod
    def none() -> Calls:
        return Calls(*(jnp.zeros((), jnp.int32) for _ in Calls._fields))


class Oracle:
    """Access to one problem: losses and gradients at points that the algorithm chooses, with every call counted.

    Each call in the code counts once. Loops and branches that call the oracle must therefore use `oracle.while_loop`
    and `oracle.cond`, so that a line search is charged for the trials that it really made; calls inside
    `jax.lax.while_loop` are an error. Do not wrap oracle calls in `jax.vmap` (the batch would count as one call) or
    `jax.grad` (ask for the gradient instead).

    Arguments:
        problem_class: the class of the problem.
        problem: one problem θ of the class.
        calls: the calls made so far; by default none.
        running: whether loops run. The engine sets this to false for trajectories that have ended.

    >>> import loa
    >>> oracle = loa.Oracle(loa.problems.RunningExample(), jnp.asarray(2.0))
    >>> float(oracle.gradient(jnp.asarray(1.0))), int(oracle.calls.gradient)
    (1.0, 1)
    """

    def __init__(self, problem_class: ProblemClass, problem: Any, calls: Calls | None = None, running: Any = True):
        self.problem_class = problem_class
        self.problem = problem
        self.calls = Calls.none() if calls is None else calls
        self.running = running

    def value(self, x: Any) -> Scalar:
        """The loss ℓ(x, θ)."""
        self._count("value")
        return self.problem_class.loss(x, self.problem)

    def gradient(self, x: Any) -> Any:
        """The gradient ∇ℓ(x, θ), of the smooth part if the loss is composite."""
        self._count("gradient")
        return self.problem_class.gradient(x, self.problem)

    def value_and_gradient(self, x: Any) -> tuple[Scalar, Any]:
        """Loss and gradient, counted as one call each; computations that they share are done once."""
        self._count("value")
        self._count("gradient")
        return self.problem_class.value_and_gradient(x, self.problem)

    def hessian_product(self, x: Any, direction: Any) -> Any:
        """The Hessian of the smooth part at x, times a direction."""
        self._count("hessian_product")
        return self.problem_class.hessian_product(x, direction, self.problem)

    def hessian(self, x: Any) -> Float[Array, "d d"]:
        """The Hessian of the smooth part at x, counted as d products with it."""
        self._count("hessian_product", x.size)
        return self.problem_class.hessian(x, self.problem)

    def residuals_and_jacobian(self, x: Float[Array, " d"]) -> tuple[Float[Array, " m"], Float[Array, "m d"]]:
        """The residuals r(x) and their derivatives, counted as one value and d products."""
        self._count("value")
        self._count("hessian_product", x.size)
        residuals, directional = jax.linearize(lambda point: self.problem_class.residuals(point, self.problem), x)
        return residuals, jax.vmap(directional, out_axes=1)(jnp.eye(x.size, dtype=x.dtype))

    def prox(self, x: Any, step_size: Any) -> Any:
        """The proximal mapping of the non-smooth part g with step size α, prox_{αg}(x)."""
        self._count("prox")
        return self.problem_class.prox(x, step_size, self.problem)

    def stochastic_gradient(self, x: Any, key: Key[Array, ""]) -> Any:
        """The gradient of an estimate of the loss, for example on a mini-batch drawn with `key`."""
        return self.stochastic_value_and_gradient(x, key)[1]

    def stochastic_value_and_gradient(self, x: Any, key: Key[Array, ""]) -> tuple[Scalar, Any]:
        """An estimate of the loss and the gradient of that estimate, counted as one stochastic gradient."""
        self._count("stochastic_gradient")
        return jax.value_and_grad(self.problem_class.stochastic_loss)(x, self.problem, key)

    def while_loop(self, condition: Callable[[Carry], Any], body: Callable[[Carry], Carry], carry: Carry) -> Carry:
        """`jax.lax.while_loop` whose condition and body may call this oracle."""

        def continues(carry: Carry) -> Any:
            return jnp.asarray(self.running) & condition(carry)

        def counted(state: tuple[Calls, Any, Carry]) -> tuple[Calls, Any, Carry]:
            self.calls, _, inner = state
            inner = body(inner)
            flag = continues(inner)
            return self.calls, flag, inner

        flag = continues(carry)
        self.calls, _, carry = jax.lax.while_loop(lambda state: state[1], counted, (self.calls, flag, carry))
        return carry

    def cond(self, predicate: Any, if_true: Callable[..., Carry], if_false: Callable[..., Carry], *operands) -> Carry:
        """`jax.lax.cond` whose branches may call this oracle. Under `vmap` both run, but only one counts."""

        def counted(branch: Callable[..., Carry]) -> Callable[..., tuple[Calls, Carry]]:
            def run(calls: Calls, *arguments: Any) -> tuple[Calls, Carry]:
                self.calls = calls
                value = branch(*arguments)
                return self.calls, value

            return run

        self.calls, value = jax.lax.cond(predicate, counted(if_true), counted(if_false), self.calls, *operands)
        return value

    def if_needed(self, needed: Any, change: Callable[[Oracle, Carry], Carry], carry: Carry) -> Carry:
        """The carry after a change, if it is needed; a branch that takes no time if nobody needs it.

        It is a loop of at most one round, which a batch skips if no trajectory needs it, unlike a branch. The change
        gets an oracle whose problem is bound to the carry, or XLA would factor the matrices of the problem in advance,
        outside of the loop.
        """
        arrays, rest = eqx.partition((self.problem_class, self.problem), eqx.is_array)

        def body(state: tuple[Any, Carry]) -> tuple[Any, Carry]:
            bound, inner = jax.lax.optimization_barrier((arrays, state[1]))
            problem_class, problem = eqx.combine(bound, rest)
            own = Oracle(problem_class, problem, self.calls, self.running)
            changed = change(own, inner)
            self.calls = own.calls
            return jnp.asarray(False), changed

        return self.while_loop(lambda state: state[0], body, (jnp.asarray(needed), carry))[1]

    def prox_and_jacobian(
        self, x: Float[Array, " d"], step_size: Any
    ) -> tuple[Float[Array, " d"], Float[Array, "d d"]]:
        """The proximal mapping and its derivative, counted as one call: the mapping knows which parts are active."""
        self._count("prox")
        point, directional = jax.linearize(lambda v: self.problem_class.prox(v, step_size, self.problem), x)
        return point, jax.vmap(directional, out_axes=1)(jnp.eye(x.size, dtype=x.dtype))

    def program(self) -> Any:
        """The arrays P, q, A, l, u of a quadratic program, counted as one gradient and one proximal mapping.

        A step makes a few products with the matrices, and one projection.
        """
        self._count("gradient")
        self._count("prox")
        if not hasattr(self.problem_class, "arrays"):
            name = type(self.problem_class).__name__
            raise TypeError(
                f"{name} must be a class of quadratic programs, derived from loa.problems.QuadraticPrograms."
            )
        return self.problem_class.arrays(self.problem)  # pyright: ignore[reportAttributeAccessIssue]

    @property
    def cones(self) -> tuple[int, ...]:
        """How many of the last rows of a program belong to each second-order cone."""
        return self.problem_class.cones  # pyright: ignore[reportAttributeAccessIssue]

    def smoothness(self) -> Scalar:
        """The smoothness constant L of the problem. It depends on the problem alone and is not counted."""
        return self.problem_class.smoothness(self.problem)

    def _count(self, kind: str, times: int = 1) -> None:
        self.calls = self.calls._replace(**{kind: getattr(self.calls, kind) + times})
