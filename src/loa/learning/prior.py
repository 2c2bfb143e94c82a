"""Prior and posterior: a finite set of parameters around a trained point, and the Gibbs distribution on it (section 5).

The support is sampled by stochastic gradient Langevin dynamics on the prior problems and weighted by how its points do
there. The posterior weighs them again by the posterior problems. The deployed algorithm is the posterior's mode.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Key

from ..algorithms.algorithm import Algorithm, Stack
from ..certificates.product import choose_lambda, gibbs_posterior
from ..evaluation import evaluate
from ..functionals import Functional, Indicator
from ..kernels import in_precision_of_problems
from ..problems.criterion import Criterion
from ..problems.problem_class import ProblemClass, check_key, count_problems, whole_number
from .learner import Learner, Recipe, advance
from .objective import Objective
from .training import as_objective

MOST_ROUNDS = 20
"""How many times as many points as wanted are tried before giving up."""


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
) -> Stack:
    r"""Points around a trained algorithm, by constrained Langevin dynamics on the prior problems.

    \[ h_{k+1} = h_k - \tfrac{\eta_k}{2} \nabla \hat\ell_{\mathrm{train}}(h_k) + \sqrt{\eta_k}\, \xi_k, \qquad
       \xi_k \sim N(0, I), \]

    with \(\eta_k\) = `step_size` / (1 + k / thinning), on several chains at once. Every `thinning` steps they propose
    points; those that violate the constraint on the prior problems are dropped, and their chains go back. The trained
    algorithm itself comes first.

    Arguments:
        size: how many points.
        chains: how many are sampled, and evaluated, at once.
        constraint, at_least, objective: as in `loa.train`.
    """
    check_key(key)
    count_problems(problems)
    size, chains = whole_number("size", size), min(whole_number("chains", chains), size)
    objective = as_objective(objective)
    algorithm = in_precision_of_problems(algorithm, problem_class, problems)
    constraint = constraint or Indicator("solved", lambda tau: tau <= horizon)
    parameters, form = eqx.partition(algorithm, eqx.is_inexact_array)

    def schedule(step: Any) -> Any:
        return step_size / (1.0 + step / thinning)

    recipe = Recipe(
        form, problem_class, criterion, objective, _noise(schedule, jax.random.fold_in(key, 0)), schedule,
        whole_number("batch", batch), objective.length / horizon, 0.0,
    )  # fmt: skip
    numbers = jnp.arange(chains)
    chain_keys = jax.vmap(lambda number: jax.random.fold_in(jax.random.fold_in(key, 1), number))(numbers)
    learners = jax.vmap(lambda chain_key: recipe.begin(parameters, problems, chain_key))(chain_keys)
    learners = learners._replace(optimizer_state=_Noise(jnp.zeros(chains, jnp.int32), numbers))

    def satisfies(stack: Stack) -> np.ndarray:
        performance = evaluate(
            stack,
            problem_class,
            problems,
            criterion=criterion,
            horizon=horizon,
            key=jax.random.fold_in(key, 2),
            functionals=[constraint],
        )
        return performance[constraint.name].mean(axis=(1, 2)) >= at_least

    found = [parameters]
    for _ in range(MOST_ROUNDS * (1 + size // chains)):
        if len(found) >= size:
            break
        proposed = _walk((recipe, problems, chain_keys), learners, thinning)
        good = satisfies(Stack(eqx.combine(proposed.parameters, form)))
        found += [jax.tree.map(lambda leaf, c=c: leaf[c], proposed.parameters) for c in np.flatnonzero(good)]
        learners = _accepted(jnp.asarray(good), proposed, learners)
    if len(found) < size:
        raise ValueError(
            f"only {len(found)} of {size} points around this algorithm satisfy the constraint: choose a smaller "
            "step_size, or a lower at_least."
        )
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *found[:size])
    return Stack(eqx.combine(stacked, form))


class Weighted(NamedTuple):
    """A distribution on candidates, and the λ it was made with."""

    stack: Stack
    lam: float


def prior_on(support: Stack, values: Any, *, cap: float, num_posterior: int, confidence: float = 0.95) -> Weighted:
    """The prior: the Gibbs distribution that values on the prior problems give, (candidate, problem, replicate).

    λ is the best one for a certificate from `num_posterior` problems, as far as the prior problems tell.
    """
    table = np.asarray(values, float).mean(axis=-1).T
    uniform = np.full(len(support), 1.0 / len(support))
    lam = choose_lambda(table, float(np.log(len(support))), num_posterior, 1.0 - confidence, cap)
    return Weighted(Stack(support.algorithms, gibbs_posterior(table, uniform, lam, cap)), lam)


def posterior_on(prior: Weighted, values: Any, *, cap: float) -> Weighted:
    """The Gibbs posterior in closed form, from values on the posterior problems, (candidate, problem, replicate)."""
    table = np.asarray(values, float).mean(axis=-1).T
    return Weighted(
        Stack(prior.stack.algorithms, gibbs_posterior(table, prior.stack.weights, prior.lam, cap)), prior.lam
    )


def mode(stack: Stack) -> tuple[int, Algorithm]:
    """The most probable candidate, and its index."""
    if stack.weights is None:
        raise ValueError("this stack has no weights, so no mode.")
    index = int(np.argmax(stack.weights))
    return index, stack[index]


class _Noise(NamedTuple):
    step: Array
    chain: Array


def _noise(schedule: optax.Schedule, key: Key[Array, ""]) -> optax.GradientTransformation:
    """Half the gradient, plus noise that has variance η after multiplication by η."""

    def init(params: Any) -> Any:
        return _Noise(jnp.zeros((), jnp.int32), jnp.zeros((), jnp.int32))

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        own_key = jax.random.fold_in(jax.random.fold_in(key, state.chain), state.step)
        leaves, structure = jax.tree.flatten(updates)
        keys = jax.random.split(own_key, len(leaves))
        scale = 1.0 / jnp.sqrt(schedule(state.step))
        noisy = [0.5 * g + scale * jax.random.normal(k, g.shape, g.dtype) for g, k in zip(leaves, keys, strict=True)]
        return jax.tree.unflatten(structure, noisy), _Noise(state.step + 1, state.chain)

    return optax.GradientTransformation(init, update)


@eqx.filter_jit
def _walk(fixed: tuple[Recipe, Any, Key[Array, " chains"]], learners: Learner, steps: int) -> Learner:
    recipe, pool, keys = fixed
    return jax.vmap(lambda learner, key: advance((recipe, pool, key), learner, steps)[0])(learners, keys)


def _accepted(good: Float[Array, " chains"], proposed: Learner, before: Learner) -> Learner:
    """The chains that go on, and those that go back; time goes on for both, so that the noise is new."""

    def choose(new: Any, old: Any) -> Any:
        return jax.vmap(lambda ok, one, other: jnp.where(ok, one, other))(good, new, old)

    kept = jax.tree.map(choose, proposed, before)
    return kept._replace(step=proposed.step, optimizer_state=proposed.optimizer_state)
