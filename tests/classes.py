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

    def optimal_loss(self, problem):
        return 0.0

    def solution(self, problem):
        return jnp.zeros(self.dimension)

    def smoothness(self, problem):
        return jnp.max(problem)


class DictBowls(Bowls):
    """The same with problems that are a dictionary."""

    def sample(self, key):
        return {"curvature": super().sample(key), "nothing": None}

    def loss(self, x, problem):
        return super().loss(x, problem["curvature"])


class LeastSquares(Bowls):
    """Fits to eight noisy observations, with a stochastic loss on one of them and an l1 prox."""

    def sample(self, key):
        matrix_key, noise_key = jax.random.split(key)
        matrix = jax.random.normal(matrix_key, (8, self.dimension))
        return matrix, matrix @ jnp.arange(1.0, self.dimension + 1) + 0.1 * jax.random.normal(noise_key, (8,))

    def loss(self, x, problem):
        matrix, target = problem
        return jnp.mean((matrix @ x - target) ** 2)

    def smooth(self, x, problem):
        return self.loss(x, problem)

    def stochastic_loss(self, x, problem, key):
        matrix, target = problem
        row = jax.random.randint(key, (), 0, 8)
        return (matrix[row] @ x - target[row]) ** 2

    def prox(self, x, step_size, problem):
        return jnp.sign(x) * jnp.maximum(jnp.abs(x) - step_size, 0.0)

    def smoothness(self, problem):
        return 2 * jnp.linalg.norm(problem[0], 2) ** 2 / 8


class Backtracking(loa.Algorithm):
    """Gradient descent that halves its step until the loss falls: a varying number of calls.

    Where the gradient is 0 the search never ends, as it would on a slot that holds nothing.
    """

    first_step: float = eqx.field(converter=jnp.asarray)

    def init(self, oracle, x0):
        return x0

    def step(self, oracle, state, key):
        value, gradient = oracle.value_and_gradient(state)

        step = oracle.while_loop(
            lambda step: oracle.value(state - step * gradient) >= value, lambda step: step / 2, self.first_step
        )
        return state - step * gradient


class Noisy(loa.Algorithm):
    """Gradient descent that carries a random key in its state."""

    step_size: float = eqx.field(converter=jnp.asarray)

    def init(self, oracle, x0):
        return x0, jax.random.key(3), 0

    def step(self, oracle, state, key):
        x, own_key, count = state
        own_key, noise_key = jax.random.split(own_key)
        noise = 1e-3 * jax.random.normal(noise_key, x.shape)
        return x - self.step_size * oracle.gradient(x) + noise, own_key, count + 1

    def iterate(self, state):
        return state[0]
