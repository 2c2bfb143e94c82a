"""LAPACK in one thread while many problems are solved in parallel.

JAX calls the LAPACK of SciPy. Its threads wait for each other by spinning, which pays off for one large matrix on an
idle machine. For the many small matrices of a batch it does not, and beside other work it is ruinous: to start ADMM on
problems with 40 unknowns took 0.4 ms with one thread and 30 ms with two.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Within this block LAPACK and BLAS use one thread; afterwards as many as before."""
    with _libraries().limit(limits=1, user_api="blas"):
        yield


@cache
def _libraries() -> ThreadpoolController:
    """The libraries that this process has loaded, the one that JAX calls among them."""
    import scipy.linalg.cython_lapack  # noqa: F401

    return ThreadpoolController()
