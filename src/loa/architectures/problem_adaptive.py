"""Any algorithm with parameters that a small regression chooses for the problem at hand (section 3.5 of the paper)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key, Scalar

from ..algorithms.algorithm import Algorithm
from ..messages.arguments import parameter
from ..problems.gaps import norm
from ..problems.oracle import Oracle

PRODUCTS = 4
"""Products with the Hessian at the start."""

FEATURES = ("gradient norm", "curvature along the gradient", "largest curvature")
"""What a problem is described by: the logarithms of these, at the start."""

UNUSUAL = 3.0
"""Features that lie farther than this many standard deviations from the average count as if they lay there."""


def problem_features(oracle: Oracle, x0: Float[Array, ...]) -> Float[Array, " k"]:
    r"""Describe a problem by the logarithms of its gradient norm and of two curvatures at the start.

    With \(v_1 = g / \|g\|\) and \(v_{i+1} = H v_i / \|H v_i\|\), where g and H are gradient and Hessian at the start,
    the curvatures are \(\|H v_1\|\) and \(\|H v_4\|\), an estimate of the largest one by the power method. This
    takes one gradient and four products with the Hessian, all of which are counted.

    Arguments:
        oracle: of the problem.
        x0: where the algorithm starts.

    Returns:
        The features, in the order of `FEATURES`; NaN in the place of the logarithm of 0.

    >>> import loa
    >>> oracle = loa.Oracle(loa.problems.RunningExample(), jnp.asarray(2.0))
    >>> jnp.exp(problem_features(oracle, jnp.asarray(0.0))).round(3).tolist()
    [1.0, 2.0, 2.0]
    """
    direction, lengths = oracle.gradient(x0), []
    for _ in range(PRODUCTS):
        lengths.append(norm(direction))
        direction = oracle.hessian_product(x0, direction / jnp.where(lengths[-1] > 0, lengths[-1], 1.0))
    found = jnp.stack([lengths[0], lengths[1], norm(direction)])
    return jnp.where(found > 0, jnp.log(jnp.where(found > 0, found, 1.0)), jnp.nan)


class Informed(NamedTuple):
    """The state of the algorithm inside, and how unusual the features of the problem are."""

    inner: Any
    unusual: Float[Array, " k"]


class ProblemAdaptive(Algorithm):
    r"""An algorithm whose parameters depend on the problem, by a linear regression from features at the start.

    With the features \(f(\theta)\) of `problem_features`, their averages c and standard deviations s, each parameter is

    \[ h_j(\theta) = T_j \Big( a_j + \sum_i B_{ji} \frac{f_i(\theta) - c_i}{s_i} \Big), \]

    cut off at the ends of its range, where \(T_j\) is the identity or, for a parameter that is searched
    logarithmically, the exponential function. The other parameters are those of the algorithm inside. With B = 0 the
    parameters are the same for all problems, as in the rest of the paper. `loa.learning.adapt` learns a and B.

    Arguments:
        base: the algorithm that is given other parameters for each problem.
        intercepts: a, the parameters of the average problem, or their logarithms.
        slopes: B, one row for each parameter and one column for each feature.
        names: the parameters that depend on the problem, fields of `base`.
        logarithmic: for each of them, whether it is its logarithm that is predicted.
        lowest: the smallest value of each prediction.
        highest: the largest value of each prediction.
        center: the average features c.
        scale: their standard deviations s > 0.

    >>> import jax, loa
    >>> theta = jnp.array([2.0, 8.0])
    >>> inverse = ProblemAdaptive(loa.GradientDescent(1.0), [0.0], [[0.0, 0.0, -1.0]], names=("step_size",),
    ...                           logarithmic=(True,), lowest=(-5.0,), highest=(5.0,))
    >>> path = loa.trajectories(inverse, loa.problems.RunningExample(), theta, horizon=1, key=jax.random.key(0))
    >>> path.iterates[:, 0, 1].round(3).tolist()  # one step of length 1/θ leads to the solution 1/θ
    [0.5, 0.125]
    """

    base: Algorithm
    intercepts: Float[Array, " p"] = eqx.field(converter=parameter("intercepts"))
    slopes: Float[Array, "p k"] = eqx.field(converter=parameter("slopes"))
    names: tuple[str, ...] = eqx.field(static=True)
    logarithmic: tuple[bool, ...] = eqx.field(static=True)
    lowest: tuple[float, ...] = eqx.field(static=True)
    highest: tuple[float, ...] = eqx.field(static=True)
    center: tuple[float, ...] = eqx.field(static=True, default=(0.0,) * len(FEATURES))
    scale: tuple[float, ...] = eqx.field(static=True, default=(1.0,) * len(FEATURES))

    def __check_init__(self):
        unknown = [name for name in self.names if not hasattr(self.base, name)]
        if unknown:
            raise ValueError(f"{type(self.base).__name__} has no parameter {unknown[0]!r} that could be adapted.")
        count = len(self.names)
        if not count == len(self.logarithmic) == len(self.lowest) == len(self.highest):
            raise ValueError("names, logarithmic, lowest and highest must have one entry for each parameter.")

    @property
    def on_vectors(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.base.on_vectors

    def chosen_for(self, oracle: Oracle, x0: Float[Array, ...]) -> Algorithm:
        """The algorithm with the parameters for one problem."""
        return self._with(self._unusual(problem_features(oracle, x0)))

    def changed(self, strength: float, shifts: Sequence[float]) -> ProblemAdaptive:
        """The same with all slopes multiplied by a strength, and all predictions shifted."""
        changed = (self.intercepts + jnp.asarray(shifts), strength * self.slopes)
        return eqx.tree_at(lambda each: (each.intercepts, each.slopes), self, changed)

    def init(self, oracle: Oracle, x0: Float[Array, ...]) -> Informed:
        unusual = self._unusual(problem_features(oracle, x0))
        return Informed(self._with(unusual).init(oracle, x0), unusual)

    def step(self, oracle: Oracle, state: Informed, key: Key[Array, ""]) -> Informed:
        return Informed(self._with(state.unusual).step(oracle, state.inner, key), state.unusual)

    def iterate(self, state: Informed) -> Float[Array, ...]:
        return self._with(state.unusual).iterate(state.inner)

    def known(self, state: Informed) -> tuple[Scalar, Any] | None:
        return self.base.known(state.inner)

    def recovers(self, state: Informed) -> Bool[Array, ""] | bool:
        return self.base.recovers(state.inner)

    def _unusual(self, features: Float[Array, " k"]) -> Float[Array, " k"]:
        """By how many standard deviations the features differ from the average; 0 for one that cannot be computed."""
        away = (features - jnp.asarray(self.center, features.dtype)) / jnp.asarray(self.scale, features.dtype)
        return jnp.clip(jnp.nan_to_num(away, nan=0.0), -UNUSUAL, UNUSUAL)

    def _with(self, unusual: Float[Array, " k"]) -> Algorithm:
        """The algorithm with the parameters for a problem with such features."""
        numbers = (self.intercepts + self.slopes @ unusual).astype(unusual.dtype)
        numbers = jnp.clip(numbers, jnp.asarray(self.lowest), jnp.asarray(self.highest)).astype(unusual.dtype)
        values = [jnp.exp(each) if log else each for each, log in zip(numbers, self.logarithmic, strict=True)]
        return eqx.tree_at(lambda algorithm: [getattr(algorithm, name) for name in self.names], self.base, values)
