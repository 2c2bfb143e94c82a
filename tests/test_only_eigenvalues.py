"""Smoothness constants are computed without eigenvectors where nobody uses these."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from loa.problems.only_eigenvalues import eigenvalues, only_eigenvalues
from loa.problems.per_problem import smoothness_of
from loa.problems.problem_class import ProblemClass

MATRICES = jax.random.normal(jax.random.key(0), (5, 6, 9))
MODES = VALUES_ONLY, VECTORS_TOO = f"mode = {ord('N')} : ui8", f"mode = {ord('V')} : ui8"


def largest(matrix):
    return jnp.linalg.eigvalsh(matrix @ matrix.T)[-1]


def within_another(matrix):
    return jax.jit(lambda a: {"largest": 2.0 * largest(a), "size": a.sum()})(matrix)


def with_vectors(matrix):
    values, vectors = jnp.linalg.eigh(matrix @ matrix.T)
    return values[-1] * vectors[0, -1] ** 2


@pytest.mark.parametrize("function", [largest, within_another, with_vectors])
def test_results_are_those_of_the_function(function):
    wanted, found = (jax.jit(jax.vmap(each))(MATRICES) for each in (function, only_eigenvalues(function)))
    jax.tree.map(lambda one, other: np.testing.assert_allclose(one, other, rtol=1e-12), wanted, found)


@pytest.mark.parametrize(("function", "computed"), [(largest, VALUES_ONLY), (with_vectors, VECTORS_TOO)])
def test_eigenvectors_are_computed_only_where_they_are_used(function, computed):
    program = jax.jit(only_eigenvalues(function)).lower(MATRICES[0]).as_text()
    assert [mode in program for mode in MODES] == [mode == computed for mode in MODES]


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_eigenvalues_are_those_of_numpy(dtype):
    matrix = (MATRICES[0] @ MATRICES[0].T - 5.0 * jnp.eye(6)).astype(dtype)
    found = eigenvalues(matrix)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, np.linalg.eigvalsh(matrix), atol=50 * np.finfo(dtype).eps * np.abs(matrix).max())


def test_a_matrix_that_is_not_finite_has_no_eigenvalues():
    assert jnp.isnan(eigenvalues(jnp.full((3, 3), jnp.nan))).all()


def test_the_smoothness_of_a_class_is_found_in_this_way():
    class LeastSquares(ProblemClass):
        def sample(self, key):
            return MATRICES[0]

        def start(self, problem, key):
            return jnp.zeros(9)

        def loss(self, x, problem):
            return 0.5 * jnp.sum((problem @ x) ** 2)

        def smoothness(self, problem):
            return largest(problem)

    program = jax.jit(lambda problem: smoothness_of(LeastSquares(), problem)).lower(MATRICES[0]).as_text()
    assert VALUES_ONLY in program
    assert VECTORS_TOO not in program
