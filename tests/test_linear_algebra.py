"""Batched linear algebra against NumPy, and programs that would stand still if calls of LAPACK were divided."""

import re
import subprocess
import sys

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest
from jaxlib.version import __version_info__ as jaxlib_version
from numpy.testing import assert_allclose

from loa.machine import batched_lapack


def positive(batch, size, dtype):
    random = np.random.default_rng(size)
    root = random.normal(size=(*batch, size, size)) + (1j if dtype is complex else 0.0) * random.normal(size=size)
    return root @ np.conj(np.swapaxes(root, -1, -2)) + size * np.eye(size)


OPERATIONS = {
    "cholesky": (jnp.linalg.cholesky, np.linalg.cholesky),
    "solve": (lambda a: jnp.linalg.solve(a, a + 1), lambda a: np.linalg.solve(a, a + 1)),
    "inv": (jnp.linalg.inv, np.linalg.inv),
    "det": (jnp.linalg.det, np.linalg.det),
    "slogdet": (lambda a: jnp.linalg.slogdet(a)[1], lambda a: np.linalg.slogdet(a)[1]),
    "eigvalsh": (jnp.linalg.eigvalsh, np.linalg.eigvalsh),
    "eigvals": (lambda a: jnp.sort(jnp.linalg.eigvals(a).real), lambda a: np.sort(np.linalg.eigvals(a).real)),
    "singular values": (
        lambda a: jnp.linalg.svd(a, compute_uv=False), lambda a: np.linalg.svd(a, compute_uv=False),
    ),
    "pinv": (jnp.linalg.pinv, np.linalg.pinv),
    "qr": (lambda a: jnp.abs(jnp.linalg.qr(a)[1]), lambda a: np.abs(np.linalg.qr(a)[1])),
    "tall qr": (lambda a: jnp.abs(jnp.linalg.qr(a[..., :2])[0]), lambda a: np.abs(np.linalg.qr(a[..., :2])[0])),
    "power": (lambda a: jnp.linalg.matrix_power(a, -2), lambda a: np.linalg.matrix_power(a, -2)),
    "fft2": (lambda a: jnp.abs(jnp.fft.fft2(a)), lambda a: np.abs(np.fft.fft2(a))),
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize(("batch", "size", "dtype"), [((3, 5), 30, float), ((700,), 4, float), ((20,), 12, complex)])
def test_batches_agree_with_numpy(name, batch, size, dtype):
    ours, theirs = OPERATIONS[name]
    matrices = positive(batch, size, dtype)
    with jax.enable_x64(True):
        expected = theirs(matrices)
        assert_allclose(jax.jit(ours)(matrices), expected, rtol=1e-8, atol=1e-10 * np.abs(expected).max())


def test_derivatives_and_mapped_systems_agree_with_numpy():
    matrices, right = positive((40,), 30, float), np.arange(30.0)
    with jax.enable_x64(True):
        solve = jax.vmap(lambda a: jax.scipy.linalg.solve(a, right, assume_a="pos"))
        assert_allclose(jax.jit(solve)(matrices), np.linalg.solve(matrices, right), rtol=1e-9)
        slope = jax.jit(jax.grad(lambda scale: jnp.sum(solve(scale * matrices))))(2.0)
        assert_allclose(slope, -np.linalg.solve(matrices, right).sum() / 4, rtol=1e-9)


def calls(function, *operands):
    """Shapes with which LAPACK is called, read off the compiled program."""
    text = jax.jit(function).lower(*operands).as_text()
    return re.findall(r"@lapack_.*: \(tensor<(\w+)xf32>\)", text)


@pytest.mark.skipif(
    not batched_lapack.DIVIDING[0] <= jaxlib_version < batched_lapack.DIVIDING[1], reason="this jaxlib divides no batch"
)
@pytest.mark.parametrize(("batch", "size", "part"), [(63, 30, "7x30x30"), (64, 3, "64x3x3"), (3, 100, "100x100")])
def test_no_call_is_large_enough_to_be_divided(batch, size, part):
    assert calls(jnp.linalg.cholesky, jnp.zeros((batch, size, size), jnp.float32)) == [part]


@pytest.mark.skipif(
    not batched_lapack.DIVIDING[0] <= jaxlib_version < batched_lapack.DIVIDING[1], reason="this jaxlib divides no batch"
)
def test_batches_of_unknown_length_are_not_divided():
    (batch,) = jax.export.symbolic_shape("batch")
    matrices = jax.ShapeDtypeStruct((batch, 30, 30), jnp.float32)
    program = jax.export.export(jax.jit(jnp.linalg.cholesky))(matrices)
    assert set(re.findall(r"@lapack_.*: \(tensor<(\w+)xf32>\)", program.mlir_module())) == {"30x30"}
    some = jnp.asarray(positive((40,), 30, float), jnp.float32)
    assert_allclose(program.call(some), np.linalg.cholesky(some), rtol=1e-4, atol=1e-4)


def test_the_primitives_that_call_lapack_are_known():
    """If JAX adds one or drops one, look whether `part_size` holds for it."""
    known = {
        "cholesky", "eig", "eigh", "geqp3", "geqrf", "hessenberg", "householder_product", "lu", "ormqr", "schur", "svd",
        "triangular_solve", "tridiagonal", "tridiagonal_solve",
    }  # fmt: skip
    names = {primitive.name for primitive in batched_lapack.lapack_primitives()}
    assert names <= known
    assert names >= known - {"ormqr"}  # new in JAX 0.10


def test_whoever_defines_a_problem_class_is_safe():
    """Nobody else imports these modules, which do something when they are imported."""
    program = (
        "import sys, loa; loa.ProblemClass; print(*sorted(name for name in sys.modules if 'loa.machine.' in name))"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=120)
    assert {"loa.machine.batched_lapack", "loa.machine.wrong_compiler"} <= set(done.stdout.split())


STANDING_STILL = """
import jax, jax.numpy as jnp, loa
jax.config.update("jax_num_cpu_devices", {devices})
loa.ProblemClass
a = jnp.eye(30) + 0.01 * jax.random.normal(jax.random.key(0), (64, 30, 30))
program = jax.vmap(lambda a: jnp.trace(jnp.linalg.solve(a, a + 1)) + jnp.trace(jnp.linalg.solve(a.T, a - 1)))
values = jax.jit(program)(a)
one = jax.sharding.PartitionSpec("d")
a = jax.device_put(a, jax.NamedSharding(jax.make_mesh(({devices},), ("d",)), one))
program = jax.jit(program)
for _ in range({repetitions}):
    again = program(a).block_until_ready()
assert jnp.allclose(jax.device_get(again), values, rtol=1e-3)
"""
"""In plain JAX 0.10.2 on two cores, this stands still for ever within a few hundred repetitions."""


@pytest.mark.parametrize(("devices", "repetitions"), [(1, 400), (2, 100)])
def test_programs_with_lapack_do_not_stand_still(devices, repetitions):
    """The smallest size of benchmarks/faults/lapack.py."""
    program = STANDING_STILL.format(devices=devices, repetitions=repetitions)
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


TRANSFORMS = """
import jax, jax.numpy as jnp

def one(values, scale):
    grid = jnp.zeros(512 * 512).at[2 * jnp.arange(512 * 256)].set(values).reshape(512, 512)
    return jnp.sum(jnp.fft.irfft2(jnp.fft.rfft2(grid) * scale) ** 2)

program = jax.jit(lambda values: sum(one(values, 1.0 + k) for k in range(8)))
for _ in range(10):
    program(jnp.ones(512 * 256)).block_until_ready()
"""
"""Of jaxlib 0.11.1 it is reported (PyAutoLabs/PyAutoFit#1530) that such transforms stand still: a thread of the pool
that computes one waits for others of that pool, which wait as well."""


def test_programs_with_fourier_transforms_do_not_stand_still():
    subprocess.run([sys.executable, "-c", TRANSFORMS], check=True, timeout=120)
