"""Small problem classes that several tests share."""

import equinox as eqx
import jax
import jax.numpy as jnp

import loa


class Bowls(loa.ProblemClass):
    """Separable quadratics with a random start; slow ones are rare but there."""

    dimension: int = eqx.field(static=True, default=4)

    def sample(self, key):
        return 10.0 ** jax.random.uniform(key, (self.dimension,), minval=-1.5, maxval=0.0)

    def loss(self, x, problem):
        return 0.5 * jnp.sum(problem * x**2)

    def start(self, problem, key):
        return 1.0 + jax.random.uniform(key, (self.dimension,))

    def solution(self, problem):
        return jnp.zeros(self.dimension)

    def smoothness(self, problem):
        return jnp.max(problem)


class LeastSquares(Bowls):
    """Fits to eight noisy observations, with a stochastic loss on one of them and an l1 prox."""

    def sample(self, key):
        matrix_key, noise_key = jax.random.split(key)
        matrix = jax.random.normal(matrix_key, (8, self.dimension))
        return matrix, matrix @ jnp.arange(1.0, self.dimension + 1) + 0.1 * jax.random.normal(noise_key, (8,))

    def loss(self, x, problem):
        matrix, target = problem
        return jnp.mean((matrix @ x - target) ** 2)

    def stochastic_loss(self, x, problem, key):
        matrix, target = problem
        row = jax.random.randint(key, (), 0, 8)
        return (matrix[row] @ x - target[row]) ** 2

    def prox(self, x, step_size, problem):
        return jnp.sign(x) * jnp.maximum(jnp.abs(x) - step_size, 0.0)

    def smoothness(self, problem):
        return 2 * jnp.linalg.norm(problem[0], 2) ** 2 / 8


class Backtracking(loa.Algorithm):
    """Gradient descent that halves its step until the loss falls: a varying number of calls."""

    first_step: float = eqx.field(converter=jnp.asarray)

    def init(self, oracle, x0):
        return x0

    def step(self, oracle, state, key):
        value, gradient = oracle.value_and_gradient(state)

        def too_long(trial):
            return trial[1] > value

        def halve(trial):
            step = trial[0] / 2
            return step, oracle.value(state - step * gradient)

        first = (self.first_step, oracle.value(state - self.first_step * gradient))
        step, _ = oracle.while_loop(too_long, halve, first)
        return state - step * gradient
