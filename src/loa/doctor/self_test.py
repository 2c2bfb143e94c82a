"""The self-test: small computations whose results are known, printed one by one. `python -m loa.doctor.self_test`."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import loa


def sums_after_products() -> str:
    """Batches of products followed by sums are whole; jaxlib 0.10.2 leaves some of them out."""
    first = jnp.arange(16_385, dtype=float)
    rows = jnp.stack((first, jnp.zeros_like(first), jnp.zeros_like(first)), axis=1)
    lengths = jax.jit(jax.vmap(lambda row: jnp.sum((jnp.eye(3) @ row) ** 2)))(rows)
    np.testing.assert_array_equal(lengths, np.asarray(first) ** 2)
    return f"{len(first)} of {len(first)} right"


def stopping_times() -> str:
    """Gradient descent on parabolas stops when the closed form says: |1 - αθ|^t / θ < ε for the first time."""
    example, step, accuracy = loa.problems.RunningExample(), 0.15, 1e-3
    curvatures = example.draw(jax.random.key(0), 200)
    setting: Any = dict(criterion=loa.distance_below(accuracy), horizon=500, key=jax.random.key(1))
    found = loa.evaluate(loa.GradientDescent(step), example, curvatures, **setting)["stopping_time"][:, 0]
    rates = np.abs(1 - step * np.asarray(curvatures))
    known = np.ceil(np.log(accuracy * np.asarray(curvatures)) / np.log(rates))
    np.testing.assert_array_equal(found, known)
    return f"mean {found.mean():.3f}, as the formula says"


def least_squares() -> str:
    """L-BFGS finds the solutions that NumPy finds."""
    A, b = (np.random.default_rng(0).normal(size=shape) for shape in ((20, 12, 4), (20, 12)))
    fits = loa.FromInstances((A, b), lambda x, each: jnp.sum((each[0] @ x - each[1]) ** 2), start=jnp.zeros(4))
    setting: Any = dict(criterion=loa.gradient_norm_below(1e-9), horizon=200, key=jax.random.key(0))
    found = loa.solve(loa.LBFGS(), fits, fits.instances, **setting).x
    known = np.stack([np.linalg.lstsq(*each)[0] for each in zip(A, b, strict=True)])
    np.testing.assert_allclose(found, known, atol=1e-8)
    return f"largest difference {np.abs(found - known).max():.0e}"


def factorizations() -> str:
    """Batches of Cholesky factorizations end, on any number of cores, and are right."""
    roots = np.random.default_rng(0).normal(size=(2000, 6, 6))
    matrices = roots @ np.swapaxes(roots, 1, 2) + np.eye(6)
    sums = loa.FromInstances(matrices, lambda x, each: jnp.sum(jnp.linalg.cholesky(each)) * x, start=jnp.zeros(()))
    setting: Any = dict(criterion=loa.gradient_norm_below(1e-9), horizon=1, key=jax.random.key(0))
    found = loa.solve(loa.GradientDescent(1.0), sums, sums.instances, **setting).x
    np.testing.assert_allclose(found, -np.linalg.cholesky(matrices).sum(axis=(1, 2)), rtol=1e-9)
    return f"{len(matrices)} in a batch"


def certificate() -> str:
    """The certificate of twenty problems solved out of twenty: 1 - 0.05^(1/20), the exact binomial bound."""
    found = loa.certificates.clopper_pearson_upper(0, 20, 0.05)
    known = 1 - 0.05 ** (1 / 20)
    if not math.isclose(found, known, rel_tol=1e-9):
        raise AssertionError(f"got {found}, but it is {known}")
    return f"at most {found:.4f} of problems fail, with 95% confidence"


def learned_algorithm() -> str:
    """A learned algorithm that ships with loa needs 6 or 7 steps on the quadratics of the paper."""
    setting = loa.experiments.get("quadratics")
    problems = setting.problem_class.draw(jax.random.key(0), 20)
    options: Any = dict(criterion=setting.criterion, horizon=setting.horizon, key=jax.random.key(1))
    found = loa.evaluate(loa.load("quadratics"), setting.problem_class, problems, **options)["stopping_time"].mean()
    if not 5.5 < found < 7.5:
        raise AssertionError(f"{found} steps on average, but 6.4 are expected")
    return f"{found:.2f} steps on average"


TESTS = (sums_after_products, stopping_times, least_squares, factorizations, certificate, learned_algorithm)


def main(tests: tuple[Callable[[], str], ...] = TESTS) -> int:
    """Run the tests one after the other, and return how many have failed."""
    jax.config.update("jax_enable_x64", True)
    failures = 0
    for test in tests:
        started = time.perf_counter()
        try:
            outcome = f"ok      {test()}"
        except Exception as error:
            failures += 1
            outcome = f"FAILED  {type(error).__name__}: {' '.join(str(error).split())[:300]}"
        name = test.__name__.replace("_", " ")
        print(f"{name:20} {outcome} ({time.perf_counter() - started:.1f} s)", flush=True)
    return failures


if __name__ == "__main__":
    sys.exit(main())
