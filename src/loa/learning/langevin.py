"""The support of the prior: points around a trained algorithm, sampled by constrained Langevin dynamics (section 5)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Key

from ..algorithms.algorithm import Algorithm, Stack, stack
from ..messages.arguments import positive_number, share
from ..problems.criterion import Criterion
from ..problems.problem_class import ProblemClass, count_problems, whole_number
from ..storage.resuming import Evaluations, as_evaluations
from ..trajectory.checks import check_algorithm, check_functionals, check_setting
from ..trajectory.evaluation import Performance, evaluate
from ..trajectory.functionals import Functional, StoppingTime
from ..trajectory.kernels import in_precision_of_problems
from ..trajectory.resumable_loop import resumable_loop
from .learner import Learner, Recipe, solved_within
from .objective import Objective, as_objective

MOST_ROUNDS = 20
"""The sampler gives up after proposing about this many times the number of points wanted."""

NEARLY = 0.95
"""If the algorithm itself violates the constraint, its neighbours must reach this fraction of what it reaches."""


class Support(NamedTuple):
    """Candidates around a trained algorithm, and their performance on the prior problems."""

    stack: Stack
    performance: Performance


def langevin_support(
    algorithm: Algorithm,
    problem_class: ProblemClass,
    problems: Any,
    *,
    criterion: Criterion,
    horizon: int,
    key: Key[Array, ""],
    objective: Objective | Functional | None = None,
    size: int = 100,
    chains: int = 10,
    thinning: int = 50,
    step_size: float = 1e-6,
    batch: int = 32,
    constraint: Functional | None = None,
    at_least: float = 0.95,
    free: Callable[[Any], bool] = eqx.is_inexact_array,
    functionals: Sequence[Functional] = (StoppingTime(),),
    executor: Any = None,
    checkpoints: Path | str | None = None,
) -> Support:
    r"""Sample algorithms around a trained one, by constrained Langevin dynamics on the prior problems.

    \[ h_{k+1} = h_k - \tfrac{\eta_k}{2} \nabla \hat\ell_{\mathrm{train}}(h_k) + \sqrt{\eta_k}\, \xi_k, \qquad
       \xi_k \sim N(0, I), \]

    with \(\eta_k\) = `step_size` / (1 + k / thinning), on several chains in parallel (section 5 of the paper). Every
    `thinning` steps each chain proposes a point. A point that violates the constraint on the prior problems is dropped,
    and its chain returns to its previous point. The trained algorithm itself is the first candidate. If it violates the
    constraint, `at_least` is lowered to 95% of what it reaches.

    Arguments:
        algorithm: the trained algorithm.
        problem_class: the class of the problems.
        problems: the prior problems, a stack.
        criterion: when a problem counts as solved.
        horizon: the largest number of steps.
        key: a PRNG key.
        objective: as in `loa.train`.
        size: the number of candidates, at least 1.
        chains: the number of chains that are sampled and evaluated in parallel, at least 1.
        thinning: the number of steps between two proposals of a chain.
        step_size: η₀ > 0.
        batch: the number of problems per gradient.
        constraint: as in `loa.train`.
        at_least: as in `loa.train`, in [0, 1].
        free: which parameters vary; all candidates share the others.
        functionals: what is measured for every candidate on the prior problems.
        executor: workers on which candidates are evaluated, as in `loa.evaluate`.
        checkpoints: a directory, as in `loa.evaluate`.

    Returns:
        The candidates as a stack, and their performance on the prior problems.

    The page docs/learning.md has an example.
    """
    check_algorithm("algorithm", algorithm)
    check_setting(problem_class, criterion, horizon, key)
    count_problems(problems)
    check_functionals(functionals)
    thinning, batch = whole_number("thinning", thinning), whole_number("batch", batch)
    positive_number("step_size", step_size)
    share("at_least", at_least)
    size, chains = whole_number("size", size), min(whole_number("chains", chains), size)
    constraint = constraint or solved_within(int(horizon))
    objective = as_objective(objective)
    parameters, form = eqx.partition(in_precision_of_problems(algorithm, problem_class, problems), free)
    if not jax.tree.leaves(parameters):
        options = dict(criterion=criterion, horizon=horizon, key=jax.random.fold_in(key, 2), functionals=functionals)
        options |= dict(executor=executor, checkpoints=as_evaluations(checkpoints))
        only = stack([algorithm])  # no neighbours
        return Support(only, evaluate(only, problem_class, problems, **options))

    recipe = Recipe(
        form, problem_class, criterion, objective, *_dynamics(float(step_size), thinning), batch,
        objective.length / horizon, 0.0,
    )  # fmt: skip
    kept_in = as_evaluations(checkpoints)
    options: dict[str, Any] = dict(criterion=criterion, horizon=horizon, key=jax.random.fold_in(key, 2))
    options |= dict(functionals=[constraint, *functionals], executor=executor, checkpoints=kept_in)

    kept, looks, found = [], [], 0
    for number, proposals in enumerate(_proposals(recipe, parameters, problems, chains, thinning, key, kept_in)):
        candidates, accept = proposals
        look = evaluate(_stack_of(candidates, form), problem_class, problems, **options)
        holds = look[constraint.name].mean(axis=(1, 2))
        if number == 0:
            at_least = min(at_least, NEARLY * float(holds[0]))
        good = holds >= at_least
        accept(good)
        kept.append(jax.tree.map(lambda leaf, good=good: leaf[good], candidates))
        looks.append(look.of_candidates(good))
        found += int(good.sum())
        if found >= size:
            break
        if number >= MOST_ROUNDS * (1 + size // chains):
            raise ValueError(
                f"only {found} of {size} points around this algorithm satisfy the constraint: choose a smaller "
                "step_size, or a lower at_least."
            )
    stacked = jax.tree.map(lambda *leaves: jnp.concatenate(leaves)[:size], *kept)
    return Support(_stack_of(stacked, form), Performance.joined(looks).of_candidates(slice(size)))


def _proposals(
    recipe: Recipe, parameters: Any, problems: Any, chains: int, thinning: int, key: Key[Array, ""],
    checkpoints: Evaluations | None,
) -> Any:  # fmt: skip
    """Yield, without end, the points of all chains and a function to call with which of them are accepted.

    In the first round, the first chain proposes the point where all chains begin.
    """
    numbers = jnp.arange(chains)
    keys = jax.vmap(lambda number: jax.random.fold_in(jax.random.fold_in(key, 1), number))(numbers)
    before = jax.vmap(lambda chain_key: recipe.begin(parameters, problems, chain_key))(keys)
    noise_keys = jnp.broadcast_to(jax.random.fold_in(key, 0), (chains,))
    before = before._replace(optimizer_state=_Noise(jnp.zeros(chains, jnp.int32), numbers, noise_keys))
    accepted: list[np.ndarray] = []
    what = f"{thinning} steps of {chains} Langevin chains around {type(recipe.form).__name__}"
    while True:
        after = resumable_loop(_step, (recipe, problems, keys), before, thinning, what=what, checkpoints=checkpoints)
        if not accepted:
            after = jax.tree.map(lambda new, old: new.at[0].set(old[0]), after, before)
        yield after.parameters, accepted.append
        before = _accepted(jnp.asarray(accepted[-1]), after, before)


def _stack_of(parameters: Any, form: Algorithm) -> Stack:
    """Candidates with these stacked parameters, which share the arrays of the form."""
    common, plain = eqx.partition(form, eqx.is_array)
    return Stack(eqx.combine(parameters, plain), None, common if jax.tree.leaves(common) else None)


class _Noise(NamedTuple):
    step: Array
    chain: Array
    key: Key[Array, "..."]


@functools.cache  # so that the same dynamics are not compiled again
def _dynamics(step_size: float, thinning: int) -> tuple[optax.GradientTransformation, optax.Schedule]:
    """Half the gradient, plus noise that has variance η after multiplication by η; and the schedule of η."""

    def schedule(step: Any) -> Any:
        return step_size / (1.0 + step / thinning)

    def init(params: Any) -> Any:
        return _Noise(jnp.zeros((), jnp.int32), jnp.zeros((), jnp.int32), jax.random.key(0))

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        own_key = jax.random.fold_in(jax.random.fold_in(state.key, state.chain), state.step)
        leaves, structure = jax.tree.flatten(updates)
        keys = jax.random.split(own_key, len(leaves))
        scale = 1.0 / jnp.sqrt(schedule(state.step))
        noisy = [0.5 * g + scale * jax.random.normal(k, g.shape, g.dtype) for g, k in zip(leaves, keys, strict=True)]
        return jax.tree.unflatten(structure, noisy), state._replace(step=state.step + 1)

    return optax.GradientTransformation(init, update), schedule


def _step(fixed: tuple[Recipe, Any, Key[Array, " chains"]], _: Any, learners: Learner) -> Learner:
    recipe, pool, keys = fixed
    return jax.vmap(lambda learner, key: recipe.step(learner, pool, key)[0])(learners, keys)


def _accepted(good: Bool[Array, " chains"], proposed: Learner, before: Learner) -> Learner:
    """Accepted chains continue and the others return; time advances for both, so that the noise is new."""

    def choose(new: Any, old: Any) -> Any:
        return jax.vmap(lambda ok, one, other: jnp.where(ok, one, other))(good, new, old)

    kept = jax.tree.map(choose, proposed, before)
    return kept._replace(step=proposed.step, optimizer_state=proposed.optimizer_state)
