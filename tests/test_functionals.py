"""Every functional against its definition, computed from whole trajectories in NumPy."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from classes import Bowls

import loa
from loa import gaps

KEY = jax.random.key(3)
HORIZON = 51


def wiggle(problem_class, x, problem):
    """A gap of the user's own."""
    return jnp.max(jnp.abs(x))


@pytest.fixture(scope="module")
def evaluated():
    """Heavy ball on bowls, so that some problems are solved and some are not; trajectories beside functionals."""
    algorithm, problem_class, criterion = loa.HeavyBall(1.2, 0.3), Bowls(), loa.loss_below(1e-4)
    problems = problem_class.draw(jax.random.key(2), 50)
    functionals = [
        loa.StoppingTime(),
        loa.StoppingTime(truncated=False, name="untruncated"),
        loa.Gap(step=0),
        loa.Gap(step=7, gap=gaps.gradient_norm),
        loa.Gap(step=50, gap=gaps.distance, cap=0.5),
        loa.ConvergenceRate(),
        loa.ConvergenceRate(gap=wiggle, name="rate_of_wiggle"),
        loa.ContractionFactor(cap=0.85),
        loa.ContractionFactor(gap=gaps.distance, name="contraction_of_distance"),
        loa.OracleCalls(),
        loa.OracleCalls(kinds=("value",), name="values"),
        loa.LargestGap(gap=wiggle),
        loa.SmallestGap(gap=wiggle),
        loa.Indicator("fast", lambda time: time <= 30),
        loa.Indicator("monotone", lambda rate: rate <= 1.0, of=loa.ConvergenceRate()),
        loa.Indicator("small_at_seven", lambda gap: gap < 0.1, of=loa.Gap(step=7)),
    ]
    options = {"horizon": HORIZON, "key": KEY}
    result = loa.evaluate(algorithm, problem_class, problems, criterion=criterion, functionals=functionals, **options)
    paths = loa.trajectories(algorithm, problem_class, problems, **options)
    return result, np.asarray(paths.iterates[:, 0]), np.asarray(paths.losses[:, 0]), np.asarray(problems)


def stopping_times(losses):
    solved = losses < 1e-4
    return np.where(solved.any(axis=1), solved.argmax(axis=1), -1)


def upto(values, times):
    """The values of each trajectory until it stopped."""
    return [row[: (time if time >= 0 else HORIZON) + 1] for row, time in zip(values, times, strict=True)]


def test_stopping_time(evaluated):
    result, _, losses, _ = evaluated
    times = stopping_times(losses)
    assert 0 < (times < 0).sum() < 50, "the test needs both solved and unsolved problems"
    np.testing.assert_array_equal(result["stopping_time"][:, 0], np.where(times < 0, HORIZON, times))
    np.testing.assert_array_equal(result["untruncated"][:, 0], np.where(times < 0, np.inf, times))
    np.testing.assert_array_equal(result.outcome[:, 0], np.where(times < 0, "exhausted", "solved"))


def test_gap(evaluated):
    result, iterates, losses, problems = evaluated
    np.testing.assert_allclose(result["gap_0"][:, 0], losses[:, 0], rtol=1e-12)
    gradient = np.linalg.norm(problems * iterates[:, 7], axis=-1)
    np.testing.assert_allclose(result["gap_7"][:, 0], gradient, rtol=1e-9)
    distance = np.linalg.norm(iterates[:, 50], axis=-1)
    np.testing.assert_allclose(result["gap_50"][:, 0], np.minimum(distance, 0.5), rtol=1e-9)


def test_convergence_rate(evaluated):
    result, iterates, losses, _ = evaluated
    times = stopping_times(losses)
    for name, values in {"convergence_rate": losses, "rate_of_wiggle": np.abs(iterates).max(-1)}.items():
        expected = [max(row[1:] / row[:-1]) for row in upto(values, times)]
        np.testing.assert_allclose(result[name][:, 0], expected, rtol=1e-9)


def test_contraction_factor(evaluated):
    result, iterates, losses, _ = evaluated
    times = stopping_times(losses)
    expected = [(row[-1] / row[0]) ** (1 / (len(row) - 1)) for row in upto(losses, times)]
    np.testing.assert_allclose(result["contraction_factor"][:, 0], np.minimum(expected, 0.85), rtol=1e-9)
    assert (result["contraction_factor"] == 0.85).any(), "the cap should bind somewhere"
    distances = np.linalg.norm(iterates, axis=-1)
    expected = [(row[-1] / row[0]) ** (1 / (len(row) - 1)) for row in upto(distances, times)]
    np.testing.assert_allclose(result["contraction_of_distance"][:, 0], expected, rtol=1e-9)


def test_oracle_calls(evaluated):
    result = evaluated[0]
    np.testing.assert_array_equal(result["oracle_calls"], result["stopping_time"])
    assert (result["values"] == 0).all()


def test_largest_and_smallest_gap(evaluated):
    result, iterates, losses, _ = evaluated
    rows = upto(np.abs(iterates).max(-1), stopping_times(losses))
    np.testing.assert_allclose(result["largest_gap"][:, 0], [row.max() for row in rows], rtol=1e-9)
    np.testing.assert_allclose(result["smallest_gap"][:, 0], [row.min() for row in rows], rtol=1e-9)


def test_indicators(evaluated):
    result, _, losses, _ = evaluated
    np.testing.assert_array_equal(result["fast"], (result.outcome == "solved") & (result["stopping_time"] <= 30))
    np.testing.assert_array_equal(result["monotone"], result["convergence_rate"] <= 1)
    np.testing.assert_array_equal(result["small_at_seven"][:, 0], losses[:, 7] < 0.1)


ALL = (
    loa.StoppingTime(),
    loa.StoppingTime(truncated=False, name="untruncated"),
    loa.Gap(step=5),
    loa.Gap(step=5, cap=2.0, name="capped_gap"),
    loa.ConvergenceRate(),
    loa.ConvergenceRate(cap=3.0, name="capped_rate"),
    loa.ContractionFactor(cap=1.0),
    loa.LargestGap(),
    loa.SmallestGap(cap=9.0),
    loa.OracleCalls(),
    loa.OracleCalls(cap=1000, name="capped_calls"),
    loa.Indicator("fast", lambda time: time <= 30),
    loa.Indicator("slow", lambda time: time > 30),
)


def evaluate_all(algorithm, problem_class, criterion, horizon=20):
    problems = problem_class.draw(jax.random.key(2), 3)
    options = {"criterion": criterion, "horizon": horizon, "key": KEY, "functionals": ALL}
    return loa.evaluate(algorithm, problem_class, problems, **options)


def test_solved_at_the_start():
    """τ = 0: no step is made, the contraction factor is 0 by definition."""
    result = evaluate_all(loa.GradientDescent(0.1), Bowls(), loa.loss_below(1e9))
    for name in ("stopping_time", "contraction_factor", "convergence_rate", "oracle_calls"):
        assert (result[name] == 0).all(), name
    assert (result.outcome == "solved").all()
    assert (result["gap_5"] > 0).all(), "the k-step gap does not stop at τ"


@pytest.mark.parametrize("blow_up", [1e200, 1e40], ids=["immediately", "later"])
def test_divergence_is_the_worst_of_everything(blow_up):
    """A diverged trajectory stays in every statistic, unsolved and at the cap."""
    result = evaluate_all(loa.GradientDescent(blow_up), Bowls(), loa.loss_below(1e-9))
    worst = {
        "stopping_time": 20,
        "untruncated": np.inf,
        "gap_5": np.inf,
        "capped_gap": 2.0,
        "convergence_rate": np.inf,
        "capped_rate": 3.0,
        "contraction_factor": 1.0,
        "largest_gap": np.inf,
        "smallest_gap": 9.0,
        "oracle_calls": 20,
        "capped_calls": 1000,
        "fast": 0,
        "slow": 1,
    }
    assert (result.outcome == "diverged").all()
    for name, value in worst.items():
        assert (result[name] == value).all(), name


class NotANumberAtTheStart(Bowls):
    def loss(self, x, problem):
        return jnp.sum(x) * jnp.nan


class Bounces(loa.Algorithm):
    """Jumps onto the solution and then to infinity."""

    scale: float = eqx.field(converter=jnp.asarray, default=np.inf)

    def init(self, oracle, x0):
        return x0

    def step(self, oracle, state, key):
        return jnp.where(jnp.all(state == 0), jnp.full_like(state, self.scale), jnp.zeros_like(state))


def test_not_a_number_at_the_start_is_divergence():
    result = evaluate_all(loa.GradientDescent(0.1), NotANumberAtTheStart(), loa.loss_below(1e-9))
    assert (result.outcome == "diverged").all()
    assert (result["stopping_time"] == 20).all()
    assert (result["capped_gap"] == 2).all()


def test_divergence_after_the_solution_does_not_undo_it():
    result = evaluate_all(Bounces(), Bowls(), loa.loss_below(1e-9))
    assert (result.outcome == "solved").all()
    assert (result["stopping_time"] == 1).all()
    assert (result["gap_5"] == np.inf).all()


def test_a_gap_of_zero_that_is_not_a_solution():
    """Ratios with a zero denominator are left out, not turned into NaN."""

    def plateau(problem_class, x, problem):
        return jnp.maximum(jnp.sum(x**2) - 1.0, 0.0)

    functionals = [loa.ConvergenceRate(gap=plateau), loa.ContractionFactor(gap=plateau)]
    problems = Bowls().draw(jax.random.key(2), 3)
    result = loa.evaluate(
        loa.GradientDescent(0.9), Bowls(), problems, criterion=loa.loss_below(1e-12), horizon=500, key=KEY,
        functionals=functionals,
    )  # fmt: skip
    assert np.isfinite(result["convergence_rate"]).all()
    np.testing.assert_array_equal(result["contraction_factor"], 0.0)


def test_counts_of_a_line_search_vary():
    from classes import Backtracking

    result = evaluate_all(Backtracking(64.0), Bowls(), loa.loss_below(1e-3), horizon=200)
    per_step = result["oracle_calls"] / result["stopping_time"]
    assert (per_step > 3).all(), "value, gradient, and more than one trial"
    assert len(np.unique(per_step)) > 1
