"""Classical algorithms: each step by step against an independent implementation, and a contract for all of them."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import scipy.optimize
from classes import LeastSquares

import loa
from loa.algorithms.lbfgs import Memory
from loa.algorithms.line_search import Found
from loa.problems.oracle import Calls
from loa.trajectory import walk

KEY = jax.random.key(11)


class Ellipsoids(loa.ProblemClass):
    """Quadratics with dense matrices and condition numbers around 100."""

    def sample(self, key):
        matrix_key, target_key = jax.random.split(key)
        rotation = jnp.linalg.qr(jax.random.normal(matrix_key, (8, 8)))[0]
        return (rotation * jnp.logspace(-1, 1, 8)) @ rotation.T, jax.random.normal(target_key, (8,))

    def loss(self, x, problem):
        matrix, target = problem
        return 0.5 * x @ matrix @ x - target @ x

    def start(self, problem, key):
        return jnp.ones(8)


class Cups(loa.ProblemClass):
    """A smooth convex loss on points of any shape, with its minimum 0 at 1."""

    shape: tuple = eqx.field(static=True, default=(5,))
    dtype: str = eqx.field(static=True, default="float64")

    def sample(self, key):
        return 10.0 ** jax.random.uniform(key, self.shape, self.dtype, minval=-1.0, maxval=1.0)

    def loss(self, x, problem):
        return jnp.sum(problem * (jnp.sqrt(1 + (x - 1) ** 2) - 1))

    def smooth(self, x, problem):
        return self.loss(x, problem)

    def stochastic_loss(self, x, problem, key):
        return self.loss(x, problem) * jax.random.uniform(key, dtype=self.dtype, minval=0.5, maxval=1.5)

    def start(self, problem, key):
        return 1 + jax.random.normal(key, self.shape, self.dtype)

    def prox(self, x, step_size, problem):
        return x

    def smoothness(self, problem):
        return jnp.max(problem)


class Rosenbrocks(loa.ProblemClass):
    def sample(self, key):
        return jax.random.uniform(key, minval=10.0, maxval=100.0)

    def loss(self, x, problem):
        return jnp.sum(problem * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    def start(self, problem, key):
        return jax.random.uniform(key, (10,), minval=-1.0, maxval=1.0)


class Regressions(loa.ProblemClass):
    """Logistic regressions with a little regularization."""

    def sample(self, key):
        return 3 * jax.random.normal(key, (40, 20))

    def loss(self, x, problem):
        return jnp.mean(jax.nn.softplus(problem @ x - 1.0)) + 1e-3 * jnp.sum(x**2)

    def start(self, problem, key):
        return jax.random.normal(key, (20,))


class Undefined(loa.ProblemClass):
    """The loss is not a number except at the start, although there is a gradient."""

    def sample(self, key):
        return jnp.ones(())

    def loss(self, x, problem):
        return jnp.where(jnp.all(x == 2.0), 1.0, jnp.nan)

    def gradient(self, x, problem):
        return jnp.ones_like(x)

    def start(self, problem, key):
        return jnp.full(3, 2.0)


@eqx.filter_jit
def run(algorithm, problem_class, problem, x0, steps, key=KEY):
    """Iterates and oracle calls at times 0 … steps, for one problem."""
    oracle = loa.Oracle(problem_class, problem)
    state = algorithm.init(oracle, x0)

    def body(carry, step_key):
        state, calls = carry
        oracle = loa.Oracle(problem_class, problem, calls)
        after = algorithm.step(oracle, state, step_key)
        return (after, oracle.calls), (algorithm.iterate(after), oracle.calls)

    _, rest = jax.lax.scan(body, (state, oracle.calls), jax.random.split(key, steps))
    first = (algorithm.iterate(state), oracle.calls)
    return jax.tree.map(lambda one, many: jnp.concatenate([one[None], many]), first, rest)


def start(problem_class, seed=0):
    problem = problem_class.sample(jax.random.key(seed))
    return problem, problem_class.start(problem, jax.random.key(seed + 100))


def start_key(index):
    """What a start is drawn with on problem number `index` in `loa.trajectories` and `loa.evaluate`, under `KEY`."""
    return walk.start_key(walk.trajectory_key(KEY, index))


def gradient_of(problem_class, problem):
    gradient = jax.jit(lambda x: problem_class.gradient(x, problem))
    return lambda x: np.asarray(gradient(jnp.asarray(x)))


# Step by step


def accelerated(x, gradient, step, prox=lambda x: x, momentum=None, restart=False, steps=60):
    """Nesterov's method and FISTA in NumPy; also the number of restarts."""
    y, t, points, restarts = x, 1.0, [x], 0
    for _ in range(steps):
        new = prox(y - step * gradient(y))
        t_new = (1 + np.sqrt(1 + 4 * t * t)) / 2
        beta = (t - 1) / t_new if momentum is None else momentum
        if restart and np.vdot(y - new, new - x) > 0:
            beta, t_new, restarts = 0.0, 1.0, restarts + 1
        y, x, t = new + beta * (new - x), new, t_new
        points.append(x)
    return np.stack(points), restarts


def affine(problem_class):
    """The same class, saying that its gradient is affine."""
    kind = type(problem_class)
    return type(f"Affine{kind.__name__}", (kind,), {"affine_gradient": True})()


@pytest.mark.parametrize("momentum", [None, 0.8])
@pytest.mark.parametrize("problem_class", [Ellipsoids(), affine(Ellipsoids())])
def test_nesterov(momentum, problem_class):
    problem, x0 = start(problem_class)
    expected, _ = accelerated(np.asarray(x0), gradient_of(problem_class, problem), 0.08, momentum=momentum)
    points, _ = run(loa.NesterovAcceleratedGradient(0.08, momentum), problem_class, problem, x0, 60)
    np.testing.assert_allclose(points, expected, rtol=1e-9, atol=1e-12)


def soft_threshold(step):
    return lambda x: np.sign(x) * np.maximum(np.abs(x) - step, 0.0)


@pytest.mark.parametrize("restart", [True, False])
@pytest.mark.parametrize("problem_class", [LeastSquares(), affine(LeastSquares())])
def test_fista(restart, problem_class):
    problem, x0 = start(problem_class)
    gradient = gradient_of(problem_class, problem)
    expected, restarts = accelerated(np.asarray(x0), gradient, 0.1, soft_threshold(0.1), restart=restart)
    assert (restarts > 1) == restart
    points, _ = run(loa.FISTA(0.1, restart), problem_class, problem, x0, 60)
    np.testing.assert_allclose(points, expected, rtol=1e-9, atol=1e-12)


def test_proximal_gradient():
    problem_class = LeastSquares()
    problem, x0 = start(problem_class)
    gradient, expected = gradient_of(problem_class, problem), [np.asarray(x0)]
    for _ in range(40):
        expected.append(soft_threshold(0.1)(expected[-1] - 0.1 * gradient(expected[-1])))
    points, _ = run(loa.ProximalGradient(0.1), problem_class, problem, x0, 40)
    np.testing.assert_allclose(points, np.stack(expected), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", [loa.NesterovAcceleratedGradient, loa.ProximalGradient, loa.FISTA])
def test_the_default_step_size_is_one_over_the_smoothness_of_each_problem(kind):
    problem_class = LeastSquares()
    problems = problem_class.draw(KEY, 3)
    default = loa.trajectories(kind(), problem_class, problems, horizon=10, key=KEY).iterates
    for index in range(3):
        one = jax.tree.map(lambda leaf, index=index: leaf[index : index + 1], problems)
        step = 1 / problem_class.smoothness(jax.tree.map(lambda leaf: leaf[0], one))
        x0 = problem_class.start(None, start_key(index))
        points, _ = run(kind(step), problem_class, jax.tree.map(lambda leaf: leaf[0], one), x0, 10)
        np.testing.assert_allclose(default[index, 0], points, rtol=1e-9, atol=1e-12)


def test_without_a_smoothness_constant_a_step_size_must_be_given():
    with pytest.raises(TypeError, match="Ellipsoids has no smoothness constant"):
        run(loa.NesterovAcceleratedGradient(), Ellipsoids(), *start(Ellipsoids()), 1)


@pytest.mark.parametrize("stochastic", [True, False])
def test_adam(stochastic):
    """Against optax's, with the same randomness."""
    problem_class = LeastSquares()
    problem, x0 = start(problem_class)
    adam = optax.adam(0.05, b1=0.8, b2=0.95, eps=1e-3)
    inner, x, expected = adam.init(x0), x0, [x0]
    loss = problem_class.stochastic_loss if stochastic else lambda x, problem, key: problem_class.loss(x, problem)

    @jax.jit
    def step(x, inner, key):
        update, inner = adam.update(jax.grad(loss)(x, problem, key), inner)
        return x + update, inner

    for key in jax.random.split(KEY, 30):
        x, inner = step(x, inner, key)
        expected.append(x)
    points, _ = run(loa.Adam(0.05, 0.8, 0.95, 1e-3, stochastic), problem_class, problem, x0, 30)
    np.testing.assert_allclose(points, jnp.stack(expected), rtol=1e-9, atol=1e-12)


def test_adam_can_be_learned_where_gradients_vanish():
    def after(adam):
        return run(adam, Cups(), jnp.zeros(5), jnp.zeros(5), 3)[0][-1].sum()

    learned = eqx.filter_grad(after)(loa.Adam(0.1))
    assert all(jnp.isfinite(leaf) for leaf in jax.tree.leaves(learned))


@pytest.mark.parametrize("seed", range(3))
def test_conjugate_gradient_is_the_linear_method_on_quadratics(seed):
    problem_class = Ellipsoids()
    problem, x0 = start(problem_class, seed)
    matrix, target = (np.asarray(part) for part in problem)
    x = np.asarray(x0)
    residual = target - matrix @ x
    direction, expected = residual, [x]
    for _ in range(7):
        step = residual @ residual / (direction @ matrix @ direction)
        x, before = x + step * direction, residual @ residual
        residual = residual - step * matrix @ direction
        direction = residual + residual @ residual / before * direction
        expected.append(x)
    points, _ = run(loa.ConjugateGradient(), problem_class, problem, x0, 8)
    np.testing.assert_allclose(points[:8], np.stack(expected), rtol=0, atol=1e-7)
    np.testing.assert_allclose(points[8], np.linalg.solve(matrix, target), rtol=0, atol=1e-7)


def dense_bfgs(pairs, gradient, scale):
    """-Hg by the definition of H."""
    inverse_hessian, identity = scale * np.eye(gradient.size), np.eye(gradient.size)
    for s, y in pairs:
        rho = 1 / (s @ y)
        left = identity - rho * np.outer(s, y)
        inverse_hessian = left @ inverse_hessian @ left.T + rho * np.outer(s, s)
    return -inverse_hessian @ gradient


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_direction_of_lbfgs_is_that_of_the_dense_matrix(dtype):
    """Also with fewer pairs than there is room for, with more, with bad ones, and after a search that failed."""

    @eqx.filter_jit
    def after(memory, s, y, gradient, found):
        memory = memory.after(s, y, gradient, found)
        return memory, memory.direction(gradient)

    rng = np.random.default_rng(0)
    curvature = np.diag(rng.uniform(0.5, 2.0, 12))
    gradient = rng.normal(size=12)
    memory, pairs, scale = Memory.empty(4, jnp.asarray(gradient, dtype)), [], 1 / np.linalg.norm(gradient)
    for time in range(14):
        s = 0.0 * gradient if time == 9 else rng.normal(size=12)
        y = -s if time == 6 else curvature @ s
        before, gradient = gradient, gradient + y
        step, slopes = float(time != 9), (s @ before, s @ gradient)
        if time == 9:
            pairs, scale = [], 1 / np.linalg.norm(gradient)
        elif time != 6:
            pairs, scale = [*pairs, (s, y)][-4:], s @ y / (y @ y)
        numbers = (jnp.asarray(number, dtype) for number in (step, 0.0, slopes[1], s, gradient, slopes[0]))
        found = Found(*numbers)
        memory, direction = after(memory, *(jnp.asarray(vector, dtype) for vector in (s, y, gradient)), found)
        expected = dense_bfgs(pairs, gradient, scale)
        tolerance = 1e-3 if dtype == "float32" else 1e-10
        np.testing.assert_allclose(direction, expected, rtol=0, atol=tolerance * np.linalg.norm(expected))


@pytest.mark.parametrize("problem_class", [Rosenbrocks(), Regressions()], ids=["rosenbrock", "logistic"])
def test_steps_of_lbfgs(problem_class):
    """Along the direction of the dense matrix of the last five pairs, to a point with the strong Wolfe conditions."""
    problem, x0 = start(problem_class)
    points = np.asarray(run(loa.LBFGS(memory=5), problem_class, problem, x0, 20)[0])
    value_and_gradient = jax.jit(jax.vmap(jax.value_and_grad(problem_class.loss), in_axes=(0, None)))
    losses, gradients = map(np.asarray, value_and_gradient(points, problem))
    pairs, scale, ones = [], 1.0, 0
    for time in range(20):
        s, y = points[time + 1] - points[time], gradients[time + 1] - gradients[time]
        direction = dense_bfgs(pairs, gradients[time], scale)
        step = (s @ direction) / (direction @ direction)
        np.testing.assert_allclose(s, step * direction, rtol=0, atol=1e-7 * np.linalg.norm(s))
        slope, new_slope = gradients[time] @ direction, gradients[time + 1] @ direction
        assert losses[time + 1] <= losses[time] + 1e-4 * step * slope
        assert abs(new_slope) <= 0.9 * abs(slope)
        ones += bool(np.isclose(step, 1.0, rtol=1e-6))
        pairs, scale = [*pairs, (s, y)][-5:], s @ y / (y @ y)
    assert ones >= 12, "most first trials are accepted"


def scipys(value_and_gradient, problem, x0, tolerance):
    """Steps and oracle calls of SciPy's L-BFGS-B until the gradient is small."""

    def objective(x):
        return tuple(np.asarray(part) for part in value_and_gradient(x, problem))

    def stop(intermediate_result):
        if np.linalg.norm(objective(intermediate_result.x)[1]) < tolerance:
            raise StopIteration

    options = {"maxcor": 10, "ftol": 0.0, "gtol": 0.0}
    done = scipy.optimize.minimize(objective, x0, jac=True, method="L-BFGS-B", callback=stop, options=options)
    return done.nit, 2 * done.nfev


@pytest.mark.parametrize("problem_class", [Rosenbrocks(), Regressions()], ids=["rosenbrock", "logistic"])
def test_lbfgs_takes_as_many_steps_as_that_of_scipy(problem_class):
    problems, tolerance = problem_class.draw(KEY, 8), 1e-5
    starts = [problem_class.start(None, start_key(index)) for index in range(8)]
    ours = loa.evaluate(
        loa.LBFGS(), problem_class, problems, criterion=loa.gradient_norm_below(tolerance), horizon=500, key=KEY,
        functionals=[loa.StoppingTime(), loa.OracleCalls()],
    )  # fmt: skip
    assert (ours.outcome == "solved").all()
    value_and_gradient = jax.jit(jax.value_and_grad(problem_class.loss))
    steps, calls = np.transpose(
        [scipys(value_and_gradient, *each, tolerance) for each in zip(problems, starts, strict=True)]
    )
    assert ours["stopping_time"].mean() < 1.15 * np.mean(steps)
    assert ours["oracle_calls"].mean() < 1.15 * np.mean(calls)


@pytest.mark.parametrize("kind", [loa.LBFGS, loa.ConjugateGradient])
def test_line_search_continues_when_losses_are_equal_up_to_rounding(kind):
    """The loss of 1e6 hides changes below 1e-10 in float64; gradients do not."""
    problem_class = loa.FromFunctions(
        lambda key: jax.random.uniform(key, (6,), minval=0.1, maxval=2.0),
        lambda x, problem: 1e6 + jnp.sum(problem * (jnp.cosh(x) - 1)),
        start=jnp.ones(6),
    )
    problem, x0 = start(problem_class)
    points, _ = run(kind(), problem_class, problem, x0, 40)
    assert np.linalg.norm(gradient_of(problem_class, problem)(points[-1])) < 1e-9


# Oracle calls


def test_counts_per_step():
    problem_class = LeastSquares()
    problem, x0 = start(problem_class)
    expected = (
        (loa.NesterovAcceleratedGradient(0.1), Calls(0, 1, 0, 0, 0)),
        (loa.ProximalGradient(0.1), Calls(0, 1, 1, 0, 0)),
        (loa.FISTA(0.1), Calls(0, 1, 1, 0, 0)),
        (loa.Adam(0.1), Calls(0, 1, 0, 0, 0)),
        (loa.Adam(0.1, stochastic=True), Calls(0, 0, 0, 1, 0)),
        (loa.from_optax(optax.adam(0.1)), Calls(0, 1, 0, 0, 0)),
        (loa.from_optax(optax.sgd(0.1), stochastic=True), Calls(0, 0, 0, 1, 0)),
        (loa.ADMM(), Calls(0, 1, 1, 0, 0)),
        (loa.SemismoothNewton(frozen=True, descent=False), Calls(0, 1, 2, 0, 0)),
        (loa.SemismoothNewton(), Calls(1, 1, 2, 0, x0.size)),
        (loa.Newton(), Calls(1, 1, 0, 0, x0.size)),
    )
    for algorithm, per_step in expected:
        _, calls = run(algorithm, problem_class, problem, x0, 5)
        for counted, each in zip(calls, per_step, strict=True):
            np.testing.assert_array_equal(np.diff(counted), each)


def test_conjugate_gradient_asks_two_gradients_and_one_value_on_quadratics():
    _, calls = run(loa.ConjugateGradient(), Ellipsoids(), *start(Ellipsoids()), 7)
    np.testing.assert_array_equal(calls.gradient, 1 + 2 * np.arange(8))
    np.testing.assert_array_equal(calls.value, 1 + np.arange(8))


class Tallied(Rosenbrocks):
    """Keeps a tally of evaluations that are really made, when run without compilation."""

    tally: dict = eqx.field(static=True, default_factory=lambda: {"value": 0, "gradient": 0})

    def loss(self, x, problem):
        self.tally["value"] += 1
        return super().loss(x, problem)

    def gradient(self, x, problem):
        self.tally["gradient"] += 1
        return jax.grad(super().loss)(x, problem)


@pytest.mark.parametrize("algorithm", [loa.LBFGS(memory=3), loa.ConjugateGradient()], ids=["lbfgs", "cg"])
def test_a_line_search_is_charged_for_the_evaluations_it_makes(algorithm):
    problem_class = Tallied()
    problem, x0 = jnp.asarray(100.0), jnp.asarray([-1.2, 1.0])
    with jax.disable_jit():
        oracle = loa.Oracle(problem_class, problem)
        state = algorithm.init(oracle, x0)
        per_step = []
        for _ in range(5):
            before = int(sum(oracle.calls))
            state = algorithm.step(oracle, state, KEY)
            per_step.append(int(sum(oracle.calls)) - before)
    assert problem_class.tally == {"value": int(oracle.calls.value), "gradient": int(oracle.calls.gradient)}
    assert len(set(per_step)) > 1, "the number of trials varies"
    _, calls = run(algorithm, Rosenbrocks(), problem, x0, 5)
    np.testing.assert_array_equal(np.diff(sum(calls)), per_step)


# Transformations of optax


def by_hand(transformation, loss, x, steps):
    """The usual loop of optax."""
    inner, points = transformation.init(x), [x]

    @jax.jit
    def step(x, inner):
        value, gradient = jax.value_and_grad(loss)(x)
        update, inner = transformation.update(gradient, inner, x, value=value, grad=gradient, value_fn=loss)
        return optax.apply_updates(x, update), inner

    for _ in range(steps):
        x, inner = step(x, inner)
        points.append(x)
    return jnp.stack(points), inner


TRANSFORMATIONS = {
    "momentum": optax.sgd(1e-4, momentum=0.9),
    "chain": optax.chain(optax.clip_by_global_norm(1.0), optax.adam(optax.cosine_decay_schedule(0.1, 20))),
    "needs the value": optax.polyak_sgd(max_learning_rate=0.01),
    "line search": optax.chain(optax.scale(-1.0), optax.scale_by_backtracking_linesearch(30, store_grad=True)),
    "lbfgs": optax.lbfgs(memory_size=5),
}


@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_from_optax(name):
    transformation = optax.with_extra_args_support(TRANSFORMATIONS[name])
    problem_class = Rosenbrocks()
    problem, x0 = start(problem_class)
    expected, inner = by_hand(transformation, lambda x: problem_class.loss(x, problem), x0, 12)
    points, calls = run(loa.from_optax(TRANSFORMATIONS[name]), problem_class, problem, x0, 12)
    np.testing.assert_allclose(points, expected, rtol=1e-9)
    trials = optax.tree_utils.tree_get(inner, "num_linesearch_steps")
    values, gradients = calls.value[-1] - calls.value[-2], calls.gradient[-1] - calls.gradient[-2]
    if name == "lbfgs":
        assert (values, gradients) == (1 + trials, 1 + trials)
    elif name == "line search":
        assert (values, gradients) == (1 + trials, 2)
    else:
        assert (values, gradients) == (int(name == "needs the value"), 1)


@pytest.mark.wrong_types
def test_from_optax_refuses_what_it_cannot_do():
    with pytest.raises(TypeError, match="must be an optax"):
        loa.from_optax("adam")  # pyright: ignore
    with pytest.raises(TypeError, match="use stochastic=False"):
        run(loa.from_optax(optax.lbfgs(), stochastic=True), LeastSquares(), *start(LeastSquares()), 1)
    secretive = optax.GradientTransformationExtraArgs(
        lambda params: optax.EmptyState(),
        lambda updates, state, params=None, *, value_fn, **extra: (updates * value_fn(params), state),
    )
    with pytest.raises(TypeError, match="cannot be counted"):
        run(loa.from_optax(secretive), LeastSquares(), *start(LeastSquares()), 1)


# The contract

ALGORITHMS = {
    "safeguarded": loa.safeguard(loa.GradientDescent(0.05), loa.LBFGS()),
    "gradient descent": loa.GradientDescent(0.05),
    "heavy ball": loa.HeavyBall(0.05, 0.5),
    "nesterov": loa.NesterovAcceleratedGradient(0.05),
    "nesterov, strongly convex": loa.NesterovAcceleratedGradient(0.05, momentum=0.5),
    "barzilai-borwein": loa.BarzilaiBorwein(),
    "proximal gradient": loa.ProximalGradient(),
    "fista": loa.FISTA(),
    "fista without restart": loa.FISTA(restart=False),
    "conjugate gradient": loa.ConjugateGradient(),
    "lbfgs": loa.LBFGS(memory=4),
    "sgd": loa.SGD(0.05),
    "adam": loa.Adam(0.05),
    "stochastic adam": loa.Adam(0.05, stochastic=True),
    "problem-adaptive": loa.architectures.ProblemAdaptive(
        loa.HeavyBall(0.05, 0.5),
        [-3.0],
        [[0.0, 0.0, -0.01]],
        names=("step_size",),
        logarithmic=(True,),
        lowest=(-4.0,),
        highest=(-2.0,),
    ),
    "optax": loa.from_optax(optax.rmsprop(0.02)),
    "optax lbfgs": loa.from_optax(optax.lbfgs(memory_size=4)),
}


@pytest.mark.parametrize(
    ("shape", "dtype"), [((), "float64"), ((5,), "float32"), ((4, 3), "float64")], ids=["number", "single", "matrix"]
)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_contract(name, shape, dtype):
    """Points keep shape and precision, losses fall, same key same bits, solutions are kept, a batch is its members."""
    algorithm, problem_class = ALGORITHMS[name], Cups(shape, dtype)
    problem, x0 = start(problem_class)
    points, _ = run(algorithm, problem_class, problem, x0, 60)
    assert points.shape == (61, *shape)
    assert points.dtype == x0.dtype == dtype
    assert problem_class.loss(points[-1], problem) < 0.5 * problem_class.loss(x0, problem)
    again, _ = run(algorithm, problem_class, problem, x0, 60)
    np.testing.assert_array_equal(points, again)
    kept, _ = run(algorithm, problem_class, problem, jnp.ones(shape, dtype), 60)
    np.testing.assert_array_equal(kept, 1.0)
    if shape == (4, 3):
        problems = jnp.stack([problem, problem_class.sample(KEY)])
        batch, _ = jax.vmap(lambda problem: run(algorithm, problem_class, problem, x0, 20))(problems)
        np.testing.assert_allclose(batch[0, :20], points[:20], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", ["lbfgs", "conjugate gradient"])
def test_long_after_convergence_all_is_finite(name):
    problem_class = Cups()
    problem, x0 = start(problem_class)
    points, _ = run(ALGORITHMS[name], problem_class, problem, x0, 200)
    np.testing.assert_allclose(points[-1], 1.0, rtol=1e-7)


@pytest.mark.parametrize("name", ["lbfgs", "conjugate gradient"])
def test_line_search_where_the_loss_is_not_a_number(name):
    """Beyond the barrier of a logarithm it steps back; where everything is NaN it ends and stays."""
    barrier = loa.FromFunctions(
        lambda key: jax.random.uniform(key, (4,), minval=0.5, maxval=50.0),
        lambda x, problem: jnp.sum(problem * x - jnp.log(x)),
        start=jnp.full(4, 3.0),
    )
    problem, x0 = start(barrier)
    points, _ = run(ALGORITHMS[name], barrier, problem, x0, 60)
    np.testing.assert_allclose(points[-1], 1 / problem, rtol=1e-5)
    points, calls = run(ALGORITHMS[name], Undefined(), *start(Undefined()), 2)
    np.testing.assert_array_equal(points, 2.0)
    assert sum(calls)[-1] < 100


def test_lbfgs_refuses_parameters_out_of_range():
    with pytest.raises(ValueError, match="memory must be a whole number and at least 1, got 0"):
        loa.LBFGS(memory=0)
    with pytest.raises(ValueError, match=r"flatness must be between 0\.0001 and 1, got 1\.5"):
        loa.LBFGS(flatness=1.5)
