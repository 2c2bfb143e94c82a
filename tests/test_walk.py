"""One walk: whoever runs an algorithm with the same key sees the same trajectory, and no two uses share a key."""

from types import SimpleNamespace
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from classes import Bowls, LeastSquares, Noisy

import loa
from loa.experiments.paper import fitted_curves, restored_images
from loa.learning import first_step
from loa.problems.examples.network_training import prediction
from loa.trajectory import kernels
from loa.trajectory.walk import Walk, trajectory_key

KEY = jax.random.key(5)
STEPS, PROBLEMS = 4, 3
NEVER = loa.loss_below(1e-12)


class Jittery(loa.Algorithm):
    """Gradient descent with noise in every step."""

    step_size: float = eqx.field(converter=jnp.asarray)

    def init(self, oracle, x0):
        return x0

    def step(self, oracle, state, key):
        return state - self.step_size * oracle.gradient(state) + 0.1 * jax.random.normal(key, state.shape)


CASES = {
    "with memory": (lambda step_size: loa.HeavyBall(step_size, 0.5), 0.4, Bowls()),
    "random": (loa.SGD, 0.02, LeastSquares()),
    "keys in the state": (Noisy, 0.4, Bowls()),
}


def weighted_sum(problem_class, x, problem):
    return jnp.sum(jnp.arange(1.0, 5.0) * x)


def weighted_sums(points):
    return np.asarray(points) @ np.arange(1.0, 5.0)


def by_trajectories(algorithm, problem_class, problems):
    return weighted_sums(
        loa.trajectories(algorithm, problem_class, problems, horizon=STEPS, key=KEY).iterates[:, 0, -1]
    )


def by_evaluation(algorithm, problem_class, problems):
    options = dict(criterion=NEVER, horizon=STEPS, functionals=[loa.Gap(step=STEPS, gap=weighted_sum)], key=KEY)
    return loa.evaluate(algorithm, problem_class, problems, **options)[f"gap_{STEPS}"][:, 0]


def by_evolution(algorithm, problem_class, problems):
    options = dict(gap=weighted_sum, horizon=STEPS, key=KEY, batch=2)
    return kernels.evolution(algorithm, problem_class, problems, **options)[:, -1]


def by_iterates(algorithm, problem_class, problems):
    return weighted_sums(kernels.iterates_after(algorithm, problem_class, problems, steps=STEPS, key=KEY))


def initial_states(algorithm, problem_class, problems):
    def one(index, problem):
        return Walk(algorithm, problem_class, problem).begin(trajectory_key(KEY, index)).state

    return jax.vmap(one)(jnp.arange(PROBLEMS), problems)


@eqx.filter_jit
def by_semigroup(algorithm, problem_class, problems):
    def one(index, problem, state):
        return kernels.semigroup(algorithm, problem_class, problem, state, STEPS, trajectory_key(KEY, index))

    states = initial_states(algorithm, problem_class, problems)
    return jax.vmap(algorithm.iterate)(jax.vmap(one)(jnp.arange(PROBLEMS), problems, states)) @ jnp.arange(1.0, 5.0)


@eqx.filter_jit
def by_joint_transitions(algorithm, problem_class, problems):
    def body(time, states):
        return kernels.joint_transition(algorithm, problem_class, problems, states, KEY, time=time)

    states = jax.lax.fori_loop(0, STEPS, body, initial_states(algorithm, problem_class, problems))
    return jax.vmap(algorithm.iterate)(states) @ jnp.arange(1.0, 5.0)


WAYS = [by_evaluation, by_evolution, by_iterates, by_semigroup, by_joint_transitions]


@pytest.mark.parametrize("case", CASES)
def test_all_ways_see_the_same_trajectories(case):
    make, step, problem_class = CASES[case]
    arguments = make(step), problem_class, problem_class.draw(jax.random.key(1), PROBLEMS)
    expected = by_trajectories(*arguments)
    assert len(np.unique(expected)) == PROBLEMS, "trajectories differ, so that they can be told apart"
    for way in WAYS:
        np.testing.assert_allclose(way(*arguments), expected, rtol=1e-12, err_msg=way.__name__)


@pytest.mark.filterwarnings("ignore:the best step_size")
@pytest.mark.parametrize("case", CASES)
def test_tuning_by_gradient_sees_the_same_trajectories(case):
    make, step, problem_class = CASES[case]
    problems = problem_class.draw(jax.random.key(1), PROBLEMS)
    tuned = loa.tune_by_gradient(
        make, {"step_size": (0.5 * step, 1.5 * step)}, problem_class, problems, key=KEY, iterations=1,
        functional=loa.Gap(step=STEPS, gap=weighted_sum), horizon=STEPS,
    )  # fmt: skip
    expected = by_trajectories(make(step), problem_class, problems).mean()
    assert tuned.tried[0][0]["step_size"] == pytest.approx(step, rel=1e-15)
    assert tuned.tried[0][1] == pytest.approx(expected, rel=1e-12)


class RandomImages(loa.problems.ImageRestoration):
    """Restorations that start at random images."""

    def start(self, problem, key):
        return jax.random.uniform(key, self.size)


@pytest.mark.wrong_types
def test_pictures_show_the_same_trajectories():
    problem_class, key = RandomImages(size=(6, 5)), jax.random.key(0)
    problems = problem_class.draw(KEY, 3)
    setting: Any = SimpleNamespace(problem_class=problem_class)
    images = restored_images._after(setting, Jittery(0.1), problems, 2)
    paths = loa.trajectories(Jittery(0.1), problem_class, problems, horizon=2, key=key)
    np.testing.assert_allclose(images, paths.iterates[:, 0, 2], rtol=1e-12)

    problem_class = loa.problems.StochasticNetworkTraining()
    problems = problem_class.draw(KEY, 3)
    setting = SimpleNamespace(problem_class=problem_class)
    curves = fitted_curves._curves(setting, loa.SGD(0.01), problems, 2)
    paths = loa.trajectories(loa.SGD(0.01), problem_class, problems, horizon=2, key=key)
    expected = jax.vmap(lambda x: prediction(x, jnp.asarray(fitted_curves.GRID)))(paths.iterates[:, 0, 2])
    np.testing.assert_allclose(curves, expected, rtol=1e-9, atol=1e-12)


class Blind(loa.Algorithm):
    """Steps that are noise and nothing else."""

    def init(self, oracle, x0):
        return x0

    def step(self, oracle, state, key):
        return state + jax.random.normal(key, state.shape)


class Gaussian(Bowls):
    """The gradient at the random start is the start."""

    finite = True

    def sample(self, key):
        return jnp.ones(self.dimension)

    def start(self, problem, key):
        return jax.random.normal(key, (self.dimension,))


def test_noise_of_a_teacher_cannot_be_predicted_from_its_random_start():
    """The gain of the first step estimates 0 with standard deviation 1/√400 in each of its four entries."""
    problem_class = Gaussian(dimension=2)
    learned = first_step(problem_class, problem_class.draw(KEY, 400), teacher=Blind(), steps=1, key=KEY)
    assert np.abs(learned.gain).max() < 6 / np.sqrt(400)


class Tell(Bowls):
    """Bowls that tell with which keys problems are drawn and trajectories are started."""

    samples: ClassVar[list] = []
    starts: ClassVar[list] = []

    def sample(self, key):
        tell(self.samples, key)
        return super().sample(key)

    def start(self, problem, key):
        tell(self.starts, key)
        return super().start(problem, key)


class Told(Jittery):
    """An algorithm that tells with which keys it steps."""

    steps: ClassVar[list] = []

    def step(self, oracle, state, key):
        tell(self.steps, key)
        return super().step(oracle, state, key)


def tell(keys, key):
    jax.debug.callback(lambda data: keys.append(tuple(np.asarray(data))), jax.random.key_data(key))


def told(run):
    """The keys of samples, starts and steps while something runs."""
    lists = (Tell.samples, Tell.starts, Told.steps)
    for keys in lists:
        keys.clear()
    jax.block_until_ready(run())
    jax.effects_barrier()
    return tuple(set(keys) for keys in lists)


def assert_disjoint(samples, starts, steps):
    assert not starts & steps, "the key of a start is the key of no step"
    assert not samples & (starts | steps), "the key of a problem is used for nothing else"


def test_no_two_uses_share_a_key_in_an_evaluation():
    def run():
        options = dict(criterion=NEVER, horizon=5, key=KEY, replicates=2, width=4)
        return loa.evaluate(Told(0.1), Tell(), Tell().draw(KEY, 6), **options)["stopping_time"]

    samples, starts, steps = told(run)
    assert_disjoint(samples, starts, steps)
    assert len(samples) == 6
    assert len(starts) >= 12
    assert len(steps) >= 12 * 5


@pytest.mark.parametrize("how", ["training", "imitation"])
def test_no_two_uses_share_a_key_in_learning(how):
    options = dict(criterion=NEVER, horizon=4, key=KEY, steps=6, batch=5, pool=8)

    def run():
        if how == "imitation":
            return loa.imitate(Told(0.1), loa.GradientDescent(0.2), Tell(), length=3, **options).step_size
        more = dict(checks=2, validation=3, restart=0.5)
        return loa.train(Told(0.1), Tell(), objective=loa.Gap(step=3), **more, **options).algorithm.step_size

    samples, starts, steps = told(run)
    assert_disjoint(samples, starts, steps)
    assert len(starts) >= 10
    assert len(steps) >= 6 * 5 * 3
