"""Laws of the engine: what must not change a result."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from classes import Backtracking, Bowls, LeastSquares

import loa

KEY = jax.random.key(7)
FUNCTIONALS = (
    loa.StoppingTime(),
    loa.ContractionFactor(cap=1.0),
    loa.ConvergenceRate(),
    loa.Gap(step=10),
    loa.OracleCalls(),
    loa.Indicator("fast", lambda time: time <= 50),
)
CASES = {
    "deterministic": (loa.GradientDescent(0.9), Bowls(), loa.loss_below(1e-6)),
    "with memory": (loa.HeavyBall(0.9, 0.5), Bowls(), loa.loss_below(1e-6)),
    "random": (loa.SGD(0.02), LeastSquares(), loa.loss_below(0.05)),
    "line search": (Backtracking(8.0), Bowls(), loa.loss_below(1e-6)),
}


def run(case, **options):
    algorithm, problem_class, criterion = CASES[case]
    problems = problem_class.draw(jax.random.key(1), 37)
    options = {"horizon": 200, "key": KEY, "functionals": FUNCTIONALS, "replicates": 2} | options
    return loa.evaluate(algorithm, problem_class, problems, criterion=criterion, **options)


def assert_same(one, other, exact=True):
    compare = np.testing.assert_array_equal if exact else (lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9))
    np.testing.assert_array_equal(one.outcome, other.outcome)
    for name in one.values:
        compare(one[name], other[name])


@pytest.mark.parametrize("case", CASES)
def test_same_key_same_bits(case):
    assert_same(run(case), run(case))


def test_another_key_gives_other_numbers():
    assert np.any(run("random")["gap_10"] != run("random", key=jax.random.key(8))["gap_10"])


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("width", [3, 64])
def test_chunking_changes_nothing(case, width):
    assert_same(run(case), run(case, width=width), exact=False)


@pytest.mark.parametrize("case", CASES)
def test_moving_to_fewer_slots_changes_nothing(case, monkeypatch):
    before = run(case, width=16)
    monkeypatch.setattr("loa.engine.PATIENCE", 0.0)
    assert_same(before, run(case, width=16), exact=False)


@pytest.mark.parametrize("case", CASES)
def test_interrupting_the_compiled_loop_changes_nothing(case, monkeypatch):
    before = run(case)
    monkeypatch.setattr("loa.engine.SECONDS_PER_CALL", 0.0)
    assert_same(before, run(case))


@pytest.mark.parametrize("case", CASES)
def test_batch_equals_loop_over_problems_and_steps(case):
    """The engine against a Python loop over one problem at a time, one step at a time."""
    algorithm, problem_class, criterion = CASES[case]
    problems = problem_class.draw(jax.random.key(1), 37)
    result = run(case)
    for index in (0, 5, 36):
        problem = jax.tree.map(lambda leaf, index=index: leaf[index], problems)
        for replicate in range(2):
            key = jax.random.fold_in(jax.random.fold_in(KEY, index), replicate)
            oracle = loa.Oracle(problem_class, problem)
            state = algorithm.init(oracle, problem_class.start(problem, jax.random.fold_in(key, 0)))
            time = 0
            while time < 200 and not criterion(problem_class, algorithm.iterate(state), problem):
                time += 1
                state = algorithm.step(oracle, state, jax.random.fold_in(key, time))
            assert result["stopping_time"][index, replicate] == time
            assert result["oracle_calls"][index, replicate] == oracle.calls.total()


@pytest.mark.parametrize("case", CASES)
def test_trajectories_are_those_that_are_evaluated(case):
    algorithm, problem_class, _ = CASES[case]
    problems = problem_class.draw(jax.random.key(1), 37)
    paths = loa.trajectories(algorithm, problem_class, problems, horizon=10, key=KEY, replicates=2)
    assert paths.losses.shape == (37, 2, 11)
    np.testing.assert_allclose(paths.losses[..., 10], run(case)["gap_10"], rtol=1e-9)


def test_a_stack_equals_its_members():
    steps = [0.3, 0.6, 0.9]
    problem_class, criterion = Bowls(), loa.loss_below(1e-6)
    problems = problem_class.draw(jax.random.key(1), 37)
    options = {"criterion": criterion, "horizon": 200, "key": KEY, "functionals": FUNCTIONALS}
    stack = loa.stack([loa.GradientDescent(step) for step in steps])
    together = loa.evaluate(stack, problem_class, problems, **options)
    assert together["stopping_time"].shape == (3, 37, 1)
    for index, step in enumerate(steps):
        alone = loa.evaluate(loa.GradientDescent(step), problem_class, problems, **options)
        for name in alone.values:
            np.testing.assert_allclose(together[name][index], alone[name], rtol=1e-9)


def test_a_longer_draw_begins_with_the_shorter_one():
    shorter, longer = (Bowls().draw(KEY, size) for size in (5, 50))
    np.testing.assert_array_equal(shorter, longer[:5])


@pytest.mark.parametrize("devices", [1, 3])
def test_number_of_devices_changes_nothing(devices, tmp_path):
    script = f"""
import sys; sys.path.insert(0, {str(__file__).rsplit("/", 1)[0]!r})
import jax; jax.config.update("jax_enable_x64", True)
import numpy, test_laws
assert len(jax.devices()) == {devices}
result = test_laws.run("random")
numpy.savez({str(tmp_path / "result.npz")!r}, outcome=result.outcome, **result.values)
"""
    flags = {"XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}"}
    subprocess.run([sys.executable, "-c", script], check=True, env=os.environ | flags)
    there, here = np.load(tmp_path / "result.npz"), run("random")
    np.testing.assert_array_equal(there["outcome"], here.outcome)
    for name in here.values:
        np.testing.assert_allclose(there[name], here[name], rtol=1e-9)


def test_float32_works_throughout():
    with jax.enable_x64(False):
        problems = Bowls().draw(jax.random.key(1), 5)
        result = loa.evaluate(
            loa.GradientDescent(0.9), Bowls(), problems, criterion=loa.loss_below(1e-3), horizon=100, key=KEY,
            functionals=FUNCTIONALS,
        )  # fmt: skip
    assert result["contraction_factor"].dtype == jnp.float32
    assert (result.outcome == "solved").all()
