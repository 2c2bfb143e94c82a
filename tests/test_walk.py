"""One walk: whoever runs an algorithm with the same key sees the same trajectory, and no two uses share a key."""

from types import SimpleNamespace
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from classes import Bowls, LeastSquares, Noisy

import loa
from loa.experiments import fitted_curves, restored_images
from loa.learning import first_step
from loa.trajectory import kernels
from loa.trajectory.walk import Walk, trajectory_key

KEY = jax.random.key(5)
STEPS, PROBLEMS = 4, 3
TIMES = (0, 1, STEPS)
NEVER = loa.loss_below(1e-12)


class Jittery(loa.Algorithm):
    """Gradient descent with noise in every step."""

    step_size: float = eqx.field(converter=jnp.asarray)

    def init(self, oracle, x0):
        return x0

    def step(self, oracle, state, key):
        return state - self.step_size * oracle.gradient(state) + 0.1 * jax.random.normal(key, state.shape)


CASES = {
    "deterministic": (loa.GradientDescent, 0.4, Bowls()),
    "with memory": (lambda step_size: loa.HeavyBall(step_size, 0.5), 0.4, Bowls()),
    "stochastic gradients": (loa.SGD, 0.02, LeastSquares()),
    "noise": (Jittery, 0.4, Bowls()),
    "keys in the state": (Noisy, 0.4, Bowls()),
}


def weighted_sum(problem_class, x, problem):
    return jnp.sum(jnp.arange(1.0, 5.0) * x)


def by_evaluation(make, step, problem_class, problems):
    gaps = [loa.Gap(step=time, gap=weighted_sum, name=f"at_{time}") for time in TIMES]
    options = dict(criterion=NEVER, horizon=STEPS, functionals=gaps, key=KEY)
    result = loa.evaluate(make(step), problem_class, problems, **options)
    return np.stack([result[gap.name][:, 0] for gap in gaps], axis=1)


def by_trajectories(make, step, problem_class, problems):
    paths = loa.trajectories(make(step), problem_class, problems, horizon=STEPS, key=KEY)
    return np.asarray(paths.iterates)[:, 0, TIMES] @ np.arange(1.0, 5.0)


def by_evolution(make, step, problem_class, problems):
    options = dict(gap=weighted_sum, horizon=STEPS, key=KEY, batch=2)
    return kernels.evolution(make(step), problem_class, problems, **options)[:, TIMES]


def by_iterates(make, step, problem_class, problems):
    points = [kernels.iterates_after(make(step), problem_class, problems, steps=time, key=KEY) for time in TIMES]
    return np.stack(points, axis=1) @ np.arange(1.0, 5.0)


def by_semigroup(make, step, problem_class, problems):
    def one(index, problem):
        key = trajectory_key(KEY, index)
        first = Walk(make(step), problem_class, problem).begin(key).state
        states = [kernels.semigroup(make(step), problem_class, problem, first, time, key) for time in TIMES]
        return jnp.stack([weighted_sum(problem_class, make(step).iterate(state), problem) for state in states])

    return np.asarray(jax.jit(jax.vmap(one))(jnp.arange(PROBLEMS), problems))


def by_joint_transitions(make, step, problem_class, problems):
    def initial(index, problem):
        return Walk(make(step), problem_class, problem).begin(trajectory_key(KEY, index)).state

    states, found = jax.vmap(initial)(jnp.arange(PROBLEMS), problems), []
    for time in range(STEPS + 1):
        found.append(jax.vmap(make(step).iterate)(states) @ jnp.arange(1.0, 5.0))
        states = kernels.joint_transition(make(step), problem_class, problems, states, KEY, time=time)
    return np.stack(found, axis=1)[:, TIMES]


WAYS = [by_evaluation, by_evolution, by_iterates, by_semigroup, by_joint_transitions]


@pytest.mark.parametrize("case", CASES)
def test_all_ways_see_the_same_trajectories(case):
    problems = CASES[case][-1].draw(jax.random.key(1), PROBLEMS)
    expected = by_trajectories(*CASES[case], problems)
    assert len(np.unique(expected)) == expected.size, "trajectories differ, so that they can be told apart"
    for way in WAYS:
        np.testing.assert_allclose(way(*CASES[case], problems), expected, rtol=1e-12, err_msg=way.__name__)


@pytest.mark.filterwarnings("ignore:the best step_size")
@pytest.mark.parametrize("case", CASES)
def test_tuning_by_gradient_sees_the_same_trajectories(case):
    make, step, problem_class = CASES[case]
    problems = problem_class.draw(jax.random.key(1), PROBLEMS)
    tuned = loa.tune_by_gradient(
        make, {"step_size": (0.5 * step, 1.5 * step)}, problem_class, problems, key=KEY, iterations=1,
        functional=loa.Gap(step=STEPS, gap=weighted_sum), horizon=STEPS,
    )  # fmt: skip
    expected = by_trajectories(make, step, problem_class, problems)[:, -1].mean()
    assert tuned.tried[0][0]["step_size"] == pytest.approx(step, rel=1e-15)
    assert tuned.tried[0][1] == pytest.approx(expected, rel=1e-12)


class RandomImages(loa.problems.ImageRestoration):
    """Restorations that start at random images."""

    def start(self, problem, key):
        return jax.random.uniform(key, self.size)


def test_pictures_show_the_same_trajectories(monkeypatch):
    monkeypatch.setattr(restored_images, "LATE", 2)
    setting = SimpleNamespace(problem_class=RandomImages(size=(6, 5)), horizon=8)
    problems, key = setting.problem_class.draw(KEY, 4), jax.random.key(0)
    shown = restored_images.restored_images(setting, {"noisy": Jittery(0.1)}, problems)  # pyright: ignore
    paths = loa.trajectories(Jittery(0.1), setting.problem_class, problems, horizon=10, key=key)
    images = shown.image.sel(version="noisy, 10 steps").values
    np.testing.assert_allclose(images, np.asarray(paths.iterates)[:3, 0, 10].astype(np.float32), rtol=1e-5)

    setting = SimpleNamespace(problem_class=loa.problems.StochasticNetworkTraining(), horizon=8)
    problems = setting.problem_class.draw(KEY, 4)
    shown = fitted_curves.fitted_curves(setting, {"SGD": loa.SGD(0.01)}, problems)  # pyright: ignore
    paths = loa.trajectories(loa.SGD(0.01), setting.problem_class, problems, horizon=2, key=key)
    predictions = jax.vmap(lambda x: loa.problems.network_training.prediction(x, jnp.asarray(fitted_curves.GRID)))
    for version, time in (("start", 0), ("SGD, 2 steps", 2)):
        curves = predictions(jnp.asarray(paths.iterates)[:3, 0, time])
        np.testing.assert_allclose(shown.curve.sel(version=version).values, curves, rtol=1e-9, atol=1e-12)


class Blind(loa.Algorithm):
    """Steps that are noise and nothing else."""

    def init(self, oracle, x0):
        return x0

    def step(self, oracle, state, key):
        return state + jax.random.normal(key, state.shape)


class Gaussian(Bowls):
    """The gradient at the random start is the start."""

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
