"""The method of multipliers: constraints move into the loss, and any method for smooth losses does the steps."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, Scalar

from ..messages.arguments import check_type, parameter
from ..problems.oracle import Oracle
from ..problems.problem_class import whole_number
from ..problems.programs.nonlinear_programs import Augmented
from ..problems.programs.quadratic_programs import largest
from .algorithm import Algorithm
from .lbfgs import LBFGS

ENOUGH = 0.8
"""The share of its last value to which the violation must fall between two balanced updates, or the penalty grows.

With a smaller one, the penalty grows beyond what L-BFGS can cope with long after it is large enough."""

LARGEST = 1e12
"""The largest penalty."""


class Penalized(NamedTuple):
    """The state of the inner method, multipliers and penalty, the multipliers of the iterate, and what was before.

    `violation` is that of the last update that was not for lack of patience, and `waited` counts the steps since an
    update.
    """

    inner: Any
    y: Float[Array, " m"]
    w: Float[Array, " k"]
    penalty: Scalar
    shown_y: Float[Array, " m"]
    shown_w: Float[Array, " k"]
    violation: Scalar
    waited: Int[Array, ""]


class AugmentedLagrangian(Algorithm):
    r"""The augmented Lagrangian method for nonlinear programs, around any method for smooth losses.

    Each step is one of the inner method on the augmented Lagrangian \(L_\rho(x; y, w)\), see
    `loa.problems.NonlinearPrograms`. The multipliers are part of the state. They are updated,

    \[ y \leftarrow y + \rho c(x), \qquad w \leftarrow \max(0, w + \rho g(x)), \]

    as soon as the gradient of \(L_\rho\) is smaller than the factor τ times the change that this makes to it, or after
    `patience` steps. If the violation of the constraints has hardly fallen since the last update, the penalty ρ grows
    by a factor, unless the update came only because of `patience`. The first ρ is a multiple of
    \(\max(1, |f|) / \max(1, v)\), where f and \(v = \frac12 \|c\|^2 + \frac12 \|\max(0, g)\|^2\) are those of the
    start. The iterate holds the multipliers that an update at x gives, so that its residuals are the gradient of
    \(L_\rho\) and the violation. A step takes what one of the inner method takes, and two gradients (one if the inner
    method knows the gradient at its iterate). `loa.problems.NonlinearPrograms` has an example.

    Arguments:
        inner: a method for smooth losses, such as `loa.LBFGS()`, `loa.Newton()` or `loa.Adam(0.1)`.
        log_penalty: the logarithm of the first ρ, relative to the multiple above.
        log_growth: the logarithm of the factor by which ρ grows.
        log_balance: the logarithm of τ.
        patience: the most steps between two updates, at least 1.

    References: Hestenes, *Multiplier and gradient methods*, 1969; Birgin and Martínez, *Practical augmented Lagrangian
    methods*, 2014.
    """

    on_vectors: ClassVar[bool] = True

    inner: Algorithm = eqx.field(default_factory=LBFGS)
    log_penalty: Float[Array, ""] = eqx.field(converter=parameter("log_penalty"), default=2.3)
    log_growth: Float[Array, ""] = eqx.field(converter=parameter("log_growth"), default=2.3)
    log_balance: Float[Array, ""] = eqx.field(converter=parameter("log_balance"), default=-1.2)
    patience: int = eqx.field(static=True, default=100)

    def __check_init__(self):
        check_type("inner", self.inner, Algorithm, "a loa.Algorithm for smooth losses, such as loa.LBFGS()")
        whole_number("patience", self.patience)

    def init(self, oracle: Oracle, x0: Float[Array, " d"]) -> Penalized:
        programs = _programs(oracle)
        form = programs.form(oracle.problem)
        shapes = eqx.filter_eval_shape(lambda: programs.constraints(form.point(x0[: form.dimension]), oracle.problem))
        x, y, w = jnp.split(x0, [form.dimension, form.dimension + len(shapes[0])])
        plain = Augmented(programs, form, 0.0 * y, 0.0 * w, jnp.ones((), x0.dtype))
        equal, unequal = plain.constraints(x, oracle.problem)
        broken = 0.5 * (equal @ equal) + 0.5 * jnp.sum(jnp.maximum(unequal, 0.0) ** 2)
        size = jnp.maximum(1.0, jnp.abs(oracle.value(x0))) / jnp.maximum(1.0, broken)
        penalty = jnp.clip(jnp.exp(self.log_penalty) * size, 1e-8, LARGEST)
        asked = self._asked(oracle, Augmented(programs, form, y, w, penalty))
        inner = self.inner.init(asked, x)
        oracle.calls = asked.calls
        violation = jnp.full((), jnp.inf, x0.dtype)
        return Penalized(inner, y, w, penalty, y, w, violation, jnp.zeros((), jnp.int32))

    def step(self, oracle: Oracle, state: Penalized, key: Key[Array, ""]) -> Penalized:
        programs = _programs(oracle)
        now = Augmented(programs, programs.form(oracle.problem), state.y, state.w, state.penalty)
        asked = self._asked(oracle, now)
        inner = self.inner.step(asked, state.inner, key)
        oracle.calls = asked.calls
        x = self.inner.iterate(inner)
        equal, unequal = now.constraints(x, oracle.problem)
        shown = now.multipliers(equal, unequal)
        violation = jnp.maximum(largest(equal), largest(jnp.maximum(unequal, -state.w / state.penalty)))
        balanced = self._is_balanced(oracle, now, inner, Augmented(programs, now._form, *shown, state.penalty))
        due = balanced | (state.waited + 1 >= self.patience)
        grown = jnp.minimum(state.penalty * jnp.exp(self.log_growth), LARGEST)
        penalty = jnp.where(balanced & (violation > ENOUGH * state.violation), grown, state.penalty)
        y, w = (jnp.where(due, new, old) for new, old in zip(shown, (state.y, state.w), strict=True))
        after = Augmented(programs, now._form, y, w, penalty)

        def again() -> Any:
            asked = self._asked(oracle, after)
            fresh = self.inner.resumed(asked, inner)
            oracle.calls = asked.calls
            return fresh

        inner = oracle.cond(due, again, lambda: inner)
        violation, waited = jnp.where(balanced, violation, state.violation), jnp.where(due, 0, state.waited + 1)
        return Penalized(inner, y, w, penalty, *shown, violation, waited)

    def _is_balanced(self, oracle: Oracle, now: Augmented, inner: Any, ahead: Augmented) -> Bool[Array, ""]:
        """Whether x is as good for the present multipliers as it needs to be."""
        x, known = self.inner.iterate(inner), self.inner.known(inner)
        slope = now.gradient(x, oracle.problem) if known is None else known[1]
        oracle._count("gradient", 1 if known is not None else 2)
        change = ahead.gradient(x, oracle.problem) - slope
        return largest(slope) <= jnp.exp(self.log_balance) * largest(change)

    def iterate(self, state: Penalized) -> Float[Array, " d"]:
        return jnp.concatenate([self.inner.iterate(state.inner), state.shown_y, state.shown_w])

    def _asked(self, oracle: Oracle, augmented: Augmented) -> Oracle:
        """The oracle of the inner method, which continues to count."""
        return Oracle(augmented, oracle.problem, oracle.calls, oracle.running)


def _programs(oracle: Oracle) -> Any:
    """The class of nonlinear programs that an oracle answers for."""
    if not hasattr(oracle.problem_class, "inequalities"):
        name = type(oracle.problem_class).__name__
        raise TypeError(f"{name} must be a class of nonlinear programs, derived from loa.problems.NonlinearPrograms.")
    return oracle.problem_class
