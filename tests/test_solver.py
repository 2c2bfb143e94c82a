"""Solving problems: in batches, one at a time, warm-started, with a deadline, with a fallback, and with bad luck."""

import json
import pickle
import threading
import time

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import lsq_linear

import loa

KEY = jax.random.key(0)


class Boxed(loa.ProblemClass):
    """Bounded least squares with a start outside of the bounds, which the loss knows nothing of."""

    def sample(self, key):
        first, second = jax.random.split(key)
        return {"matrix": jax.random.normal(first, (6, 4)), "target": 3.0 * jax.random.normal(second, (6,))}

    def smooth(self, x, problem):
        return 0.5 * jnp.sum((problem["matrix"] @ x - problem["target"]) ** 2)

    loss = smooth

    def prox(self, x, step_size, problem):
        return jnp.clip(x, -0.5, 0.5)

    def smoothness(self, problem):
        return jnp.linalg.eigvalsh(problem["matrix"].T @ problem["matrix"])[-1]

    def start(self, problem, key):
        return jnp.linalg.lstsq(problem["matrix"], problem["target"])[0]


class Named(loa.ProblemClass):
    """A dictionary as a point, Cholesky in the loss, mini-batches, and a known optimal loss."""

    def sample(self, key):
        return jax.random.uniform(key, (2,), minval=0.5, maxval=1.5)

    def loss(self, x, problem):
        factor = jnp.linalg.cholesky(jnp.diag(problem))
        return 0.5 * jnp.sum((factor @ x["a"]) ** 2) + 0.5 * x["b"] ** 2

    def stochastic_loss(self, x, problem, key):
        return (1.0 + 0.1 * jax.random.normal(key)) * self.loss(x, problem)

    def optimal_loss(self, problem):
        return 0.0

    def start(self, problem, key):
        return {"a": jnp.ones(2), "b": jnp.asarray(2.0)}


class Still(loa.Algorithm):
    """Never moves."""

    def init(self, oracle, x0):
        return x0

    def step(self, oracle, state, key):
        return state


class Leaving(loa.Algorithm):
    """Comes close once, then leaves for good."""

    growth: jax.Array = eqx.field(converter=jnp.asarray, default=1000.0)

    def init(self, oracle, x0):
        return 0.5 * x0, jnp.zeros((), jnp.int32)

    def step(self, oracle, state, key):
        x, time = state
        return jnp.where(time == 0, 0.1 * x, self.growth * x), time + 1

    def iterate(self, state):
        return state[0]


BOX = loa.prox_residual_below(1e-4)
NAMED = dict(criterion=loa.gradient_norm_below(1e-3), horizon=60)


@pytest.fixture(scope="module")
def boxes():
    return Boxed().draw(KEY, 40)


@pytest.fixture(scope="module")
def solutions(boxes):
    return loa.solve(loa.FISTA(restart=True), Boxed(), boxes, criterion=BOX, horizon=300, key=KEY)


@pytest.fixture(scope="module")
def solver():
    return loa.Solver(loa.FISTA(restart=True), Boxed(), criterion=BOX, horizon=300)


@pytest.fixture(scope="module")
def named():
    return loa.Solver(loa.GradientDescent(0.5), Named(), **NAMED)


def at(problems, number):
    return jax.tree.map(lambda leaf: np.asarray(leaf[number]), problems)


def test_solutions_are_those_of_scipy(boxes, solutions):
    assert (solutions.outcome == "solved").all()
    assert solutions.x.shape == (40, 4)
    assert solutions.gap is None
    for number, one in enumerate(solutions):
        problem = at(boxes, number)
        exact = lsq_linear(problem["matrix"], problem["target"], (-0.5, 0.5), tol=1e-12)
        assert np.abs(one.x).max() <= 0.5
        assert abs(one.loss - exact.cost) <= 1e-3 * exact.cost


def test_solutions_are_the_trajectories_of_evaluate(boxes, solutions):
    functionals = [loa.StoppingTime(), loa.OracleCalls()]
    measured = loa.evaluate(
        loa.FISTA(restart=True), Boxed(), boxes, criterion=BOX, horizon=300, key=KEY, functionals=functionals
    )
    assert np.array_equal(measured["stopping_time"][:, 0], solutions.steps)
    assert np.array_equal(measured["oracle_calls"][:, 0], sum(solutions.calls))


def test_the_order_is_that_of_the_problems_on_several_devices_too(boxes, solutions):
    devices = jax.devices() * 2
    same = loa.solve(
        loa.FISTA(restart=True), Boxed(), boxes, criterion=BOX, horizon=300, key=KEY, width=8, devices=devices
    )
    assert np.array_equal(same.steps, solutions.steps)
    np.testing.assert_allclose(same.x, solutions.x, atol=1e-6)


def test_one_at_a_time_is_like_a_batch(boxes, solutions, solver):
    for number in range(10):
        one = solver(at(boxes, number))
        assert one.outcome == "solved"
        assert one.by == "algorithm"
        assert abs(one.steps - solutions.steps[number]) <= 1  # sums may be rounded differently
        np.testing.assert_allclose(one.x, solutions.x[number], atol=1e-4)


def test_a_start_that_violates_the_constraints_is_not_returned(boxes):
    """The lowest loss of all is at the start, where the bounds are violated."""
    few = loa.solve(loa.FISTA(restart=True), Boxed(), boxes, criterion=BOX, horizon=2, key=KEY)
    assert (few.outcome == "exhausted").any()
    assert np.abs(few.x).max() <= 0.5
    still = loa.solve(Still(), Boxed(), boxes, criterion=BOX, horizon=2, key=KEY)
    assert np.abs(still.x).max() > 0.5, "unless there is no other point"


def test_the_best_point_is_returned_and_not_the_last():
    gone = loa.solve(Leaving(), Named(), Named().draw(KEY, 5), criterion=loa.loss_below(1e-12), horizon=200, key=KEY)
    np.testing.assert_allclose(gone.x["a"], 0.05, rtol=1e-6)
    np.testing.assert_allclose(gone.x["b"], 0.1, rtol=1e-6)
    assert (gone.outcome == "diverged").all()
    assert np.isfinite(gone.loss).all()
    assert (gone.steps < 200).all()


def test_points_have_the_form_that_the_class_gives_them(named):
    problems = Named().draw(KEY, 5)
    many, one = named.many(problems), named(np.asarray(problems[0]))
    assert many.x["a"].shape == (5, 2)
    assert many.x["b"].shape == (5,)
    assert many.gap.shape == (5,)
    assert one.x.keys() == {"a", "b"}
    assert isinstance(one.x["a"], np.ndarray)
    assert 0 <= one.gap < 1e-6
    assert one.steps == many[0].steps
    assert one.calls == many[0].calls
    assert repr(many) == "Solutions(5: 5 solved)"
    assert len(list(many)) == 5


def test_mini_batches():
    problems = Named().draw(KEY, 5)
    found = loa.solve(loa.SGD(0.5), Named(), problems, key=KEY, **NAMED)
    assert (found.outcome == "solved").all()
    assert (found.calls.stochastic_gradient == found.steps).all()


def test_a_warm_start_is_where_it_starts(named):
    problem = np.array([1.0, 1.2])
    one = named(problem)
    assert named(problem, start=one.x).steps == 0
    near = {"a": jnp.asarray(one.x["a"]) + 0.01, "b": 0.01}
    assert 0 < named(problem, start=near).steps < one.steps


def test_problems_of_jax_numpy_and_lists_give_the_same(named):
    problem, points = np.array([1.0, 1.2]), []
    for given in (problem, jnp.asarray(problem), [np.float32(1.0), 1.2], problem.astype(np.float16)):
        points.append(named(np.asarray(given) if isinstance(given, list) else given))
    assert len({one.steps for one in points}) == 1


def test_threads_get_their_own_solutions(named):
    problems = np.asarray(Named().draw(KEY, 40))
    alone, together = [named(problem).x["a"] for problem in problems], [None] * 40

    def some(first):
        for number in range(first, 40, 4):
            together[number] = named(problems[number]).x["a"]

    threads = [threading.Thread(target=some, args=(first,)) for first in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert all(np.array_equal(one, other) for one, other in zip(alone, together, strict=True))


def test_deadlines(solver, boxes):
    problem = at(boxes, 3)
    late, whole = solver(problem, deadline=0), solver(problem)
    assert late.outcome == "late"
    assert late.steps == 0
    assert np.isfinite(late.loss)
    in_time = solver(problem, deadline=60.0)
    assert in_time.outcome == "solved"
    assert in_time.steps == whole.steps
    np.testing.assert_array_equal(in_time.x, whole.x)
    with pytest.raises(ValueError, match="deadline must be a number of seconds, at least 0, got -1"):
        solver(problem, deadline=-1)


def test_a_deadline_ends_a_run_that_would_take_long():
    slow = loa.Solver(Still(), Named(), criterion=loa.loss_below(1e-9), horizon=2**30)
    started = time.perf_counter()
    one = slow(np.ones(2), deadline=0.2)
    assert one.outcome == "late"
    assert one.steps > 100
    assert time.perf_counter() - started < 5.0


def test_a_fallback_solves_what_the_algorithm_does_not():
    fails = loa.Solver(Still(), Named(), fallback=loa.GradientDescent(0.5), **NAMED)
    one = fails(np.ones(2))
    assert one.outcome == "solved"
    assert one.by == "fallback"
    assert one.steps > 60
    assert one.calls.gradient > 0
    many = fails.many(jnp.ones((3, 2)) * jnp.array([1.0, 1.1, 1.2])[:, None])
    assert (many.by == "fallback").all()
    assert (many.outcome == "solved").all()
    both = loa.Solver(loa.GradientDescent(0.01), Named(), fallback=Still(), **NAMED)(np.ones(2))
    assert (both.outcome, both.by, both.steps) == ("exhausted", "algorithm", 120), "the better of two failures"


def test_not_a_number_is_an_outcome(named, solver, boxes):
    one = named(np.array([1.0, np.nan]))
    assert one.outcome == "diverged"
    assert one.steps == 0
    assert np.isnan(one.loss)
    assert one.x["b"] == 2.0
    problem = at(boxes, 0)
    assert solver(problem | {"target": np.full(6, np.inf)}).outcome == "diverged"
    started = named(np.ones(2), start={"a": np.full(2, np.nan), "b": 1.0})
    assert started.outcome == "diverged"
    problems = jnp.array([[1.0, 1.0], [1.0, jnp.nan]])
    assert named.many(problems).outcome.tolist() == ["solved", "diverged"]


def test_a_point_that_is_not_finite_never_looks_right():
    class Blind(loa.ProblemClass):
        """A loss that is 0 where x is not a number."""

        def sample(self, key):
            return jax.random.uniform(key, (2,))

        def loss(self, x, problem):
            return jnp.sum(jnp.where(x > 0, x, 0.0))

        def start(self, problem, key):
            return jnp.ones(2)

    class Breaks(Still):
        def step(self, oracle, state, key):
            return state * jnp.nan

    one = loa.Solver(Breaks(), Blind(), criterion=loa.loss_below(1e-3), horizon=5)(np.ones(2))
    assert one.outcome == "diverged"
    assert np.array_equal(one.x, np.ones(2))
    assert one.loss == 2.0


@pytest.mark.parametrize(
    ("problem", "start", "sentence"),
    [
        (np.ones(3), None, r"problem must have shape \[2\], like what the class samples, got float64\[3\]"),
        (np.ones((1, 2)), None, r"problem must have shape \[2\]"),
        ({"a": np.ones(2)}, None, r"must be float64\[2\], like what the class samples, got {'a': float64\[2\]}"),
        (np.ones(2) * 1j, None, r"problem must hold numbers of type float64, got complex128\[2\]"),
        (np.array(["a", "b"]), None, "problem must hold numbers"),
        (np.ones(2), np.ones(2), r"start must be {'a': float64\[2\], 'b': float64\[\]}"),
        (np.ones(2), {"a": np.ones(3), "b": 0.0}, r"start\['a'\] must have shape \[2\]"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(named, problem, start, sentence):
    with pytest.raises((TypeError, ValueError), match=sentence):
        named(problem, start=start)


def test_a_copy_of_a_solver_is_refused(solver):
    with pytest.raises(TypeError, match="a Solver is a compiled program, which can be neither copied nor pickled"):
        pickle.dumps(solver)


def test_a_solver_in_compiled_code_is_refused(named):
    with pytest.raises(TypeError, match="a Solver is a compiled program"):
        jax.jit(lambda problem: named(problem).x)(jnp.ones(2))


def test_a_distribution_of_algorithms_draws_one_for_each_problem():
    problems = Named().draw(KEY, 400)
    stack = loa.stack([loa.GradientDescent(0.5), loa.GradientDescent(0.25)], weights=[0.2, 0.8])
    setting = dict(key=KEY, **NAMED)
    drawn = loa.solve(stack, Named(), problems, **setting)
    fast, slow = (loa.solve(stack[k], Named(), problems, **setting).steps for k in range(2))
    assert (fast < slow).all()
    assert ((drawn.steps == fast) | (drawn.steps == slow)).all()
    assert abs((drawn.steps == fast).mean() - 0.2) < 4 * np.sqrt(0.2 * 0.8 / 400)
    few = loa.solve(stack, Named(), jax.tree.map(lambda leaf: leaf[:50], problems), **setting)
    assert np.array_equal(few.steps, drawn.steps[:50]), "whatever the number of problems"
    with pytest.raises(ValueError, match="a stack without weights is a set of algorithms"):
        loa.solve(loa.stack([stack[0], stack[1]]), Named(), problems, **setting)


def test_checkpoints_are_found_again(tmp_path, solutions, boxes, monkeypatch):
    monkeypatch.setattr("loa.storage.resuming.EVERY", 0.0)
    setting = dict(criterion=BOX, horizon=300, key=KEY, checkpoints=tmp_path)
    first = loa.solve(loa.FISTA(restart=True), Boxed(), boxes, **setting)
    assert list(tmp_path.glob("*.checkpoint"))
    again = loa.solve(loa.FISTA(restart=True), Boxed(), boxes, **setting)
    assert np.array_equal(again.x, first.x)


def test_the_precision_of_the_solver_is_that_of_its_making(named):
    with jax.enable_x64(False):
        assert named(np.ones(2)).x["a"].dtype == np.float64


@pytest.mark.parametrize("suffix", [".npz", ".jsonl", ".parquet"])
def test_solutions_in_files(named, tmp_path, suffix):
    found, path = named.many(jnp.array([[1.0, 1.0], [1.0, jnp.nan]])), tmp_path / f"solutions{suffix}"
    found.save(path)
    if suffix == ".npz":
        rows = dict(np.load(path))
        np.testing.assert_array_equal(rows["x.a"], found.x["a"])
    elif suffix == ".jsonl":
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        assert lines[1]["loss"] is None
        rows = {name: [line[name] for line in lines] for name in lines[0]}
        assert rows["x.a"] == found.x["a"].tolist()
    else:
        rows = pytest.importorskip("pyarrow.parquet").read_table(path).to_pydict()
        assert rows["x.a"] == found.x["a"].tolist()
    assert list(rows["outcome"]) == ["solved", "diverged"]
    assert list(rows["calls.gradient"]) == found.calls.gradient.tolist()
    with pytest.raises(ValueError, match="are written to files with the suffix"):
        found.save(tmp_path / "solutions.csv")


class Fenced(loa.ProblemClass):
    """The same with a set that the loss knows of: it is infinite outside, where the start is."""

    constraint = loa.sets.Box(-0.5, 0.5)
    sample, smooth, smoothness, start = Boxed.sample, Boxed.smooth, Boxed.smoothness, Boxed.start


class Beside(loa.FISTA):
    """FISTA whose iterates are outside of every set, by rounding."""

    def iterate(self, state):
        return super().iterate(state) * (1.0 + 1e-9)


@pytest.mark.parametrize("horizon", [300, 3])
def test_a_point_beside_the_set_is_moved_into_it(boxes, horizon):
    found = loa.solve(Beside(restart=True), Fenced(), boxes, criterion=BOX, horizon=horizon, key=KEY)
    assert (found.outcome == "solved").all() == (horizon == 300)
    assert np.isfinite(found.loss).all()
    assert np.abs(found.x).max() <= 0.5
    problem = at(boxes, 0)
    one = loa.Solver(Beside(restart=True), Fenced(), criterion=BOX, horizon=horizon)(problem)
    assert one.outcome == found.outcome[0]
    np.testing.assert_allclose(one.x, found.x[0], atol=1e-6)
    assert one.loss == pytest.approx(0.5 * np.sum((problem["matrix"] @ one.x - problem["target"]) ** 2))
