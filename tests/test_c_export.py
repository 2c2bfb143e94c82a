"""Solvers and programs in C: compiled by the system's compiler, with the results of JAX."""

import ctypes
import subprocess

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import loa
from loa.architectures.curvature import DenseCurvature
from loa.deployment.c_code.file import function_text
from loa.deployment.c_code.scalars import Unsupported, c_type
from loa.deployment.c_code.statements import written
from loa.deployment.c_code.tracing import traced

FLAGS = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-Wno-unused-but-set-variable", "-O1", "-shared", "-fPIC"]
OUTCOMES = ["solved", "exhausted", "diverged"]


def compiled(path):
    library = path.with_suffix(".so")
    subprocess.run(["cc", *FLAGS, path, "-o", library, "-lm"], check=True)
    return getattr(ctypes.CDLL(library), path.stem)


def pointer(array):
    return None if array is None else array.ctypes.data_as(ctypes.c_void_p)


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


class Control(loa.ProblemClass):
    """Model predictive control: a problem is a state, the unknowns are bounded forces."""

    constraint = loa.sets.Box(-1.0, 1.0)
    dimension = 20

    def matrices(self):
        rng = np.random.default_rng(0)
        forced = np.tril(rng.normal(size=(30, self.dimension)))
        return forced.T @ forced + 0.5 * np.eye(self.dimension), forced.T @ rng.normal(size=(30, 4))

    def sample(self, key):
        return 2.0 * jax.random.normal(key, (4,))

    def smooth(self, forces, state):
        hessian, linear = self.matrices()
        return 0.5 * forces @ hessian @ forces + forces @ linear @ state

    def smoothness(self, state):
        return np.linalg.eigvalsh(self.matrices()[0])[-1]

    def start(self, state, key):
        return jnp.zeros(self.dimension)


class Classification(loa.ProblemClass):
    """Logistic regression with a ridge: a smooth problem of matrices, signs and a number, at points with two parts."""

    def sample(self, key):
        one, two, three = jax.random.split(key, 3)
        signs = jnp.where(jax.random.bernoulli(one, 0.5, (25,)), 1, -1)
        ridge = jax.random.uniform(three, minval=0.02, maxval=0.1)
        return {"features": jax.random.normal(two, (25, 6)), "signs": signs, "ridge": ridge}

    def loss(self, x, problem):
        margins = problem["signs"] * (problem["features"] @ x["weights"] + x["shift"])
        return jnp.mean(jnp.logaddexp(0.0, -margins)) + problem["ridge"] * jnp.sum(x["weights"] ** 2)

    def start(self, problem, key):
        return {"weights": jnp.zeros(6), "shift": jnp.zeros(())}


def learned():
    return loa.architectures.LearnedSplitting(DenseCurvature.of(Control().matrices()[0]), jnp.log(3.0))


def box(algorithm):
    return loa.Solver(algorithm, Control(), criterion=loa.prox_residual_below(1e-6), horizon=500)


def smooth(algorithm):
    return loa.Solver(algorithm, Classification(), criterion=loa.gradient_norm_below(1e-6), horizon=200)


SOLVERS = {
    "fista": lambda: box(loa.FISTA(restart=True)),
    "learned": lambda: box(learned()),
    "guarded": lambda: box(loa.safeguard(learned(), loa.FISTA(restart=True))),
    "conjugate": lambda: smooth(loa.ConjugateGradient()),
    "newton": lambda: smooth(loa.Newton()),
}


def caller(solver, path):
    """The function in C with the signature of a solver."""
    function, forms = compiled(path), solver.point.forms
    names = ["outcome", "steps", "value", "gradient", "prox", "stochastic", "hessian"]
    points = [(f"x{n}", ctypes.c_double * form.size) for n, form in enumerate(forms)]

    class Found(ctypes.Structure):
        _fields_ = [*points, ("loss", ctypes.c_double), *((name, ctypes.c_int) for name in names)]

    def solve(problem, start=None):
        found = Found()
        leaves = [np.require(leaf, form.dtype, "C") for leaf, form in
                  zip(jax.tree.leaves(problem), solver.problem.forms, strict=True)]  # fmt: skip
        given = [pointer(leaf) if leaf.shape else ctypes.c_double(leaf.item()) for leaf in leaves]
        starts = (
            [None] * len(forms) if start is None else [np.require(leaf, float, "C") for leaf in jax.tree.leaves(start)]
        )
        assert function(*given, *map(pointer, starts), ctypes.byref(found)) == found.outcome
        return found, np.concatenate([np.ctypeslib.as_array(getattr(found, f"x{n}")) for n in range(len(forms))])

    return solve


def flattened(x):
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(x)])


@pytest.mark.parametrize("name", SOLVERS)
def test_100_problems_are_solved_as_by_jax(name, tmp_path):
    solver = SOLVERS[name]()
    solver.export_c(tmp_path / f"{name}.c", certificates=[loa.certify(np.array([3.0, 4.0, 5.0]), cap=60.0)])
    solve = caller(solver, tmp_path / f"{name}.c")
    problems = solver.problem_class.draw(jax.random.key(1), 100)
    for number in range(100):
        problem = jax.tree.map(lambda leaf, n=number: np.asarray(leaf[n]), problems)
        one, (found, x) = solver(problem), solve(problem)
        assert (OUTCOMES[found.outcome], found.steps) == (one.outcome, one.steps)
        assert (found.value, found.gradient, found.prox) == (one.calls.value, one.calls.gradient, one.calls.prox)
        np.testing.assert_allclose(x, flattened(one.x), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(found.loss, one.loss, rtol=1e-12, atol=1e-12)
    again, x = solve(problem, start=one.x)
    assert again.steps == solver(problem, start=one.x).steps == 0
    nothing = jax.tree.map(lambda leaf: leaf * np.nan if leaf.dtype.kind == "f" else leaf, problem)
    assert OUTCOMES[solve(nothing)[0].outcome] == solver(nothing).outcome == "diverged"
    text = (tmp_path / f"{name}.c").read_text()
    assert "malloc" not in text
    assert "With 95% confidence" in text
    assert f"int {name}(" in (tmp_path / f"{name}.h").read_text()


KEY = np.random.default_rng(3)
X, Y, A, K = KEY.normal(size=7), KEY.normal(size=7), KEY.normal(size=(7, 7)), np.array([3, 0, 9, 2])
SPD = A @ A.T + np.eye(7)


def rounds(x, k):
    return jax.lax.while_loop(lambda s: s[0] < k, lambda s: (s[0] + 1, s[2], 0.5 * s[1]), (0, x, 2 * x))


def scanned(x, a):
    return jax.lax.scan(lambda c, row: (c + row, (c @ row, row[::-1])), x, a, reverse=True)


OPERATIONS = {
    "arithmetic": (lambda x, y: (x * y - x / y, x**3, x**-2, jnp.abs(x), jnp.sign(x), jnp.round(x), -x, x % y), X, Y),
    "functions": (lambda x: (jnp.exp(x), jnp.log1p(x * x), jnp.tanh(x), jax.nn.sigmoid(x), jax.lax.rsqrt(x * x)), X),
    "choices": (lambda x, y: (jnp.where(x > y, x, 0.0), jnp.maximum(x, y), jnp.clip(x, -1, 0.5), x[2] < y[2]), X, Y),
    "moves": (lambda x, a: (a.T, a[1:6:2, ::-1], x[:, None] + a, jnp.roll(x, 2), jnp.pad(x, 1), a.ravel()[3:9]), X, A),
    "pieces": (lambda x, y: (jnp.append(x, y), jnp.stack([x, y], 1), jnp.split(x, [2, 5]), jnp.outer(x, y)), X, Y),
    "places": (lambda x, a, k: (x[k], a[k[0]], a[:, k[1]], x.at[k].add(1), a.at[k[3]].set(x), x.at[k].set(2)), X, A, K),
    "sums": (lambda a: (a.sum(), a.sum(0), a.max(1), a.min(), jnp.prod(a, 1), jnp.any(a > 2), jnp.all(a < 9, 0)), A),
    "order": (lambda x, a: (jnp.sort(x), jnp.argsort(x), jnp.argmax(a, 1), jnp.argmin(x), jnp.cumsum(x)), X, A),
    "products": (lambda x, a: (a @ x, x @ a, a @ a, x @ x, jnp.einsum("ij,kj->ki", a, a), a.T @ SPD, SPD @ x), X, A),
    "systems": (lambda x, s: (jnp.linalg.solve(s, x), jnp.linalg.cholesky(s), jnp.linalg.inv(s)), X, SPD),
    "triangles": (lambda x, s: jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(s), x), X, SPD),
    "spectrum": (lambda s: (jnp.linalg.eigvalsh(s), (lambda w, v: v * jnp.sqrt(w) @ v.T)(*jnp.linalg.eigh(s))), SPD),
    "indefinite": (lambda a: jnp.linalg.cholesky(a - 9.0 * jnp.eye(7)), SPD),
    "loops": (lambda x, k: (rounds(x, k[0]), jax.lax.fori_loop(0, 4, lambda t, z: z * x + t, x)), X, K),
    "scan": (scanned, X, A),
    "branches": (lambda x, k: jax.lax.switch(k[3], [lambda: x, lambda: 2 * x, lambda: jnp.sin(x)]), X, K),
    "whole": (lambda k: (k // 2, k % 3, -k, jnp.abs(k - 3), jnp.maximum(k, 2), k.sum(), (k * 1.7).astype(int)), K),
    "not_numbers": (lambda x: (jnp.maximum(x * jnp.nan, x), jnp.max(x / 0), jnp.argmax(x.at[2].set(jnp.nan))), X),
    "floats": (lambda x: jnp.cumsum(jnp.exp(x.astype(jnp.float32))) @ SPD.astype(jnp.float32), X),
}  # fmt: skip


def text_of(name, arrays, block):
    """A function in C that takes pointers to arrays and fills others."""
    given = [f"given{n}" for n in range(len(arrays))]
    writer = written(block, given)
    for n, value in enumerate(block.results):
        writer.copy(f"found{n}{'[0]' if value.size == 1 else ''}", value)
    writer.line("return 0;")
    places = [f"const {c_type(array.dtype)} *{each}" for array, each in zip(arrays, given, strict=True)]
    places += [f"{c_type(value.dtype)} *found{n}" for n, value in enumerate(block.results)]
    return function_text(writer, f"{name}({', '.join(places)})", [])


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_compute_what_jax_computes(name, tmp_path):
    function, *arrays = OPERATIONS[name]
    block = traced(jax.make_jaxpr(function)(*arrays))
    (tmp_path / f"{name}.c").write_text(text_of(name, arrays, block))
    found = [np.zeros(value.shape, value.dtype) for value in block.results]
    compiled(tmp_path / f"{name}.c")(*map(pointer, arrays), *map(pointer, found))
    for ours, theirs in zip(found, jax.tree.leaves(function(*map(jnp.asarray, arrays))), strict=True):
        assert ours.dtype == theirs.dtype
        tolerance = 1e-5 if ours.dtype == np.float32 else 1e-12
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


def test_what_cannot_be_translated_is_named(tmp_path):
    class Random(loa.Algorithm):
        def init(self, oracle, x0):
            return x0

        def step(self, oracle, state, key):
            return state + 0.1 * jax.random.normal(key, state.shape)

        def iterate(self, state):
            return state

    solver = box(Random())
    with pytest.raises(ValueError, match=r"no translation to C for .*random numbers.*, which Random on Control needs"):
        solver.export_c(tmp_path / "random.c")
    assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match=r"path must be the name of a function followed by \.c"):
        solver.export_c(tmp_path / "my controller.c")
    with pytest.raises(ValueError, match=r"got sqrt\.c, and sqrt has a meaning in C"):
        solver.export_c(tmp_path / "sqrt.c")
    with pytest.raises(Unsupported, match="fft"):
        written(traced(jax.make_jaxpr(jnp.fft.fft)(X)), ["x"])
