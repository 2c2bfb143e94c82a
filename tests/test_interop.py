"""Algorithms in SciPy, optax and PyTorch do what they do in loa."""

import io
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from classes import Bowls
from scipy import optimize
from scipy.optimize import minimize, rosen, rosen_der

import loa
from loa.problems.problem_class import MissingOracle

KEY = jax.random.key(0)
ALGORITHMS = [
    loa.GradientDescent(0.002),
    loa.HeavyBall(0.001, 0.5),
    loa.NesterovAcceleratedGradient(0.0005),
    loa.Adam(0.05),
    loa.ConjugateGradient(),
    loa.LBFGS(memory=4),
]
BY_NAME = dict(argvalues=ALGORITHMS, ids=lambda algorithm: type(algorithm).__name__)
START = np.array([-0.7, 1.1, 0.4])


def valley(x):
    """Rosenbrock's function in three dimensions, for JAX."""
    return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


PATHS = {}


def path(algorithm, steps):
    """The points of the algorithm on that function, as loa computes them; kept for the other libraries."""
    known = eqx.tree_pformat(algorithm, short_arrays=False), steps
    if known not in PATHS:
        problem_class = loa.FromFunctions(jax.random.uniform, lambda x, problem: valley(x), start=START)
        problems = problem_class.draw(KEY, 1)
        PATHS[known] = loa.trajectories(algorithm, problem_class, problems, horizon=steps, key=KEY).iterates[0, 0]
    return PATHS[known]


@pytest.mark.parametrize("algorithm", **BY_NAME)
def test_scipy_goes_the_same_way(algorithm):
    points, seen = path(algorithm, 15), []
    options = dict(maxiter=15, gtol=0.0)
    found = minimize(
        rosen, START, jac=rosen_der, method=loa.scipy_method(algorithm), callback=seen.append, options=options
    )
    np.testing.assert_allclose(seen, points[1:16], rtol=1e-8)
    np.testing.assert_allclose(found.x, points[15], rtol=1e-8)
    assert (found.nit, found.status, found.success) == (15, 1, False)
    assert found.fun == pytest.approx(rosen(found.x), rel=1e-12)


def test_scipy_finds_what_its_own_method_finds_with_as_many_values():
    x0 = np.full(10, 1.3)
    ours = minimize(rosen, x0, jac=rosen_der, method=loa.scipy_method(loa.LBFGS()))
    theirs = minimize(rosen, x0, jac=rosen_der, method="L-BFGS-B", options=dict(gtol=1e-5, ftol=0.0))
    assert ours.success
    assert np.abs(ours.jac).max() <= 1e-5
    np.testing.assert_allclose(ours.x, 1.0, atol=1e-5)
    assert ours.nfev <= 1.5 * theirs.nfev


def test_scipy_solves_a_problem_in_the_time_that_loa_measures():
    setting = loa.experiments.get("quadratics")
    problems = setting.draw("test", 0, 3)
    algorithm = loa.load("quadratics")
    times = loa.evaluate(
        algorithm, setting.problem_class, problems, criterion=setting.criterion, horizon=setting.horizon, key=KEY
    )["stopping_time"][:, 0]
    for number, time in enumerate(times):
        problem = jax.tree.map(lambda leaf, number=number: leaf[number], problems)
        both = jax.jit(jax.value_and_grad(lambda x, problem=problem: setting.problem_class.loss(x, problem)))
        start = setting.problem_class.start(problem, KEY)
        options = dict(maxiter=int(time), gtol=0.0)
        found = minimize(
            lambda x, both=both: tuple(map(np.asarray, both(x))), start, jac=True, method=loa.scipy_method(algorithm),
            options=options,
        )  # fmt: skip
        assert found.nit == time
        assert bool(setting.criterion(setting.problem_class, jnp.asarray(found.x), problem))


def test_scipy_without_a_gradient_with_arguments_and_tolerance():
    def bowl(x, center, width):
        return float(np.sum((x - center) ** 2) / width)

    method = loa.scipy_method(loa.LBFGS())
    found = minimize(bowl, [3.0, 4.0], args=(np.array([1.0, 2.0]), 2.0), method=method, tol=1e-4)
    np.testing.assert_allclose(found.x, [1.0, 2.0], atol=1e-4)
    assert found.success
    assert found.nfev > 2 * found.njev
    finer = minimize(rosen, START, jac=rosen_der, method=method, tol=1.0, options=dict(gtol=1e-8))
    assert np.abs(finer.jac).max() <= 1e-8


def test_scipy_is_in_double_precision_whatever_jax_is_set_to():
    with jax.enable_x64(False):
        method = loa.scipy_method(loa.LBFGS())
        found = minimize(rosen, [1.3, 0.7], jac=rosen_der, method=method, options=dict(gtol=1e-10))
        assert jnp.zeros(1).dtype == jnp.float32
    np.testing.assert_allclose(found.x, 1.0, rtol=1e-9)


def test_a_callback_of_either_kind_can_end_the_search():
    seen = []

    def callback(intermediate_result):
        seen.append(intermediate_result.fun)
        if len(seen) == 3:
            raise StopIteration

    found = minimize(rosen, START, jac=rosen_der, method=loa.scipy_method(loa.LBFGS()), callback=callback)
    assert (found.nit, found.status) == (3, 4)
    assert seen[-1] == found.fun


def test_searches_that_cannot_continue_say_so(capsys):
    def cliff(x):
        return np.where(x[0] < 0, np.nan, x[0])

    method = loa.scipy_method(loa.GradientDescent(0.4))
    nan = minimize(cliff, [1.0], jac=lambda x: np.where(x < 0, np.nan, 1.0), method=method, options=dict(disp=True))
    assert (nan.status, nan.success) == (2, False)
    assert nan.x == pytest.approx([0.2])
    assert "not a number" in capsys.readouterr().out
    lost = minimize(lambda x: np.nan if x[0] < 0 else x[0], [1.0], jac=np.ones_like, method=method)
    assert (lost.status, lost.success, lost.nit) == (2, False, 3)
    never = minimize(lambda x: np.inf, [1.0], jac=lambda x: 2 * x, method=method)
    assert (never.status, never.success) == (2, False)
    still = minimize(rosen, START, jac=rosen_der, method=loa.scipy_method(loa.GradientDescent(0.0)))
    assert (still.status, still.nit) == (3, 10)


@pytest.mark.wrong_types
def test_what_scipy_asks_for_in_vain_is_told():
    method = loa.scipy_method(loa.LBFGS())
    with pytest.raises(ValueError, match="LBFGS can handle neither bounds nor constraints"):
        minimize(rosen, START, jac=rosen_der, method=method, bounds=[(0, 1)] * 3)
    with pytest.warns(optimize.OptimizeWarning, match="LBFGS does not use maxcor"):
        minimize(rosen, START, jac=rosen_der, method=method, options=dict(maxcor=5))
    with pytest.raises(ValueError, match=r"must have the shape of x, \(3,\), got \(2,\)"):
        minimize(rosen, START, jac=lambda x: x[:2], method=method)
    with pytest.raises(MissingOracle, match="has no smoothness constant: use an algorithm that does not need"):
        minimize(rosen, START, jac=rosen_der, method=loa.scipy_method(loa.NesterovAcceleratedGradient()))
    for second_order in (loa.Newton(), loa.BFGS()):
        with pytest.raises(MissingOracle, match="has no Hessian: use an algorithm that does not need"):
            minimize(rosen, START, jac=rosen_der, method=loa.scipy_method(second_order))
    with pytest.raises(MissingOracle, match="this algorithm needs regularization, which"):
        minimize(rosen, START, jac=rosen_der, method=loa.scipy_method(loa.load("images")))
    with pytest.raises(TypeError, match="inside a loop or branch of JAX"):
        minimize(rosen, START, jac=rosen_der, method=loa.scipy_method(loa.from_optax(optax.lbfgs())))


@pytest.mark.parametrize("algorithm", **BY_NAME)
def test_optax_goes_the_same_way(algorithm):
    def loss(x):
        return valley(jnp.append(x["tail"], x["head"])[::-1])

    points, transformation = path(algorithm, 15), loa.to_optax(algorithm)
    x = {"head": jnp.asarray(START[0]), "tail": jnp.asarray(START[:0:-1])}

    @jax.jit
    def step(x, state):
        updates, state = transformation.update(jax.grad(loss)(x), state, x, value=loss(x), value_fn=loss)
        return optax.apply_updates(x, updates), state

    state = transformation.init(x)
    for point in points[1:]:
        x, state = step(x, state)
        np.testing.assert_allclose(jnp.append(x["tail"], x["head"])[::-1], point, rtol=1e-7)


@pytest.mark.parametrize("algorithm", ALGORITHMS[:2] + ALGORITHMS[3:4], ids=lambda algorithm: type(algorithm).__name__)
def test_there_and_back_again(algorithm):
    problem_class = Bowls()
    problems = problem_class.draw(KEY, 5)
    there = loa.trajectories(algorithm, problem_class, problems, horizon=20, key=KEY).iterates
    again = loa.from_optax(loa.to_optax(algorithm))
    back = loa.trajectories(again, problem_class, problems, horizon=20, key=KEY).iterates
    np.testing.assert_allclose(back, there, rtol=1e-9)


def test_optax_chains_and_keeps_single_precision():
    x, gradient = jnp.asarray(START, jnp.float32), jnp.full(3, 100.0, jnp.float32)
    chain = optax.chain(optax.clip(1.0), loa.to_optax(loa.GradientDescent(0.5)))
    updates, _ = chain.update(gradient, chain.init(x), x)
    np.testing.assert_allclose(updates, -0.5, rtol=1e-6)
    assert updates.dtype == jnp.float32


def test_stochastic_gradients_are_those_that_optax_is_given():
    x, gradient = jnp.asarray(START), jnp.asarray([1.0, -2.0, 3.0])
    transformation = loa.to_optax(loa.SGD(0.1))
    updates, _ = transformation.update(gradient, transformation.init(x), x)
    np.testing.assert_allclose(updates, -0.1 * gradient, rtol=1e-12)


def test_optax_hands_on_what_the_loss_takes_besides():
    def loss(x, batch):
        return jnp.sum((x - batch) ** 2)

    x, batch = jnp.zeros(2), jnp.asarray([1.0, 2.0])
    search = loa.to_optax(loa.LBFGS())
    state = search.init(x)

    @jax.jit
    def step(x, state, batch):
        gradient = jax.grad(loss)(x, batch)
        updates, state = search.update(gradient, state, x, grad=gradient, value_fn=loss, batch=batch)
        return optax.apply_updates(x, updates), state

    for _ in range(5):
        x, state = step(x, state, batch)
    np.testing.assert_allclose(x, batch, rtol=1e-6)


def test_what_optax_must_be_told_is_said():
    x = jnp.asarray(START)
    search = loa.to_optax(loa.LBFGS())
    state = search.init(x)
    with pytest.raises(ValueError, match="needs the parameters"):
        search.update(x, state)
    with pytest.raises(ValueError, match=r"LBFGS needs more than the gradient at this point: call update\(…, value"):
        search.update(x, state, x)
    with pytest.raises(ValueError, match=r"call update\(…, value_fn=…\)"):
        search.update(x, state, x, value=1.0)


def torch_point(torch, dtype="float64"):
    parts = (torch.tensor(part, dtype=getattr(torch, dtype)) for part in (START[:1], START[1:]))
    return tuple(map(torch.nn.Parameter, parts))


def torch_closure(torch, optimizer, parameters):
    def closure():
        optimizer.zero_grad()
        x = torch.cat(parameters)
        loss = torch.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
        loss.backward()
        return loss

    return closure


def torch_numbers(torch, parameters):
    return torch.cat(parameters).detach().numpy()


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


@pytest.mark.parametrize("algorithm", **BY_NAME)
def test_torch_goes_the_same_way(algorithm, torch):
    parameters = torch_point(torch)
    optimizer = loa.torch_optimizer(algorithm)(parameters)
    closure, points = torch_closure(torch, optimizer, parameters), path(algorithm, 15)
    losses = []
    for after in points[1:]:
        losses.append(optimizer.step(closure).item())
        np.testing.assert_allclose(torch_numbers(torch, parameters), after, rtol=1e-7)
    if type(algorithm) is not loa.NesterovAcceleratedGradient:  # which is nowhere but asks elsewhere
        np.testing.assert_allclose(losses, [rosen(point) for point in points[:-1]], rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_adam_is_that_of_torch(dtype, torch):
    ours, theirs = torch_point(torch, dtype), torch_point(torch, dtype)
    pairs = [(ours, loa.torch_optimizer(loa.Adam(0.01))(ours)), (theirs, torch.optim.Adam(theirs, lr=0.01))]
    for _ in range(30):
        for parameters, optimizer in pairs:
            torch_closure(torch, optimizer, parameters)()
            optimizer.step()
    np.testing.assert_allclose(torch_numbers(torch, ours), torch_numbers(torch, theirs), rtol=1e-4)
    assert ours[0].dtype == getattr(torch, dtype)


def test_torch_continues_from_a_saved_state(torch):
    parameters = torch_point(torch)
    optimizer = loa.torch_optimizer(loa.LBFGS())(parameters)
    for _ in range(5):
        optimizer.step(torch_closure(torch, optimizer, parameters))
    file = io.BytesIO()
    torch.save({"x": parameters, "optimizer": optimizer.state_dict()}, file)
    file.seek(0)
    saved = torch.load(file)
    again = tuple(torch.nn.Parameter(each.detach().clone()) for each in saved["x"])
    resumed = loa.torch_optimizer(loa.LBFGS())(again)
    resumed.load_state_dict(saved["optimizer"])
    for _ in range(5):
        optimizer.step(torch_closure(torch, optimizer, parameters))
        resumed.step(torch_closure(torch, resumed, again))
    np.testing.assert_array_equal(torch_numbers(torch, again), torch_numbers(torch, parameters))
    np.testing.assert_allclose(torch_numbers(torch, again), path(loa.LBFGS(), 10)[-1], rtol=1e-6)


def test_torch_starts_over_where_parameters_were_changed(torch):
    parameters = torch_point(torch)
    optimizer = loa.torch_optimizer(loa.HeavyBall(1e-3, 0.9))(parameters)
    for _ in range(3):
        optimizer.step(torch_closure(torch, optimizer, parameters))
    with torch.no_grad():
        parameters[0].copy_(torch.tensor(START[:1]))
        parameters[1].copy_(torch.tensor(START[1:]))
    optimizer.step(torch_closure(torch, optimizer, parameters))
    np.testing.assert_allclose(torch_numbers(torch, parameters), path(loa.HeavyBall(1e-3, 0.9), 1)[1], rtol=1e-9)


def test_torch_writes_into_parameters_of_any_kind(torch):
    wide = torch.nn.Parameter(torch.arange(12.0).reshape(3, 4).t())
    fine = torch.nn.Parameter(torch.ones(2, dtype=torch.float64))
    half = torch.nn.Parameter(torch.ones(3, dtype=torch.bfloat16))
    alias, late = wide.detach(), torch.nn.Parameter(torch.full((1,), 8.0))
    optimizer = loa.torch_optimizer(loa.GradientDescent(0.25))([wide, fine, half])
    optimizer.add_param_group({"params": [late]})
    before = wide.detach().clone()
    loss = sum((each.double() ** 2).sum() for each in (wide, fine, half, late))
    loss.backward()
    optimizer.step()
    assert torch.equal(wide, before / 2)
    assert torch.equal(alias, before / 2)
    assert (fine[0].item(), half[0].item(), late.item()) == (0.5, 0.5, 4.0)
    assert (wide.dtype, fine.dtype, half.dtype) == (torch.float32, torch.float64, torch.bfloat16)


def test_coarse_parameters_are_no_new_start(torch):
    coarse = torch.nn.Parameter(torch.ones(1, dtype=torch.bfloat16))
    optimizer = loa.torch_optimizer(loa.HeavyBall(0.1, 0.5))([coarse])
    for _ in range(3):
        optimizer.zero_grad()
        coarse.sum().backward()
        optimizer.step()
    np.testing.assert_allclose(coarse.item(), 1 - 0.1 - 0.15 - 0.175, rtol=0.01)


def test_torch_continues_where_nothing_is_a_number(torch):
    parameter = torch.nn.Parameter(torch.full((2,), np.nan))
    optimizer = loa.torch_optimizer(loa.Adam(0.1))([parameter])
    for _ in range(2):
        parameter.sum().backward()
        optimizer.step()
    assert torch.isnan(parameter).all()


def test_torch_without_a_closure_is_told_when_one_is_needed(torch):
    parameters = torch_point(torch)
    optimizer = loa.torch_optimizer(loa.LBFGS())(parameters)
    torch_closure(torch, optimizer, parameters)()
    with pytest.raises(ValueError, match="LBFGS needs more than the gradient at this point: call step"):
        optimizer.step()
    np.testing.assert_array_equal(torch_numbers(torch, parameters), START)
    loa.torch_optimizer(loa.SGD(0.001))(parameters).step()
    np.testing.assert_allclose(torch_numbers(torch, parameters), START - 0.001 * rosen_der(START), rtol=1e-12)


def test_a_step_that_fails_leaves_the_parameters_alone(torch):
    parameters = torch_point(torch)
    optimizer = loa.torch_optimizer(loa.LBFGS())(parameters)
    closure, asked = torch_closure(torch, optimizer, parameters), []

    def failing():
        asked.append(closure())
        if len(asked) == 2:
            raise ArithmeticError("the second point that is asked for")
        return asked[-1]

    with pytest.raises(ArithmeticError):
        optimizer.step(failing)
    np.testing.assert_array_equal(torch_numbers(torch, parameters), START)


def test_without_torch_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"pip install 'loa\[torch\]'"):
        loa.torch_optimizer(loa.LBFGS())
