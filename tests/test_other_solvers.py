"""loa.measure on solvers that people use: each is skipped with a sentence where it is not installed."""

import numpy as np
import pytest

import loa
from loa.certificates import Quantile

pytestmark = pytest.mark.slow


def osqp(problem, rho=0.1):
    """A quadratic program of OSQP."""
    import osqp as package
    import scipy.sparse as sparse

    model, size = package.OSQP(), len(problem["q"])
    bounds = np.zeros(size), np.ones(size)
    model.setup(sparse.csc_matrix(problem["P"]), problem["q"], sparse.eye(size, format="csc"), *bounds,
                verbose=False, rho=rho)  # fmt: skip
    found = model.solve()
    return {"solved": found.info.status == "solved", "iterations": found.info.iter, "objective": found.info.obj_val}


def highs(problem):
    """A random linear program of HiGHS: maximize c'x on a knapsack relaxation."""
    import highspy

    model = highspy.Highs()
    model.silent()
    x = [model.addVariable(0.0, 1.0) for _ in problem["c"]]
    model.addConstr(sum(w * each for w, each in zip(problem["w"], x, strict=True)) <= 0.5 * problem["w"].sum())
    model.maximize(sum(c * each for c, each in zip(problem["c"], x, strict=True)))
    info = model.getInfo()
    solved = model.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return {"solved": solved, "iterations": info.simplex_iteration_count, "objective": info.objective_function_value}


def logistic(rows, solver="lbfgs"):
    """Logistic regression of scikit-learn on real data."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import scale

    features, labels = load_breast_cancer(return_X_y=True)
    model = LogisticRegression(solver=solver, max_iter=500).fit(scale(features)[rows], labels[rows])
    return {"iterations": model.n_iter_.max()}


def certified(performance):
    """Every run is solved, and the time has a certificate that is not vacuous."""
    assert (performance.outcome == "solved").all()
    certificate = loa.certify(performance, "seconds")
    assert performance["seconds"].mean() < certificate.bound < certificate.cap
    assert loa.certify(performance, Quantile("seconds", 0.5, cap=certificate.cap)).bound < certificate.cap


def test_osqp():
    pytest.importorskip("osqp", reason="OSQP is not installed")
    generator = np.random.default_rng(0)
    roots = generator.normal(size=(20, 6, 6))
    problems = {"P": roots @ roots.transpose(0, 2, 1) + np.eye(6), "q": generator.normal(size=(20, 6))}
    performance = loa.measure(osqp, problems, timeout=20.0)
    certified(performance)
    from scipy.optimize import minimize

    for index in range(3):
        P, q = problems["P"][index], problems["q"][index]
        exact = minimize(lambda x, P=P, q=q: 0.5 * x @ P @ x + q @ x, np.full(6, 0.5), bounds=[(0, 1)] * 6, tol=1e-12)
        assert performance["objective"][index, 0] == pytest.approx(exact.fun, abs=1e-2)
    other = loa.measure(loa.External(osqp).at(rho=10.0), problems, timeout=20.0)
    assert (other["iterations"] != performance["iterations"]).any()


def test_highs():
    pytest.importorskip("highspy", reason="HiGHS is not installed")
    generator = np.random.default_rng(0)
    problems = {"c": generator.uniform(size=(20, 12)), "w": generator.uniform(0.1, 1.0, size=(20, 12))}
    performance = loa.measure(highs, problems, timeout=20.0)
    certified(performance)
    c, w = problems["c"][0], problems["w"][0]
    order, room, value = np.argsort(-c / w), 0.5 * w.sum(), 0.0
    for place in order:  # the greedy solution of a knapsack relaxation is optimal
        taken = min(1.0, room / w[place])
        room, value = room - taken * w[place], value + taken * c[place]
    assert performance["objective"][0, 0] == pytest.approx(value, rel=1e-6)


def test_scikit_learn():
    generator = np.random.default_rng(0)
    rows = [generator.choice(569, 200, replace=False) for _ in range(20)]
    performance = loa.measure(loa.External(logistic).at(solver="newton-cholesky"), rows, timeout=30.0)
    certified(performance)
    assert (performance["iterations"] >= 1).all()
