"""What loa relies on in JAX and XLA that would fail silently: each test says what changed."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import io_callback

from loa.storage.checkpoint import recognizable
from loa.trajectory.engine import UNSPLIT_SUMS


def test_the_pass_that_splits_sums_is_known_and_can_be_disabled():
    """The engine disables it by name, for speed; XLA says nothing about names that it does not know."""
    lowered = jax.jit(jnp.sum).lower(jnp.zeros(1000))
    split = lowered.compile().as_text()
    try:
        whole = lowered.compile(UNSPLIT_SUMS).as_text()
    except Exception as error:
        pytest.fail(f"XLA no longer takes the options {UNSPLIT_SUMS}: change UNSPLIT_SUMS in the engine. ({error})")
    assert "reduce-window" in split, "XLA no longer splits sums on CPUs: the engine need not disable that pass."
    assert "reduce-window" not in whole, (
        f"{UNSPLIT_SUMS} no longer has an effect: find the new name of the pass that splits sums, "
        "otherwise FISTA on LASSO becomes a tenth slower and L-BFGS on networks a quarter."
    )


WHOLE = """
import jax, jax.numpy as jnp, numpy as np
jax.config.update("jax_enable_x64", True)
first = jnp.arange(16_385, dtype=float)
rows = jnp.stack((first, jnp.zeros_like(first), jnp.zeros_like(first)), axis=1)
lengths = jax.jit(jax.vmap(lambda row: jnp.sum((jnp.eye(3) @ row) ** 2)))(rows)
np.testing.assert_array_equal(lengths, np.asarray(first) ** 2)
"""


def test_products_followed_by_sums_are_whole():
    """In jaxlib 0.10.2 they are not: the last of these is 266342400 there, on two cores.

    In a process of its own, because programs of the tests are not optimized.
    """
    optimized = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    found = subprocess.run([sys.executable, "-c", WHOLE], env=optimized, capture_output=True, text=True)
    assert found.returncode == 0, f"JAX computes wrong results: see wrong_compiler.py. {found.stderr[-500:]}"


def double(x):
    return np.asarray(2 * x)


def pure(x):
    return jax.pure_callback(double, x, x, vmap_method="sequential")


def with_effects(x):
    return io_callback(double, x, x)


def debugging(x):
    jax.debug.callback(double, x)
    return x


def printing(x):
    jax.debug.print("{x}", x=x)
    return x


def in_a_loop(function):
    return lambda x: jax.lax.fori_loop(0, 3, lambda _, y: function(y), x)


def in_a_batch(function):
    return lambda x: jax.vmap(function)(jnp.stack([x, x]))


@pytest.mark.parametrize("where", [lambda function: function, in_a_loop, in_a_batch], ids=["plain", "loop", "batch"])
@pytest.mark.parametrize("function", [pure, with_effects, debugging, printing])
def test_programs_that_call_python_are_not_recognizable(function, where):
    """Their text does not say what they compute, so that one could be taken for another in a checkpoint."""
    text = jax.jit(where(function)).lower(1.0).as_text()
    assert not recognizable(text), f"calls into Python are written in a new way, which `recognizable` misses:\n{text}"


@pytest.mark.parametrize(
    "function", [jnp.sin, lambda x: jnp.linalg.cholesky(jnp.eye(3) + x), lambda x: jnp.fft.fft(x * jnp.ones(4))]
)
def test_programs_that_do_not_call_python_are_recognizable(function):
    """Also those that call LAPACK or other compiled functions by name."""
    text = jax.jit(in_a_batch(function)).lower(1.0).as_text()
    assert recognizable(text), f"a program without calls into Python is taken for one with them:\n{text}"
