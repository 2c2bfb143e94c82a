"""How all tests and docstring examples run.

They run in float64, as the experiments do. Annotations of arrays are checked at every call. Programs are compiled
quickly rather than well, those that one process has compiled are loaded by the others, and nothing that is cached
outlives the session.
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
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # on some machines XLA has doubts about every program that is loaded

QUICKLY = (
    "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true "
    "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
)
"""Compiling takes most of the time of the tests, and a third of the time this way. Programs run only a few steps here;
`tests/test_laws.py` checks that those of a user, which are optimized, give the same numbers."""

if QUICKLY not in os.environ.get("XLA_FLAGS", ""):
    os.environ["XLA_FLAGS"] = f"{QUICKLY} {os.environ.get('XLA_FLAGS', '')}".rstrip()

import beartype  # noqa: E402
import jax  # noqa: E402  (JAX and XLA read the variables above when they are imported)
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
    """Types are checked, except where a marker says why not."""
    random.seed(0)  # of the members of a list, beartype checks a random one
    unchecked = any(request.node.get_closest_marker(name) for name in ("wrong_types", "many_calls"))
    jaxtyping.config.update("jaxtyping_disable", unchecked)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory):
    os.environ["LOA_CACHE"] = str(tmp_path_factory.mktemp("cache"))


def pytest_unconfigure():
    if CREATED:
        shutil.rmtree(CREATED, ignore_errors=True)
