"""Stochastic gradient descent in the learned curvature of the class, for mini-batches."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, Scalar

from ..algorithms.algorithm import Algorithm
from ..problems.gaps import norm
from ..problems.oracle import Oracle
from .curvature import Curvature


class StochasticNewtonState(NamedTuple):
    """The point, the mean of recent points, running means of gradient and loss, and the number of steps made."""

    x: Float[Array, " d"]
    average: Float[Array, " d"]
    gradient: Float[Array, " d"]
    loss: Scalar
    time: Int[Array, ""]


class LearnedStochasticNewton(Algorithm):
    r"""Stochastic gradient descent with momentum and averaging, preconditioned by a learned curvature.

    With running means g and ℓ of the stochastic gradient and loss, both corrected for their start at 0,

    \[ x^{(t+1)} = x^{(t)} - \alpha\, \sigma^a\, V \big(\mathrm{diag}(w) + \mu I\big)^{-1} V^\top g, \qquad
       \mu = (\mu_0 + \mu_1 \ell)\, \sigma^p, \qquad \sigma = \frac{1}{1 + (t + 1)/T}. \]

    Steps are computed in float32 and are never longer than a learned radius times \(\sigma^a\). The iterate is a
    running mean of the points x: in each step it moves by a learned fraction, times \(\sigma^b\), of its distance to x.

    Arguments:
        curvature: (V, w).
        log_step: log α.
        log_decay_time: log T.
        log_floor: log μ₀.
        log_damping: log μ₁.
        log_radius: the logarithm of the radius.
        momentum: the logit of the memory of the mean gradient.
        loss_memory: the logit of the memory of the mean loss.
        averaging: the logit of the memory of the iterate.
        step_power: a.
        averaging_power: b.
        damping_power: p.
    """

    on_vectors: ClassVar[bool] = True

    curvature: Curvature
    log_step: Float[Array, ""] = eqx.field(converter=jnp.asarray)
    log_decay_time: Float[Array, ""] = eqx.field(converter=jnp.asarray)
    log_floor: Float[Array, ""] = eqx.field(converter=jnp.asarray)
    log_damping: Float[Array, ""] = eqx.field(converter=jnp.asarray)
    log_radius: Float[Array, ""] = eqx.field(converter=jnp.asarray)
    momentum: Float[Array, ""] = eqx.field(converter=jnp.asarray)
    loss_memory: Float[Array, ""] = eqx.field(converter=jnp.asarray)
    averaging: Float[Array, ""] = eqx.field(converter=jnp.asarray)
    step_power: Float[Array, ""] = eqx.field(converter=jnp.asarray, default=1.0)
    averaging_power: Float[Array, ""] = eqx.field(converter=jnp.asarray, default=1.0)
    damping_power: Float[Array, ""] = eqx.field(converter=jnp.asarray, default=0.0)

    def init(self, oracle: Oracle, x0: Float[Array, " d"]) -> StochasticNewtonState:
        return StochasticNewtonState(x0, x0, jnp.zeros_like(x0), jnp.zeros((), x0.dtype), jnp.zeros((), jnp.int32))

    def step(self, oracle: Oracle, state: StochasticNewtonState, key: Key[Array, ""]) -> StochasticNewtonState:
        new_loss, new_gradient = oracle.stochastic_value_and_gradient(state.x, key)
        time = state.time + 1
        since = time.astype(state.x.dtype)
        momentum, memory, averaging = map(jax.nn.sigmoid, (self.momentum, self.loss_memory, self.averaging))
        gradient = momentum * state.gradient + (1 - momentum) * new_gradient
        loss = memory * state.loss + (1 - memory) * new_loss
        damping = jnp.exp(self.log_floor) + jnp.exp(self.log_damping) * loss / (1 - memory**since)
        slowness = 1.0 / (1.0 + since / jnp.exp(self.log_decay_time))
        damping = damping * slowness**self.damping_power
        length = slowness**self.step_power
        scale = length * jnp.exp(self.log_step) / (1 - momentum**since)
        step = self.curvature.apply(lambda w: scale / (w + damping), gradient.astype(jnp.float32)).astype(state.x.dtype)
        x = state.x - step / jnp.maximum(1.0, norm(step) / (length * jnp.exp(self.log_radius)))
        average = state.average + (1 - averaging) * slowness**self.averaging_power * (x - state.average)
        return StochasticNewtonState(x, average, gradient, loss, time)

    def iterate(self, state: StochasticNewtonState) -> Float[Array, " d"]:
        return state.average
