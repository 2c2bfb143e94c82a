"""The probabilistic objects of appendices B and F."""

import jax
import jax.numpy as jnp
import numpy as np
from classes import Bowls, LeastSquares
from scipy import stats

import loa
from loa.trajectory import kernels

KEY = jax.random.key(9)


def test_transition_kernel_of_stochastic_gradient_descent():
    """It puts mass 1/m on each of the m steps along one summand (example C.2)."""
    problem_class, algorithm = LeastSquares(), loa.SGD(0.1)
    problem, x = problem_class.sample(KEY), jnp.ones(4)
    matrix, target = problem
    possible = x - 0.1 * 2 * (matrix @ x - target)[:, None] * matrix
    keys = jax.random.split(jax.random.key(1), 4000)
    samples = jax.vmap(lambda key: kernels.transition(algorithm, problem_class, problem, x, key))(keys)
    distances = np.linalg.norm(np.asarray(samples)[:, None] - np.asarray(possible)[None], axis=-1)
    assert distances.min(axis=1).max() < 1e-12, "every sample is one of the possible steps"
    counts = np.bincount(distances.argmin(axis=1), minlength=8)
    assert stats.chisquare(counts).pvalue > 1e-6


def test_transition_kernel_of_a_deterministic_algorithm_is_dirac():
    problem_class, algorithm = Bowls(), loa.GradientDescent(0.3)
    problem, x = problem_class.sample(KEY), jnp.ones(4)
    expected = x - 0.3 * problem * x
    for seed in range(3):
        sample = kernels.transition(algorithm, problem_class, problem, x, jax.random.key(seed))
        np.testing.assert_allclose(sample, expected, rtol=1e-15)


def test_semigroup_property():
    """γ^(s+t) = γ^s γ^t: exactly for a deterministic algorithm, in distribution for a random one."""
    problem_class, problem = Bowls(), Bowls().sample(KEY)
    arguments = (loa.HeavyBall(0.3, 0.5), problem_class, problem)
    state = arguments[0].init(loa.Oracle(problem_class, problem), jnp.ones(4))
    once = kernels.semigroup(*arguments, state, 5, KEY)
    twice = kernels.semigroup(*arguments, kernels.semigroup(*arguments, state, 2, KEY), 3, KEY)
    np.testing.assert_allclose(once.x, twice.x, rtol=1e-14)
    np.testing.assert_array_equal(kernels.semigroup(*arguments, state, 0, KEY).x, state.x)

    problem_class = LeastSquares()
    random = (loa.SGD(0.02), problem_class, problem_class.sample(KEY))
    first, second, third = (jax.random.split(jax.random.key(seed), 3000) for seed in (1, 2, 3))
    once = jax.vmap(lambda key: kernels.semigroup(*random, jnp.ones(4), 5, key))(first)
    middle = jax.vmap(lambda key: kernels.semigroup(*random, jnp.ones(4), 2, key))(second)
    twice = jax.vmap(lambda state, key: kernels.semigroup(*random, state, 3, key))(middle, third)
    for coordinate in range(4):
        assert stats.ks_2samp(once[:, coordinate], twice[:, coordinate]).pvalue > 1e-5


def test_joint_kernel_is_the_product():
    """Each problem moves by its own kernel, independently of the others (lemma on conditional independence)."""
    problem_class, algorithm = LeastSquares(), loa.SGD(0.1)
    problems = jax.tree.map(lambda leaf: jnp.repeat(leaf[:1], 2, axis=0), problem_class.draw(KEY, 1))
    states = jnp.ones((2, 4))
    keys = jax.random.split(jax.random.key(1), 4000)
    moved = jax.vmap(lambda key: kernels.joint_transition(algorithm, problem_class, problems, states, key))(keys)
    matrix, target = jax.tree.map(lambda leaf: leaf[0], problems)
    possible = np.asarray(1.0 - 0.1 * 2 * (matrix @ jnp.ones(4) - target)[:, None] * matrix)
    chosen = np.linalg.norm(np.asarray(moved)[:, :, None] - possible, axis=-1).argmin(axis=-1)
    table = np.zeros((8, 8))
    np.add.at(table, (chosen[:, 0], chosen[:, 1]), 1)
    assert stats.chi2_contingency(table).pvalue > 1e-6


def test_finite_dimensional_distributions_of_trajectories():
    """The state at time t of a sampled trajectory has the distribution γ^t applied to the start."""
    problem_class, algorithm = LeastSquares(), loa.SGD(0.02)
    problems = problem_class.draw(KEY, 1)
    paths = loa.trajectories(algorithm, problem_class, problems, horizon=6, key=KEY, replicates=3000).iterates[0]
    problem = jax.tree.map(lambda leaf: leaf[0], problems)

    def independent(key):
        start_key, step_key = jax.random.split(key)
        x0 = problem_class.start(problem, start_key)
        return kernels.semigroup(algorithm, problem_class, problem, x0, 6, step_key)

    samples = jax.vmap(independent)(jax.random.split(jax.random.key(2), 3000))
    for coordinate in range(4):
        assert stats.ks_2samp(paths[:, 6, coordinate], samples[:, coordinate]).pvalue > 1e-5
