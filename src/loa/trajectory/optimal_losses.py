"""Optimal losses that no formula gives: computed for many problems at once, to a proven accuracy, and cached on disk.

The loss gap is asked for at every step of every trajectory, so the minimum cannot be computed where it is needed. It
is computed beforehand and travels with the problem:

    problems = with_optimal_losses(problem_class, problem_class.draw(key, 250))

A problem of such a class is a named tuple whose field `optimal_loss` is None, that is: absent, until then. Asking for
it while it is absent is an error that says what to do; there is no number that means "unknown".
"""

from __future__ import annotations

import hashlib
import os
import warnings
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Scalar

from ..algorithms import FISTA, LBFGS
from ..problems import gaps
from ..problems.computed_optimum import ComputedOptimum, attainable_accuracy
from ..problems.problem_class import ProblemClass, count_problems
from ..storage.checkpoint import recognizable
from ..storage.files import write_whole
from .kernels import initial, semigroup

BATCH = 16
"""How many problems are solved together, and kept in one file of the cache."""


STEPS_PER_CHECK = 50
"""How many steps are made before accuracy is looked at, which may cost more than a step."""

MOST_CHECKS = 400
"""After 20 000 steps a problem is given up."""


class OptimalLosses(NamedTuple):
    r"""For each problem a value of the loss, and a proven bound of its distance from the minimum."""

    loss: np.ndarray
    error: np.ndarray


def with_optimal_losses(problem_class: ProblemClass, problems: Any, *, progress: bool = False) -> Any:
    """The same problems, carrying their optimal losses.

    Problems of a class that knows its optimal loss are returned as they are.

    >>> from loa.problems import Lasso
    >>> lasso = Lasso(rows=6, columns=9)
    >>> problems = lasso.draw(jax.random.key(1), 2)
    >>> lasso.optimal_loss(problems)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    loa.problems.problem_class.MissingOracle: the optimal losses of these Lasso problems are not known yet; ...
    >>> problems = with_optimal_losses(lasso, problems)
    >>> bool((jax.vmap(lasso.optimal_loss)(problems) > 0).all())
    True
    """
    if not isinstance(problem_class, ComputedOptimum):
        return problems
    dtype = jnp.result_type(*jax.tree.leaves(problems))
    return problems._replace(
        optimal_loss=jnp.asarray(optimal_losses(problem_class, problems, progress=progress).loss, dtype)
    )


def optimal_losses(problem_class: ComputedOptimum, problems: Any, *, progress: bool = False) -> OptimalLosses:
    r"""Optimal losses of a stack of problems, each with its proven accuracy.

    Computed in float64, whatever the precision of the problems, until `suboptimality` is below about
    \(10^{-13} \max(1, |\ell|)\), which is far less than what `loa.gaps.loss_gap` forgives; a problem on which that
    fails is an error. Results are kept in `cache_directory()` under a hash of the program that computes the loss
    and of all numbers that go into it. A file that cannot be read whole or says something impossible is not used.
    """
    from rich.progress import track

    size = count_problems(problems)
    with jax.enable_x64(True):
        problem_class = jax.tree.map(_in_float64, problem_class)
        problems = jax.tree.map(_in_float64, problems._replace(optimal_loss=None))
        identity = _identity(problem_class, problems)
        parts = []
        for first in track(range(0, size, BATCH), "optimal losses", disable=not progress, transient=True):
            chosen = np.minimum(np.arange(first, first + BATCH), size - 1)
            batch = jax.tree.map(lambda leaf, chosen=chosen: leaf[chosen], problems)
            parts.append(_remembered(problem_class, batch, identity))
        found = OptimalLosses(*(np.concatenate(columns)[:size] for columns in zip(*parts, strict=True)))
        allowed = np.asarray(attainable_accuracy(found.loss))
    if not np.all(found.error <= allowed):
        worst = int(np.argmax(found.error / allowed))
        raise ArithmeticError(
            f"the optimal loss of problem {worst} of this {type(problem_class).__name__} was found only to within "
            f"{found.error[worst]:.1e} (its loss: {found.loss[worst]:.6g}); {allowed[worst]:.1e} is wanted."
        )
    return found


def cache_directory() -> Path:
    """Where optimal losses are kept: $LOA_CACHE, or `loa` in the user's cache directory."""
    chosen = os.environ.get("LOA_CACHE")
    return Path(chosen) if chosen else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "loa"


def _in_float64(leaf: Any) -> Any:
    is_array = isinstance(leaf, jax.Array | np.ndarray)
    return jnp.asarray(leaf, jnp.float64) if is_array and jnp.issubdtype(leaf.dtype, jnp.floating) else leaf


def _identity(problem_class: ComputedOptimum, problems: Any) -> bytes | None:
    """What the loss of this class is: the program that computes it, and the arrays that belong to the class.

    None if that cannot be told.
    """
    problem = jax.tree.map(lambda leaf: leaf[0], problems)
    x = problem_class.start(problem, jax.random.key(0))
    arrays, rest = eqx.partition(problem_class, eqx.is_array)

    def loss(arrays: Any, x: Any, problem: Any) -> Scalar:
        return eqx.combine(arrays, rest).loss(x, problem)

    program = jax.jit(loss).lower(arrays, x, problem).as_text()
    return program.encode() + _bytes(problem_class) if recognizable(program) else None


def _bytes(tree: Any) -> bytes:
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(tree) if eqx.is_array(leaf)]
    return b"".join(str((leaf.shape, leaf.dtype)).encode() + leaf.tobytes() for leaf in leaves)


def _remembered(problem_class: ComputedOptimum, batch: Any, identity: bytes | None) -> OptimalLosses:
    """Optimal losses of one batch, from the cache if it has them."""
    if identity is None:
        return _computed(problem_class, batch)
    path = cache_directory() / f"{hashlib.sha256(identity + _bytes(batch)).hexdigest()}.npz"
    known = _read(path)
    if known is not None:
        return known
    found = _computed(problem_class, batch)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, lambda temporary: np.savez(temporary, **found._asdict()))
    except OSError as reason:
        warnings.warn(f"optimal losses could not be kept for the next time: {reason}.", stacklevel=2)
    return found


def _computed(problem_class: ComputedOptimum, batch: Any) -> OptimalLosses:
    _, loss, error = _solve(problem_class, batch)
    return OptimalLosses(np.asarray(loss), np.asarray(error))


@eqx.filter_jit
def _solve(problem_class: ComputedOptimum, batch: Any) -> tuple[Any, Any, Any]:
    """One problem after the other: a solved one need not wait for others, and images are not faster together."""
    points, errors = jax.lax.map(lambda problem: solve(problem_class, problem), batch)
    return points, jax.vmap(problem_class.loss)(points, batch), errors


def solve(problem_class: ComputedOptimum, problem: Any) -> tuple[Float[Array, ...], Scalar]:
    r"""A point whose `suboptimality` is as small as floats allow, or the best seen; and what it is there.

    By FISTA for a class with a `prox`; else by L-BFGS, which also brings the norm of the gradient below
    \(64 \sqrt{\epsilon}\), 1e-6 in float64.
    """
    smooth, key = type(problem_class).prox is ProblemClass.prox, jax.random.key(0)
    algorithm = LBFGS() if smooth else FISTA()

    def accurate(x: Any, error: Scalar) -> Bool[Array, ""]:
        enough = error <= attainable_accuracy(problem_class.loss(x, problem))
        flat = gaps.gradient_norm(problem_class, x, problem) <= 64.0 * jnp.finfo(x.dtype).eps ** 0.5 if smooth else True
        return enough & flat

    def some_steps(carry: Any) -> Any:
        state, best, least, _, checks = carry
        state = semigroup(algorithm, problem_class, problem, state, STEPS_PER_CHECK, key)
        x = algorithm.iterate(state)
        error = problem_class.suboptimality(x, problem)
        done = accurate(x, error)
        better = done | (error < least)
        return state, jnp.where(better, x, best), jnp.where(better, error, least), done, checks + 1

    def unfinished(carry: Any) -> Bool[Array, ""]:
        return ~carry[3] & (carry[4] < MOST_CHECKS)

    state, _ = initial(algorithm, problem_class, problem, key)
    x = algorithm.iterate(state)
    carry = (state, x, jnp.full((), jnp.inf, x.dtype), jnp.asarray(False), jnp.zeros((), jnp.int32))
    return jax.lax.while_loop(unfinished, some_steps, carry)[1:3]


def _read(path: Path) -> OptimalLosses | None:
    """What a file of the cache says, unless there is any doubt about it. (npz files carry checksums.)"""
    try:
        with np.load(path, allow_pickle=False) as saved:
            known = OptimalLosses(saved["loss"], saved["error"])
        wanted = attainable_accuracy(known.loss)
        sound = known.loss.shape == known.error.shape == (BATCH,) and bool(
            np.all(np.isfinite(known.loss) & (known.error >= 0) & (known.error <= wanted))
        )
    except (OSError, ValueError, KeyError, EOFError, TypeError, zipfile.BadZipFile):
        return None
    return known if sound else None
