"""Steps with functions from outside, compiled between the questions: the same steps, and nothing else changes."""

import jax
import numpy as np
import pytest
from scipy.optimize import minimize, rosen, rosen_der

import loa
from loa.deployment.adapters import compiled_steps

START = np.array([-1.2, 1.0, -0.5, 0.8])
ALGORITHMS = {
    "a gradient per step": loa.GradientDescent(1e-3),
    "loss and gradient, momentum": loa.HeavyBall(5e-4, 0.8),
    "a line search": loa.LBFGS(memory=3),
    "mini-batches, which the function may choose": loa.SGD(1e-3),
}


def run(algorithm, *, eager, monkeypatch, steps=40, **options):
    monkeypatch.setattr(compiled_steps, "EAGER", 10**9 if eager else 0)
    method = loa.scipy_method(algorithm, key=jax.random.key(1))
    return minimize(rosen, START, jac=rosen_der, method=method, options={"maxiter": steps, "gtol": 1e-6}, **options)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_compiled_steps_are_the_same_steps(name, monkeypatch):
    points = {True: [], False: []}
    found = {
        eager: run(ALGORITHMS[name], eager=eager, monkeypatch=monkeypatch, callback=points[eager].append)
        for eager in points
    }
    for first, second in zip(points[True][:15], points[False][:15], strict=True):
        np.testing.assert_allclose(second, first, rtol=1e-8)
    assert found[False].fun == pytest.approx(found[True].fun, rel=1e-3, abs=1e-8)


def test_questions_cost_as_many_calls_as_before(monkeypatch):
    counts = [run(ALGORITHMS["a line search"], eager=eager, monkeypatch=monkeypatch, steps=15) for eager in (1, 0)]
    assert counts[0].nfev == counts[1].nfev
    assert counts[0].njev == counts[1].njev


def pieces_of(algorithm, monkeypatch, times=3, **options):
    """What is compiled for several searches by one method."""
    monkeypatch.setattr(compiled_steps, "EAGER", 0)
    made, build = [], compiled_steps._Piece.__init__
    monkeypatch.setattr(compiled_steps._Piece, "__init__", lambda self, *rest: made.append(self) or build(self, *rest))
    method = loa.scipy_method(algorithm)
    for number in range(times):
        minimize(rosen, START + number, jac=rosen_der, method=method, options={"maxiter": 30, **options})
    return made


def test_pieces_are_compiled_once_for_all_searches(monkeypatch):
    assert len(pieces_of(loa.GradientDescent(1e-5), monkeypatch)) == 1, "from the gradient to the end of the step"


def test_a_line_search_has_as_many_pieces_as_its_code_has_questions(monkeypatch):
    """Not as many as it makes trials, which differ from step to step."""
    assert len(pieces_of(loa.LBFGS(memory=3), monkeypatch, gtol=0.0)) <= 6


def test_a_question_where_none_can_be_answered_is_refused():
    class Sweeps(loa.Algorithm):
        def init(self, oracle, x0):
            return x0

        def step(self, oracle, state, key):
            return jax.lax.fori_loop(0, 3, lambda _, x: x - 1e-3 * oracle.gradient(x), state)

    with pytest.raises(TypeError, match="calls the oracle inside"):
        minimize(rosen, START, jac=rosen_der, method=loa.scipy_method(Sweeps()))


def test_an_error_of_the_function_is_its_own(monkeypatch):
    monkeypatch.setattr(compiled_steps, "EAGER", 0)
    calls = []

    def broken(x):
        calls.append(x)
        if len(calls) > 5:
            raise ZeroDivisionError("mine")
        return rosen_der(x)

    with pytest.raises(ZeroDivisionError, match="mine"):
        minimize(rosen, START, jac=broken, method=loa.scipy_method(loa.GradientDescent(1e-3)))
