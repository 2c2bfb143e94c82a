"""Optimal losses that no formula gives: computed in batches, to a proven accuracy, and cached on disk.

The loss gap is asked for at every step of every trajectory, so the minimum cannot be computed where it is needed. It
is computed beforehand and travels with the problem:

    problems = with_optimal_losses(problem_class, problem_class.draw(key, 250))

A problem of such a class is a named tuple whose field `optimal_loss` is None, that is: absent, until then. Asking for
it while it is absent is an error that says what to do; there is no number that means "unknown".
"""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Scalar

from ..algorithms import FISTA, LBFGS
from ..messages.arguments import check_type
from ..messages.waiting import waiting_for
from ..problems import gaps
from ..problems.computed_optimum import ComputedOptimum, attainable_accuracy
from ..problems.problem_class import ProblemClass, count_problems
from ..problems.vector_points import dtype_of
from ..storage.cache import Cache, user_cache
from ..storage.checkpoint import recognizable
from .job import where
from .walk import Walk

BATCH = 16
"""How many problems are solved together, and kept in one file of the cache."""


STEPS_PER_CHECK = 50
"""Steps between two checks of the accuracy, which may cost more than a step."""

MOST_CHECKS = 400
"""After 20 000 steps a problem is given up."""


class OptimalLosses(NamedTuple):
    r"""For each problem a value of the loss, and a proven bound of its distance from the minimum."""

    loss: np.ndarray
    error: np.ndarray


def with_optimal_losses(problem_class: ProblemClass, problems: Any, *, progress: bool = False) -> Any:
    """Add their optimal losses to problems of a class that has no formula for them.

    Arguments:
        problem_class: the class of the problems.
        problems: a stack of problems.
        progress: whether to show a bar on a terminal.

    Returns:
        The same problems with the field `optimal_loss`; problems of a class that knows its optimal loss are returned
        unchanged.

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
    r"""Compute the optimal losses of a stack of problems, each with its proven accuracy.

    They are computed in float64, whatever the precision of the problems, until `suboptimality` is below about
    \(10^{-13} \max(1, |\ell|)\), which is far less than what `loa.gaps.loss_gap` forgives; a problem on which that
    fails is an error. Results are kept in the user's cache ($LOA_CACHE, or `loa` in the cache directory) under a hash
    of the program that computes the loss and of all numbers that go into it. A file that is damaged or says something
    impossible is not used, nor is a cache that other users can write to.

    Arguments:
        problem_class: a class that can bound the suboptimality of a point.
        problems: a stack of problems.
        progress: whether to show a bar on a terminal.

    Returns:
        `OptimalLosses`: for each problem a loss, and a proven bound of its distance from the minimum.

    >>> from loa.problems import Lasso
    >>> lasso = Lasso(rows=6, columns=9)
    >>> found = optimal_losses(lasso, lasso.draw(jax.random.key(1), 2))
    >>> found.loss.shape, bool((found.error < 1e-10).all())
    ((2,), True)
    """
    from rich.progress import track

    check_type(
        "problem_class", problem_class, ComputedOptimum, "a class whose optimal losses are computed, such as Lasso"
    )
    size = count_problems(problems)
    with jax.enable_x64(True):
        problem_class = jax.tree.map(_in_float64, problem_class)
        problems = jax.tree.map(_in_float64, problems._replace(optimal_loss=None))
        identity = _identity(problem_class, problems)
        cache = None if identity is None else user_cache()
        parts = []
        for first in track(range(0, size, BATCH), "optimal losses", disable=not progress, transient=True):
            chosen = np.minimum(np.arange(first, first + BATCH), size - 1)
            batch = jax.tree.map(lambda leaf, chosen=chosen: leaf[chosen], problems)
            parts.append(_remembered(problem_class, batch, identity, cache))
        found = OptimalLosses(*(np.concatenate(columns)[:size] for columns in zip(*parts, strict=True)))
        allowed = np.asarray(attainable_accuracy(found.loss))
    if not np.all(found.error <= allowed):
        worst = int(np.argmax(found.error / allowed))
        raise ArithmeticError(
            f"the optimal loss of problem {worst} of this {type(problem_class).__name__} was found only to within "
            f"{found.error[worst]:.1e} (its loss: {found.loss[worst]:.6g}); {allowed[worst]:.1e} is wanted."
        )
    return found


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


def _remembered(
    problem_class: ComputedOptimum, batch: Any, identity: bytes | None, cache: Cache | None
) -> OptimalLosses:
    """Optimal losses of one batch, from the cache if it has them."""
    if identity is None or cache is None:
        return _computed(problem_class, batch)
    name = hashlib.sha256(identity + _bytes(batch)).hexdigest()
    known = cache.load(name, OptimalLosses(np.zeros(BATCH), np.zeros(BATCH)))
    if known is None or not _possible(known):
        known = _computed(problem_class, batch)
        cache.save(name, known)
    return known


def _computed(problem_class: ComputedOptimum, batch: Any) -> OptimalLosses:
    with waiting_for(f"optimal losses of {type(problem_class).__name__}, {BATCH} at a time"):
        _, loss, error = _solve(problem_class, batch)
        return OptimalLosses(np.asarray(loss), np.asarray(error))


@eqx.filter_jit
def _solve(problem_class: ComputedOptimum, batch: Any) -> tuple[Any, Any, Any]:
    """One problem after the other: a solved one need not wait for others, and images are not faster together."""
    points, errors = jax.lax.map(lambda problem: solve(problem_class, problem), batch)
    return points, jax.vmap(problem_class.loss)(points, batch), errors


def solve(problem_class: ComputedOptimum, problem: Any) -> tuple[Any, Scalar]:
    r"""A point whose `suboptimality` is as small as floats allow, or the best seen; and what it is there.

    By FISTA for a class with a `prox`; else by L-BFGS, which also brings the norm of the gradient below
    \(64 \sqrt{\epsilon}\), 1e-6 in float64.
    """
    smooth, key = not problem_class.has("prox"), jax.random.key(0)
    walk = Walk(LBFGS() if smooth else FISTA(), problem_class, problem).knowing()

    def accurate(x: Any, error: Scalar) -> Bool[Array, ""]:
        enough = error <= attainable_accuracy(problem_class.loss(x, problem))
        if not smooth:
            return enough
        return enough & (gaps.gradient_norm(problem_class, x, problem) <= 64.0 * jnp.finfo(dtype_of(x)).eps ** 0.5)

    def some_steps(carry: Any) -> Any:
        moment, best, least, _, checks = carry
        moment = walk.after(moment, STEPS_PER_CHECK, key)
        x = walk.record(moment).iterate
        error = problem_class.suboptimality(x, problem)
        done = accurate(x, error)
        better = done | (error < least)
        return moment, *where(better, (x, error), (best, least)), done, checks + 1

    def unfinished(carry: Any) -> Bool[Array, ""]:
        return ~carry[3] & (carry[4] < MOST_CHECKS)

    first = walk.begin(key)
    x = walk.record(first).iterate
    carry = (first, x, jnp.full((), jnp.inf, dtype_of(x)), jnp.asarray(False), jnp.zeros((), jnp.int32))
    return jax.lax.while_loop(unfinished, some_steps, carry)[1:3]


def _possible(known: OptimalLosses) -> bool:
    """Whether these numbers can be optimal losses of the wanted accuracy."""
    wanted = attainable_accuracy(known.loss)
    return bool(np.all(np.isfinite(known.loss) & (known.error >= 0) & (known.error <= wanted)))
