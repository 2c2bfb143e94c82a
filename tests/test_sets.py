"""Sets and penalties: projections against independent solvers, derivatives, losses, infeasible starts, bad input."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse
from scipy.optimize import brentq

import loa
from loa import sets

RANDOM = np.random.default_rng(0)
MATRIX, RIGHT = RANDOM.normal(size=(2, 7)), RANDOM.normal(size=2)
LOWER = RANDOM.normal(size=7) - 1.0
LABELS = np.array([0, 1, 0, 2, 2, 1, 0])


def conic(clarabel, x, rows, right, cones, linear=None, extra=0):
    """argmin ½‖z - x‖² + linear·s over (z, s) with right - rows (z, s) in the cones, by an interior-point method."""
    n = len(x) + extra
    quadratic = scipy.sparse.csc_matrix(np.diag(np.r_[np.ones(len(x)), np.zeros(extra)]))
    cost = np.r_[-x, np.zeros(extra) if linear is None else linear]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-15
    settings.tol_ktratio = 1e-12
    solved = clarabel.DefaultSolver(quadratic, cost, scipy.sparse.csc_matrix(rows), right, cones, settings).solve()
    assert len(solved.x) == n
    return np.asarray(solved.x)[: len(x)]


def bisected(x, total):
    """The projection onto the simplex, whose level is the root of a monotone function."""
    level = brentq(lambda level: np.maximum(x - level, 0).sum() - total, x.min() - total, x.max(), xtol=1e-16)
    return np.maximum(x - level, 0.0)


def onto_l1_ball(x, radius):
    if np.abs(x).sum() <= radius:
        return x
    level = brentq(lambda level: np.maximum(np.abs(x) - level, 0).sum() - radius, 0.0, np.abs(x).max(), xtol=1e-16)
    return np.sign(x) * np.maximum(np.abs(x) - level, 0.0)


def onto_affine(x):
    return x - MATRIX.T @ np.linalg.lstsq(MATRIX @ MATRIX.T, MATRIX @ x - RIGHT, rcond=None)[0]


def shrunk_groups(x, threshold):
    out = np.zeros_like(x)
    for label, weight in enumerate((1.0, 0.5, 2.0)):
        own = x[label == LABELS]
        length = np.linalg.norm(own)
        out[label == LABELS] = own * max(1.0 - threshold * weight / length, 0.0)
    return out


def dual_total_variation(x, threshold):
    """x - Dᵀu where u solves the dual, a box-constrained least-squares problem, by projected Newton steps."""
    differences = np.diff(np.eye(len(x)), axis=0)
    u, gram, right = np.zeros(len(x) - 1), differences @ differences.T, differences @ x
    for _ in range(200):
        gradient = gram @ u - right
        fixed = ((u >= threshold) & (gradient < 0)) | ((u <= -threshold) & (gradient > 0))
        step = np.zeros_like(u)
        free = ~fixed
        step[free] = np.linalg.solve(gram[np.ix_(free, free)], -gradient[free])
        rates = [0.5**k for k in range(40)]
        costs = [
            0.5 * np.sum((x - differences.T @ np.clip(u + rate * step, -threshold, threshold)) ** 2) for rate in rates
        ]
        u = np.clip(u + rates[int(np.argmin(costs))] * step, -threshold, threshold)
    return x - differences.T @ u


def singular_values_shrunk(x, threshold, by_columns=False):
    left, values, right = np.linalg.svd(x.reshape(4, 3), full_matrices=False)
    return ((left * np.maximum(values - threshold, 0.0)) @ right).ravel(order="F" if by_columns else "C")


STEP = 0.7
CASES = {
    "box": (sets.Box(LOWER, 0.5), (7,), lambda x: np.minimum(np.maximum(x, LOWER), 0.5)),
    "half-open box": (sets.Box(-np.inf, 0.5), (7,), lambda x: np.minimum(x, 0.5)),
    "non-negative": (sets.NonNegative(), (7,), lambda x: np.where(x > 0, x, 0.0)),
    "simplex": (sets.Simplex(2.0), (7,), lambda x: bisected(x, 2.0)),
    "simplex of a matrix": (sets.Simplex(), (2, 3), lambda x: bisected(x, 1.0)),
    "ball": (sets.Ball(1.5, LOWER), (7,), lambda x: LOWER + (x - LOWER) * min(1, 1.5 / np.linalg.norm(x - LOWER))),
    "l1 ball": (sets.L1Ball(1.5), (7,), lambda x: onto_l1_ball(x, 1.5)),
    "affine": (sets.Affine(MATRIX, RIGHT), (7,), onto_affine),
    "l1 norm": (sets.L1Norm(0.8), (7,), lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.8 * STEP, 0.0)),
    "group norm": (sets.GroupNorm([1.0, 0.5, 2.0], groups=LABELS), (7,), lambda x: shrunk_groups(x, STEP)),
    "nuclear norm": (sets.NuclearNorm(0.9), (4, 3), lambda x: singular_values_shrunk(x, 0.9 * STEP)),
    "wide nuclear norm": (
        sets.NuclearNorm(0.9), (3, 4), lambda x: singular_values_shrunk(x.reshape(3, 4).T, 0.9 * STEP, by_columns=True),
    ),
    "total variation": (sets.TotalVariation(0.6), (12,), lambda x: dual_total_variation(x, 0.6 * STEP)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_proximal_mapping_agrees_with_an_independent_one(name):
    term, shape, reference = CASES[name]
    points = 2.0 * RANDOM.normal(size=(50, *shape))
    found = np.asarray(jax.jit(jax.vmap(lambda x: term.prox(x, STEP)))(points))
    wanted = np.stack([reference(x.ravel()) for x in points]).reshape(points.shape)
    np.testing.assert_allclose(found, wanted, atol=1e-10)


@pytest.mark.parametrize("name", CASES)
def test_a_derivative_is_that_of_finite_differences_in_both_modes(name):
    term, shape, _ = CASES[name]
    x, move, pull = (2.0 * RANDOM.normal(size=shape) for _ in range(3))

    @jax.jit
    def derivatives(x, move, pull):
        def mapping(x, step_size):
            return term.prox(x, step_size)

        _, forward = jax.jvp(mapping, (x, STEP), (move, 0.3))
        _, linear = jax.linearize(lambda x: mapping(x, STEP), x)
        backward = jax.vjp(lambda x: mapping(x, STEP), x)[1](pull)[0]
        ahead, behind = mapping(x + 1e-6 * move, STEP + 3e-7), mapping(x - 1e-6 * move, STEP - 3e-7)
        return forward, (ahead - behind) / 2e-6, jnp.sum(linear(move) * pull), jnp.sum(backward * move)

    forward, difference, one, other = derivatives(x, move, pull)
    np.testing.assert_allclose(forward, difference, atol=1e-8)
    np.testing.assert_allclose(one, other, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_what_was_projected_is_inside_and_what_moved_was_outside(name):
    term, shape, _ = CASES[name]
    if not isinstance(term, sets.Set):
        return
    points = 3.0 * RANDOM.normal(size=(20, *shape))
    projected = jax.vmap(term.project)(points)
    moved = np.abs(projected - points).reshape(20, -1).max(axis=1) > 1e-9
    assert moved.any()
    assert (jax.vmap(term.value)(projected) == 0).all()
    np.testing.assert_array_equal(jax.vmap(term.value)(points) == np.inf, moved)
    np.testing.assert_array_equal(jax.vmap(term.violation)(points) > 0, moved)


def test_cones_of_an_interior_point_method_agree_as_well():
    """Clarabel knows none of the formulas; it reaches about 1e-9."""
    clarabel = pytest.importorskip("clarabel")
    x = 2.0 * RANDOM.normal(size=7)
    both = np.vstack([np.ones(7), -np.eye(7)])
    simplex = conic(clarabel, x, both, np.r_[1.0, np.zeros(7)], [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(7)])
    np.testing.assert_allclose(sets.Simplex().project(jnp.asarray(x)), simplex, atol=1e-7)
    ball = conic(
        clarabel, x, np.vstack([np.zeros(7), -np.eye(7)]), np.r_[1.0, np.zeros(7)], [clarabel.SecondOrderConeT(8)]
    )
    np.testing.assert_allclose(sets.Ball().project(jnp.asarray(x)), ball, atol=1e-7)
    differences = np.diff(np.eye(7), axis=0)
    rows = np.block([[differences, -np.eye(6)], [-differences, -np.eye(6)]])
    smooth = conic(clarabel, x, rows, np.zeros(12), [clarabel.NonnegativeConeT(12)], np.full(6, 0.5), extra=6)
    np.testing.assert_allclose(sets.TotalVariation(0.5).prox(jnp.asarray(x), 1.0), smooth, atol=1e-7)


@pytest.mark.parametrize("length", [1, 2, 40])
def test_total_variation_of_long_and_short_signals_satisfies_the_optimality_conditions(length):
    """x - prox = Dᵀu, where |u| ≤ λ, with equality and the sign of the jump wherever there is one."""
    signals = np.cumsum(RANDOM.normal(size=(200, length)) * RANDOM.integers(0, 2, size=(200, length)), axis=1)
    found = np.asarray(jax.jit(jax.vmap(lambda x: sets.TotalVariation(0.9).prox(x, 1.0)))(signals))
    dual = -np.cumsum(signals - found, axis=1)
    np.testing.assert_allclose(dual[:, -1], 0.0, atol=1e-10)
    jumps = np.diff(found, axis=1)
    assert (np.abs(dual) <= 0.9 + 1e-10).all()
    there = np.abs(jumps) > 1e-9
    np.testing.assert_allclose(dual[:, :-1][there], 0.9 * np.sign(jumps[there]), atol=1e-10)


def test_singular_values_that_coincide_have_a_derivative():
    """A rotation times 2 has one singular value, twice; shrinking it scales the matrix."""
    turn = jnp.array([[0.6, -0.8], [0.8, 0.6]])
    slope = jax.jacfwd(lambda x: sets.NuclearNorm().prox(x, 1.0))(2.0 * turn).reshape(4, 4)
    assert np.isfinite(slope).all()
    np.testing.assert_allclose(slope @ turn.ravel(), turn.ravel(), atol=1e-12)


class Fitting(loa.ProblemClass):
    """Least distance to a point, subject to a constraint, from a start that is far outside."""

    constraint = sets.Product({"share": sets.Simplex(), "free": None, "bounded": sets.Box(-1.0, 1.0)})

    def sample(self, key):
        share, free, bounded = (2.0 * jax.random.normal(one, (3,)) for one in jax.random.split(key, 3))
        return {"share": share, "free": free, "bounded": bounded}

    def smooth(self, x, problem):
        return sum(0.5 * jnp.sum((x[name] - problem[name]) ** 2) for name in problem)

    def smoothness(self, problem):
        return jnp.asarray(1.0)

    def start(self, problem, key):
        return {name: jnp.full(3, 9.0) for name in problem}

    def optimal_loss(self, problem):
        return self.smooth(self.prox(problem, 1.0, problem), problem)


def test_loss_prox_and_residual_follow_and_an_infeasible_start_is_no_divergence():
    problem_class = Fitting()
    problems = problem_class.draw(jax.random.key(0), 20)
    functionals = [loa.StoppingTime(), loa.ContractionFactor(), loa.ConvergenceRate(), loa.Gap(0), loa.LargestGap()]
    performance = loa.evaluate(
        loa.ProximalGradient(0.5), problem_class, problems, criterion=loa.prox_residual_below(1e-9), horizon=60,
        key=jax.random.key(1), functionals=functionals,
    )  # fmt: skip
    assert (performance.outcome == "solved").all()
    assert (performance["stopping_time"] > 1).all()
    assert (performance["gap_0"] == np.inf).all()
    assert (performance["contraction_factor"] == 0).all()
    assert np.isfinite(performance["convergence_rate"]).all()


class Standing(loa.Algorithm):
    def init(self, oracle, x0):
        return x0

    def step(self, oracle, state, key):
        return state


def test_an_infinite_loss_that_stays_infinite_is_exhausted_and_contracts_by_1():
    performance = loa.evaluate(
        Standing(), Fitting(), Fitting().draw(jax.random.key(0), 3), criterion=loa.prox_residual_below(1e-9), horizon=5,
        key=jax.random.key(1), functionals=[loa.ContractionFactor(), loa.ConvergenceRate()],
    )  # fmt: skip
    assert (performance.outcome == "exhausted").all()
    assert (performance["contraction_factor"] == 1).all()
    assert (performance["convergence_rate"] == 1).all()


def test_a_constraint_may_depend_on_the_problem_or_be_a_field():
    class Bounded(Fitting):
        constraint: sets.Term = sets.Box(0.0, 1.0)

    class Own(Fitting):
        def constraint(self, problem):
            return sets.Ball(jnp.sum(problem))

    problem = jnp.array([0.3, 0.4])
    assert Bounded(sets.Box(2.0, 3.0)).prox(problem, 1.0, problem).tolist() == [2.0, 2.0]
    assert jnp.linalg.norm(Own().prox(9.0 * problem, 1.0, problem)) == pytest.approx(0.7)
    assert Own().has("prox")
    assert not Own().defines("prox")


@pytest.mark.parametrize("term", [sets.NonNegative(), sets.Box(-1.0, 0.5), sets.L1Norm(0.3)], ids=repr)
def test_what_holds_for_each_coordinate_holds_for_all_arrays_of_a_pytree(term):
    class InParts(Fitting):
        constraint: sets.Term = sets.NonNegative()

        def smooth(self, x, problem):
            return 0.5 * (jnp.sum((x["a"] - problem) ** 2) + jnp.sum((x["b"] + problem) ** 2))

        def start(self, problem, key):
            return {"a": jnp.zeros(2), "b": jnp.zeros((1, 2))}

    problem, other = jnp.array([2.0, -3.0]), InParts(term)
    point = {"a": problem, "b": -problem[None]}
    vector, sizes = jnp.concatenate([problem, -problem]), {"a": jnp.array([0.5, 1.0]), "b": jnp.array([[1.0, 2.0]])}
    for step_size, flat in ((0.5, 0.5), (sizes, jnp.array([0.5, 1.0, 1.0, 2.0]))):
        moved = other.prox(point, step_size, problem)
        assert jnp.concatenate([moved["a"], moved["b"][0]]).tolist() == term.prox(vector, flat).tolist()
    assert other.loss(point, problem) == term.value(vector)
    assert term.at(point).violation(point) == term.violation(vector)
    performance = loa.evaluate(
        loa.FISTA(), other, problem[None], criterion=loa.prox_residual_below(1e-9), horizon=50, key=jax.random.key(0)
    )
    assert (performance.outcome == "solved").all()


def test_a_set_that_mixes_coordinates_asks_for_a_product_where_points_are_pytrees():
    class Mixed(Fitting):
        constraint: sets.Term = sets.Simplex()

    with pytest.raises(
        ValueError, match="Simplex is about points that are arrays, got a dict: say what holds for each"
    ):
        Mixed().loss({"a": jnp.ones(2)}, {"a": jnp.ones(2)})


BAD = {
    "an empty box": (lambda: sets.Box([0.0, 2.0], 1.0), "a Box needs lower ≤ upper, but 2 > 1 at index [1]."),
    "bounds that do not fit each other": (lambda: sets.Box([0.0, 2.0], np.ones(3)), "must have shapes that fit"),
    "NaN": (lambda: sets.Box(np.nan, 1.0), "lower must be a number or an array of numbers, but there is NaN in it."),
    "text": (lambda: sets.Box("a", 1.0), "lower must be an array of real numbers, got 'a'."),
    "a negative radius": (lambda: sets.Ball(-1.0), "radius must be positive and finite, got -1."),
    "a negative weight": (lambda: sets.L1Norm([1.0, -1.0]), "weight must be non-negative and finite, got -1."),
    "rows": (lambda: sets.Affine(np.ones((2, 3)), [1.0]), "each of its rows, got shapes (2, 3) and (1,)."),
    "dependent rows": (lambda: sets.Affine(np.ones((2, 3)), 1.0), "must be linearly independent, but they are not."),
    "groups": (lambda: sets.GroupNorm(1.0, groups=0.5), "groups must be the size of a group"),
    "groups of unequal sizes": (lambda: sets.GroupNorm(1.0, groups=[[0, 1], [2]]), "got [[0, 1], [2]]."),
    "groups as lists of coordinates": (
        lambda: sets.GroupNorm(1.0, groups=[[0, 1], [2, 3]]).prox(jnp.ones(4), 1.0),
        "has numbers of groups in the shape (2, 2), which does not fit points of shape (4,).",
    ),
    "no term": (lambda: sets.Product((1.0,)), "a part of a Product must be a set or penalty of loa.sets, or None"),
    "bounds and a point": (
        lambda: sets.Box(np.zeros(2), 1.0).project(jnp.zeros(3)),
        "lower of Box has shape (2,), which does not fit points of shape (3,)",
    ),
    "columns": (lambda: sets.Affine(MATRIX, RIGHT).project(jnp.zeros(3)), "has 7 columns, but points have 3 entries."),
    "a dictionary": (lambda: sets.Box(0.0, 1.0).project({"a": jnp.zeros(3)}), "got a dict: say what holds for each of"),
    "other parts": (
        lambda: sets.Product({"a": sets.Simplex()}).prox({"b": jnp.zeros(3)}, 1.0),
        "the parts of a Product must have the form of a point",
    ),
    "no matrix": (lambda: sets.NuclearNorm().prox(jnp.zeros(3), 1.0), "but points have shape (3,)."),
    "no vector": (lambda: sets.TotalVariation().prox(jnp.zeros((3, 2)), 1.0), "but points have shape (3, 2)."),
    "step sizes": (lambda: sets.Simplex().prox(jnp.zeros(3), jnp.ones(3)), "takes one step size, not one for each."),
}  # fmt: skip


@pytest.mark.wrong_types
@pytest.mark.parametrize("case", BAD)
def test_bad_input_gets_one_sentence(case):
    make, sentence = BAD[case]
    with pytest.raises((TypeError, ValueError)) as caught:
        make()
    assert sentence in str(caught.value)
    assert str(caught.value).count(". ") == 0


def evaluated(problem_class):
    problems = problem_class.draw(jax.random.key(0), 2)
    options = {"criterion": loa.loss_below(1e-3), "horizon": 1, "key": jax.random.key(0)}
    return loa.evaluate(loa.ProximalGradient(1.0), problem_class, problems, **options)


def test_a_class_with_a_constraint_and_a_prox_is_refused():
    class Twice(Fitting):
        def prox(self, x, step_size, problem):
            return x

    with pytest.raises(TypeError, match=r"Twice has a constraint and a prox, which say the same"):
        evaluated(Twice())


def test_a_constraint_that_is_none_is_refused():
    class Odd(Fitting):
        constraint = (0.0, 1.0)

    with pytest.raises(TypeError, match=r"Odd.constraint must be one of loa.sets, such as"):
        evaluated(Odd())


def test_a_box_that_is_empty_on_a_problem_is_named_and_also_before_a_run(tmp_path):
    class Empty(Fitting):
        def sample(self, key):
            return jax.random.uniform(key, (2,))

        def start(self, problem, key):
            return jnp.zeros(2)

        def smooth(self, x, problem):
            return jnp.sum((x - problem) ** 2)

        def constraint(self, problem):
            return sets.Box(problem, 0.5)

    with pytest.warns(UserWarning, match=r"\d+ problems diverged, first problem \d+: a Box needs lower ≤ upper"):
        performance = evaluated(Empty())
    from loa.experiments.from_file.rehearsal import _check_problems

    assert (performance.outcome[:, 0] == "diverged").any()
    with pytest.raises(ValueError, match="a Box needs lower ≤ upper"):
        _check_problems(Empty(), loa.loss_below(1e-3))
