"""How all tests and docstring examples run.

They run in float64, as the experiments do. Annotations of arrays are checked at every call. Programs that one process
has compiled are loaded by the others, and nothing that is cached outlives the session.
"""

import os
import random
import shutil
import tempfile

import pytest

PROGRAMS = "JAX_COMPILATION_CACHE_DIR"
"""Where JAX keeps compiled programs; workers and subprocesses inherit it. A directory that is given is kept."""

CREATED = None if PROGRAMS in os.environ else tempfile.mkdtemp(prefix="loa-programs-")

os.environ.setdefault(PROGRAMS, CREATED or "")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")

import beartype  # noqa: E402
import jax  # noqa: E402  (JAX reads the variables above when it is imported)
import jaxtyping  # noqa: E402
import numpy as np  # noqa: E402

jax.config.update("jax_enable_x64", True)

NUMBERS = beartype.FrozenDict(
    {bool: bool | np.bool_, int: int | np.integer, float: float | int | np.floating | np.integer}
)
"""Whole numbers are numbers, and NumPy's are as good as Python's: for pyright they are, for beartype not."""

jaxtyping.Array = jax.Array | np.ndarray | np.generic
jaxtyping.Scalar = jaxtyping.Shaped[jaxtyping.Array, ""]
"""Where an array of JAX is wanted, one of NumPy will do, as everywhere in JAX; its shape is checked."""

checked = beartype.beartype(conf=beartype.BeartypeConf(hint_overrides=NUMBERS))

jaxtyping.install_import_hook("loa", "conftest.checked")


@pytest.fixture(autouse=True)
def types(request):
    """Types are checked, except where a test hands over wrong ones on purpose, to see what loa says."""
    random.seed(0)  # of the members of a list, beartype checks a random one
    wrong = request.node.get_closest_marker("wrong_types") is not None
    jaxtyping.config.update("jaxtyping_disable", wrong)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory):
    os.environ["LOA_CACHE"] = str(tmp_path_factory.mktemp("cache"))


def pytest_unconfigure():
    if CREATED:
        shutil.rmtree(CREATED, ignore_errors=True)
