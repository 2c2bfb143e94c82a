"""Adam."""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from ..messages.arguments import parameter
from ..problems.oracle import Oracle
from .algorithm import Algorithm


class Moments(NamedTuple):
    """The state: the point, running means of the gradient and of its square, and the number of steps made."""

    x: Float[Array, ...]
    first: Float[Array, ...]
    second: Float[Array, ...]
    time: Int[Array, ""]


class Adam(Algorithm):
    r"""Adam: gradient descent with momentum and an adaptive step size for each coordinate.

    With \(g = \nabla \ell(x^{(t)}, \theta)\), all operations coordinate by coordinate, and starting from
    \(m^{(0)} = v^{(0)} = 0\),

    \[ m^{(t+1)} = \beta_1 m^{(t)} + (1 - \beta_1) g, \qquad v^{(t+1)} = \beta_2 v^{(t)} + (1 - \beta_2) g^2, \]
    \[ x^{(t+1)} = x^{(t)} - \alpha \, \frac{m^{(t+1)} / (1 - \beta_1^{t+1})}
                                            {\sqrt{v^{(t+1)} / (1 - \beta_2^{t+1})} + \varepsilon}. \]

    The parameters are h = (α, β₁, β₂, ε).

    Arguments:
        learning_rate: α > 0.
        beta1: β₁ in [0, 1), the memory of the mean gradient.
        beta2: β₂ in [0, 1), the memory of the mean squared gradient.
        epsilon: ε > 0.
        stochastic: whether g is the stochastic gradient (for classes that have a `stochastic_loss`) or the full one.

    Reference: Kingma and Ba, *Adam: a method for stochastic optimization*, 2015.

    >>> import jax, loa
    >>> parabolas, curvature = loa.problems.RunningExample(), jnp.array([2.0])  # x² - x, minimal at ½
    >>> path = loa.trajectories(Adam(0.1), parabolas, curvature, horizon=3, key=jax.random.key(0))
    >>> path.iterates.ravel().round(2).tolist()
    [0.0, 0.1, 0.2, 0.3]
    """

    learning_rate: Float[Array, ...] = eqx.field(converter=parameter("learning_rate"))
    beta1: Float[Array, ...] = eqx.field(converter=parameter("beta1"), default=0.9)
    beta2: Float[Array, ...] = eqx.field(converter=parameter("beta2"), default=0.999)
    epsilon: Float[Array, ...] = eqx.field(converter=parameter("epsilon"), default=1e-8)
    stochastic: bool = eqx.field(static=True, default=False)

    def init(self, oracle: Oracle, x0: Float[Array, ...]) -> Moments:
        return Moments(x0, jnp.zeros_like(x0), jnp.zeros_like(x0), jnp.zeros((), jnp.int32))

    def step(self, oracle: Oracle, state: Moments, key: Key[Array, ""]) -> Moments:
        x, first, second, time = state
        gradient = oracle.stochastic_gradient(x, key) if self.stochastic else oracle.gradient(x)
        parameters = (self.learning_rate, self.beta1, self.beta2, self.epsilon)
        alpha, beta1, beta2, epsilon = (parameter.astype(x.dtype) for parameter in parameters)
        time = time + 1
        first = beta1 * first + (1 - beta1) * gradient
        second = beta2 * second + (1 - beta2) * gradient**2
        since = time.astype(x.dtype)
        mean, square = first / (1 - beta1**since), second / (1 - beta2**since)
        return Moments(x - alpha * mean / (root(square) + epsilon), first, second, time)

    def iterate(self, state: Moments) -> Float[Array, ...]:
        return state.x


def root(square: Float[Array, ...]) -> Float[Array, ...]:
    """The square root, with derivative 0 at 0, so that h can be learned even if some gradients are exactly zero."""
    positive = square > 0
    return jnp.where(positive, jnp.sqrt(jnp.where(positive, square, 1.0)), 0.0)
