"""Laws of the engine: what must not change a result."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from classes import Backtracking, Bowls, DictBowls, LeastSquares, Noisy

import loa
from loa.problems.remembered import remembered
from loa.trajectory import engine
from loa.trajectory.walk import trajectory_key

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
    "dictionaries": (loa.GradientDescent(0.9), DictBowls(), loa.loss_below(1e-6)),
    "keys in the state": (Noisy(0.9), Bowls(), loa.loss_below(1e-3)),
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


@pytest.mark.parametrize(("case", "width"), [*((case, 16) for case in CASES), ("random", 3)])
def test_chunking_changes_nothing(case, width):
    assert_same(run(case), run(case, width=width), exact=False)


@pytest.mark.parametrize("case", ["random", "line search", "keys in the state"])
def test_moving_to_fewer_slots_changes_nothing(case, monkeypatch):
    before = run(case, width=16)
    moves = []
    narrow = engine._narrow
    monkeypatch.setattr(engine, "PATIENCE", 0.0)
    monkeypatch.setattr(engine, "_narrow", lambda *arguments: moves.append(arguments[2]) or narrow(*arguments))
    assert_same(before, run(case, width=16), exact=False)
    assert moves, "no move was made, so nothing was tested"


@pytest.mark.parametrize("case", CASES)
def test_interrupting_the_compiled_loop_changes_nothing(case, monkeypatch):
    before = run(case)
    monkeypatch.setattr(engine, "SECONDS_PER_CALL", 0.0)
    assert_same(before, run(case))


@pytest.mark.parametrize("case", CASES)
def test_batch_equals_loop_over_problems_and_steps(case):
    """The engine against a Python loop over one problem at a time, one step at a time."""
    algorithm, problem_class, criterion = CASES[case]
    problems = problem_class.draw(jax.random.key(1), 37)
    result = run(case)
    for index, replicate in ((0, 0), (5, 1), (36, 1)):
        problem = jax.tree.map(lambda leaf, index=index: leaf[index], problems)
        key = trajectory_key(KEY, index, replicate)
        oracle = loa.Oracle(problem_class, problem)
        x0 = problem_class.start(problem, jax.random.fold_in(key, 0))
        state = jax.tree.map(jnp.asarray, algorithm.init(oracle, x0))
        time = 0
        while time < 200 and not criterion(problem_class, algorithm.iterate(state), problem):
            time += 1
            state = algorithm.step(oracle, state, jax.random.fold_in(key, time))
        assert result["stopping_time"][index, replicate] == time
        assert result["oracle_calls"][index, replicate] == sum(oracle.calls)


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


@pytest.mark.parametrize(("devices", "cases"), [(1, tuple(CASES)), (3, ("random",))], ids=["one", "three"])
def test_programs_that_are_optimized_and_devices_change_nothing_and_each_compiles_once(devices, cases, tmp_path):
    """In a process of its own, programs are compiled as for a user, not quickly as for the tests (conftest.py)."""
    script = f"""
import sys; sys.path.insert(0, {str(__file__).rsplit("/", 1)[0]!r})
import jax; jax.config.update("jax_enable_x64", True); jax.config.update("jax_log_compiles", True)
import numpy, test_laws
assert len(jax.devices()) == {devices}
for case in {cases!r}:
    result = test_laws.run(case)
    numpy.savez({str(tmp_path)!r} + f"/{{case}}.npz", outcome=result.outcome, **result.values)
"""
    flags = {"XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}"}
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, env=os.environ | flags, stderr=subprocess.PIPE, text=True
    )
    assert done.stderr.count("Finished XLA compilation of jit(_advance_all)") == devices * len(cases)
    for case in cases:
        there, here = np.load(tmp_path / f"{case}.npz"), run(case)
        np.testing.assert_array_equal(there["outcome"], here.outcome)
        for name in here.values:
            np.testing.assert_allclose(there[name], here[name], rtol=1e-9)


def test_the_device_asked_for_is_used():
    result = run("deterministic", devices=[jax.devices()[0]])
    assert_same(result, run("deterministic"))


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("stacked", [False, True])
def test_float32_works_throughout(x64, stacked):
    """Also under x64, where parameters would otherwise promote the points to float64."""
    with jax.enable_x64(x64):
        algorithm = loa.GradientDescent(0.9)
        problem_class = loa.FromFunctions(
            lambda key: jax.random.uniform(key, (4,), jnp.float32, 0.5, 1.0),
            lambda x, problem: 0.5 * jnp.sum(problem * x**2),
            start=jnp.ones(4, jnp.float32),
        )
        result = loa.evaluate(
            loa.stack([algorithm, algorithm]) if stacked else algorithm,
            problem_class,
            problem_class.draw(jax.random.key(1), 5),
            criterion=loa.loss_below(1e-3),
            horizon=100,
            key=KEY,
            functionals=[loa.StoppingTime(), loa.ContractionFactor(gap=loa.gaps.loss)],
        )
    assert result["contraction_factor"].dtype == jnp.float32
    assert (result.outcome == "solved").all()


def test_one_key_for_everything_does_not_couple_problem_and_start():
    """A class that splits its key must not find a part of its problem again in its start."""

    class Coupled(Bowls):
        def sample(self, key):
            return jax.random.uniform(jax.random.split(jax.random.split(key)[0])[0], (4,))

        def start(self, problem, key):
            return jax.random.uniform(key, (4,))

    problems = Coupled().draw(KEY, 50)
    starts = loa.trajectories(loa.GradientDescent(0.1), Coupled(), problems, horizon=1, key=KEY).iterates[:, 0, 0]
    assert not np.isin(np.asarray(starts), np.asarray(problems)).any()


def test_a_repeated_evaluation_compiles_nothing(caplog):
    run("deterministic")
    with jax.log_compiles(), caplog.at_level("WARNING"):
        run("deterministic")
    assert not [
        record for record in caplog.records if "Finished XLA compilation of jit(_advance_all)" in record.getMessage()
    ]


class Forgetful(loa.LBFGS):
    """L-BFGS that keeps to itself what it knows, so that every look computes loss and gradient again."""

    def known(self, state):
        return None


@pytest.mark.parametrize("wrong", [0.0, 1e3])
def test_what_the_algorithm_knows_is_what_would_be_computed(wrong):
    """With a wrong loss and gradient the result is another one, so they are indeed what is used."""

    class Knowing(loa.LBFGS):
        def known(self, state):
            return state.value + wrong, state.gradient + wrong

    def shifted(problem_class, x, problem):
        return problem_class.loss(x + 1.0, problem) + problem_class.gradient(2.0 * x, problem)[0] ** 2

    problem_class, criterion = Bowls(), loa.loss_below(1e-6) & loa.gradient_norm_below(1e-4)
    functionals = [loa.StoppingTime(), loa.Gap(step=1), loa.Gap(step=1, gap=shifted, name="elsewhere")]
    options = dict(criterion=criterion, horizon=20, key=KEY, functionals=functionals)
    problems = problem_class.draw(jax.random.key(1), 9)
    computed = loa.evaluate(Forgetful(memory=3), problem_class, problems, **options)
    known = loa.evaluate(Knowing(memory=3), problem_class, problems, **options)
    np.testing.assert_allclose(known["elsewhere"], computed["elsewhere"], rtol=1e-9)
    if wrong:
        np.testing.assert_allclose(known["gap_1"], computed["gap_1"] + wrong, rtol=1e-9)
        assert not np.any(known.outcome == "solved")
    else:
        assert_same(known, computed, exact=False)
        assert np.all(known.outcome == "solved")


def test_each_width_is_compiled_once(caplog, monkeypatch):
    widths = []
    narrow = engine._narrow
    monkeypatch.setattr(engine, "PATIENCE", 1.0)
    monkeypatch.setattr(engine, "_narrow", lambda *arguments: widths.append(arguments[-1]) or narrow(*arguments))
    problem_class = Bowls(dimension=7)
    options = dict(criterion=loa.loss_below(1e-6), horizon=400, key=KEY, width=16)
    with jax.log_compiles(), caplog.at_level("WARNING"):
        loa.evaluate(loa.GradientDescent(0.5), problem_class, problem_class.draw(KEY, 32), **options)
    compiled = [r for r in caplog.records if "Finished XLA compilation of jit(_advance_all)" in r.getMessage()]
    assert len(widths) >= 2
    assert len(compiled) == 1 + len(widths)


def test_loss_and_gradient_at_the_iterate_are_computed_once_per_step():
    """Although criterion, functionals and step all ask for them."""
    asked = []

    class Counted(Bowls):
        def value_and_gradient(self, x, problem):
            asked.append("both")
            return super().value_and_gradient(x, problem)

        def loss(self, x, problem):
            asked.append("loss")
            return super().loss(x, problem)

    job = engine.Job(
        loa.GradientDescent(0.1), None, Counted(), Counted().draw(KEY, 3), jnp.arange(3), KEY,
        loa.loss_below(1e-3) & loa.gradient_norm_below(1e-3), (loa.StoppingTime(), loa.ContractionFactor(cap=1.0)),
        horizon=5, num_candidates=None, replicates=1,
    )  # fmt: skip
    slot = jax.eval_shape(job.begin, jnp.zeros((), jnp.int32))
    asked.clear()
    jax.eval_shape(job.advance, slot)
    assert asked == ["both", "loss"]  # the second inside of the first


def test_what_is_asked_inside_of_a_branch_stays_there():
    problem_class, problem = Bowls(), Bowls().sample(KEY)

    @jax.jit
    def asked(x):
        there = remembered(problem_class, x, problem)
        inside = jax.lax.cond(x[0] > 0, lambda: there.loss(x, problem) + there.gradient(x, problem)[0], lambda: 0.0)
        return inside, there.loss(x, problem), there.gradient(x, problem)

    x = jnp.arange(1.0, 5.0)
    inside, loss, gradient = asked(x)
    assert_close = np.testing.assert_allclose
    assert_close(loss, problem_class.loss(x, problem))
    assert_close(gradient, problem_class.gradient(x, problem))
    assert_close(inside, loss + gradient[0])
