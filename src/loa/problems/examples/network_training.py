"""Training a small network on random polynomials: full batch, and mini-batches (sections 6.4 and 6.5 of the paper)."""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, Scalar

from ..problem_class import ProblemClass, whole_number

DEGREE = 5
HIDDEN = 50
NUM_PARAMETERS = HIDDEN * (DEGREE + 1) + HIDDEN + 1


class Regression(NamedTuple):
    """One problem: a data set."""

    inputs: Float[Array, " K"]
    targets: Float[Array, " K"]


class _PolynomialRegression(ProblemClass):
    """The common part of full-batch and mini-batch training: everything except the estimate of the gradient."""

    start_point: eqx.AbstractVar[Float[Array, " d"]]
    num_points: eqx.AbstractVar[int]

    def sample(self, key: Key[Array, ""]) -> Regression:
        input_key, coefficient_key, noise_key = jax.random.split(key, 3)
        inputs = jax.random.uniform(input_key, (self.num_points,), minval=-2.0, maxval=2.0)
        coefficients = jax.random.uniform(coefficient_key, (DEGREE + 1,), minval=-5.0, maxval=5.0)
        noise = jax.random.normal(noise_key, (self.num_points,))
        return Regression(inputs, coefficients @ _powers(inputs) + noise)

    def start(self, problem: Regression, key: Key[Array, ""]) -> Float[Array, " d"]:
        return self.start_point

    def loss(self, x: Float[Array, " d"], problem: Regression) -> Scalar:
        return _mean_squared_error(x, problem)

    def optimal_loss(self, problem: Regression) -> float:
        """The lower bound 0; the smallest loss itself is not known."""
        return 0.0


class NetworkTraining(_PolynomialRegression):
    r"""Training a small ReLU network to fit a noisy random polynomial (section 6.4 of the paper).

    \[ \min_\beta \frac1K \sum_j (N(\beta, x_j) - y_j)^2 \]

    for a network N with 351 parameters β. The K = 50 points \(x_j\) are uniform on [-2, 2], and
    \(y_j = \sum_{k=0}^5 c_k x_j^k + N(0, 1)\) with \(c_k\) uniform on [-5, 5]. The network sees
    \((x, x^2, \dots, x^5)\) and has one hidden layer of 50 neurons. The start is one draw from N(0, I), the same for
    every problem.

    The parameters are a flat vector: for each neuron its bias and five weights, then the weights and the bias of the
    output.

    Arguments:
        num_points: K ≥ 1, the size of a data set.
        seed: determines the start.

    >>> NetworkTraining().start_point.shape
    (351,)
    """

    start_point: Float[Array, " d"]
    num_points: int = eqx.field(static=True)

    def __init__(self, num_points: int = 50, seed: int = 0):
        self.num_points = whole_number("num_points", num_points)
        key = jax.random.key(whole_number("seed", seed, least=0))
        self.start_point = jax.random.normal(key, (NUM_PARAMETERS,))


class StochasticNetworkTraining(_PolynomialRegression):
    """Training the network of `NetworkTraining` with mini-batches (section 6.5 of the paper).

    The problems are the same. The class also estimates the loss on a mini-batch drawn without replacement, for
    algorithms that ask for stochastic gradients.

    Arguments:
        num_points: K ≥ 1, the size of a data set.
        batch_size: the size of a mini-batch, from 1 to K.
        seed: determines the start.
    """

    start_point: Float[Array, " d"]
    num_points: int = eqx.field(static=True)
    batch_size: int = eqx.field(static=True)

    def __init__(self, num_points: int = 50, batch_size: int = 5, seed: int = 0):
        whole_number("num_points", num_points)
        if whole_number("batch_size", batch_size) > num_points:
            raise ValueError(f"batch_size must be between 1 and the number of points, {num_points}, got {batch_size}.")
        self.start_point = NetworkTraining(num_points, seed).start_point
        self.num_points = num_points
        self.batch_size = batch_size

    def stochastic_loss(self, x: Float[Array, " d"], problem: Regression, key: Key[Array, ""]) -> Scalar:
        chosen = _without_replacement(key, self.num_points, self.batch_size)
        return _mean_squared_error(x, Regression(problem.inputs[chosen], problem.targets[chosen]))


def _mean_squared_error(parameters: Float[Array, " d"], data: Regression) -> Scalar:
    """The loss of the network. Biases are weights of x⁰, so that the same matrix products give their gradients."""
    residual = prediction(parameters, data.inputs) - data.targets
    return jnp.mean(residual * residual)


def prediction(parameters: Float[Array, " d"], inputs: Float[Array, " K"]) -> Float[Array, " K"]:
    """The output of the network at these inputs."""
    hidden, output = parameters[: HIDDEN * (DEGREE + 1)].reshape(HIDDEN, DEGREE + 1), parameters[-HIDDEN - 1 :]
    return output[:-1] @ jnp.maximum(hidden @ _powers(inputs), 0.0) + output[-1]


def _powers(inputs: Float[Array, " K"]) -> Float[Array, "powers K"]:
    r"""\(x^0, x^1, \dots, x^5\)."""
    powers = [jnp.ones_like(inputs)]
    for _ in range(DEGREE):
        powers.append(powers[-1] * inputs)
    return jnp.stack(powers)


def _without_replacement(key: Key[Array, ""], size: int, chosen: int) -> Int[Array, " chosen"]:
    """A uniformly random subset of 0 … size-1, by Floyd's algorithm, which avoids sorting (slow in a batch)."""
    last = jnp.arange(size - chosen, size)
    drawn = jax.random.randint(key, (chosen,), 0, last + 1)
    subset = [drawn[0]]
    for index in range(1, chosen):
        taken = jnp.any(jnp.stack(subset) == drawn[index])
        subset.append(jnp.where(taken, last[index], drawn[index]))
    return jnp.stack(subset)
