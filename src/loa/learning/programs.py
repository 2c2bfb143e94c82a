"""Learning for a class of quadratic programs: a penalty for every row, the relaxation, and where to start."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.core import Tracer
from jaxtyping import Array, Float, Int, Key, Scalar

from ..algorithms.program_admm import Factored, ProgramADMM
from ..algorithms.warm_start import WarmStart, vectors
from ..problems.criterion import Criterion
from ..problems.problem_class import count_problems
from ..problems.programs.cones import alike
from ..problems.programs.quadratic_programs import QuadraticPrograms, Residual
from ..trajectory.walk import Moment, Walk

BATCH = 16
"""Problems in a step of training."""

RATE = 0.1
"""The first learning rate of Adam, which falls to 0 like a cosine."""

LARGEST_RELAXATION = 1.95

SOLVED = Residual(1e-3, 1e-3)
"""Problems on which this residual is below 1 are solved well enough to learn from."""


def first_penalties(problem_class: QuadraticPrograms, problems: Any, log_penalty: float = -8.0) -> ProgramADMM:
    """ADMM with fixed penalties, one for each row: those of the scaled program of the first problem.

    Arguments:
        problem_class: a class of quadratic programs.
        problems: a stack of problems.
        log_penalty: the logarithm of the penalty of a scaled row.

    Returns:
        The algorithm that training can begin with.
    """
    program = jax.vmap(problem_class.arrays)(problems)
    one = jax.tree.map(lambda leaf: leaf[0], program)
    factored = Factored.of(one.P, one.A, jnp.where(one.lower == one.upper, 1e3, 1.0), problem_class.cones)
    size = jnp.maximum(factored.size, jnp.median(jnp.max(jnp.abs(factored.columns * program.q), axis=1)))
    weights = jnp.exp(log_penalty) * size * factored.weights * factored.rows**2
    return ProgramADMM(log_weights=jnp.log(weights), interval=0)


def learn_penalties(
    algorithm: ProgramADMM,
    problem_class: QuadraticPrograms,
    problems: Any,
    *,
    criterion: Criterion,
    steps: int,
    updates: int,
    key: Key[Array, ""],
) -> ProgramADMM:
    r"""Train the penalties and the relaxation of ADMM, by gradients through its steps.

    What is made small is the mean over steps of softplus(log v), where v is the residual divided by its tolerance:
    about the logarithm of v as long as the problem is unsolved, and nearly 0 afterwards.

    Arguments:
        algorithm: ADMM with `log_weights`.
        problem_class, problems: what to train on.
        criterion: when a problem counts as solved.
        steps: the number of steps of ADMM that are unrolled.
        updates: the number of steps of Adam.
        key: for the choice of problems.

    Returns:
        The trained algorithm.
    """
    return _trained(algorithm, problem_class, problems, criterion, key, steps, updates)


@eqx.filter_jit
def _trained(
    algorithm: ProgramADMM,
    problem_class: QuadraticPrograms,
    problems: Any,
    criterion: Criterion,
    key: Key[Array, ""],
    steps: int,
    updates: int,
) -> ProgramADMM:
    optimizer = optax.adam(optax.cosine_decay_schedule(RATE, updates))

    def with_parameters(parameters: Any) -> ProgramADMM:
        return eqx.tree_at(lambda each: (each.log_weights, each.relaxation), algorithm, parameters)

    def cost(parameters: Any, key: Key[Array, ""]) -> Scalar:
        chosen = jax.random.randint(key, (BATCH,), 0, count_problems(problems))

        def one(index: Int[Array, ""]) -> Scalar:
            problem = jax.tree.map(lambda leaf: leaf[index], problems)
            walk = Walk(with_parameters(parameters), problem_class, problem).knowing_program()
            return _unsolved(walk, criterion, steps, key)

        return jnp.mean(jax.vmap(one)(chosen))

    def update(carry: Any, key: Key[Array, ""]) -> tuple[Any, None]:
        parameters, state = carry
        slope = jax.tree.map(lambda part: jnp.nan_to_num(part, posinf=0.0, neginf=0.0), jax.grad(cost)(parameters, key))
        moves, state = optimizer.update(slope, state)
        weights, relaxation = jax.tree.map(jnp.add, parameters, moves)
        return ((weights, jnp.clip(relaxation, 1.0, LARGEST_RELAXATION)), state), None

    parameters: Any = algorithm.log_weights, algorithm.relaxation
    begin = parameters, optimizer.init(parameters)
    return with_parameters(jax.lax.scan(update, begin, jax.random.split(key, updates))[0][0])


def _unsolved(walk: Walk, criterion: Criterion, steps: int, key: Key[Array, ""]) -> Scalar:
    """The mean over some steps of softplus(log v)."""

    def body(moment: Moment, _: None) -> tuple[Moment, Scalar]:
        after = walk.step(moment, key)
        record = walk.look(after)
        ratios = jnp.stack([record.gap(each.gap) / each.tolerance for each in criterion.thresholds()])
        return after, jax.nn.softplus(jnp.log(jnp.max(ratios)))

    return jnp.mean(jax.lax.scan(body, walk.begin(key), length=steps)[1])


def learn_warm_start(
    problem_class: QuadraticPrograms, problems: Any, solutions: Any, *, hidden: int = 256, key: Key[Array, ""]
) -> WarmStart:
    """Learn where to start from solved problems, by least squares.

    Arguments:
        problem_class: the class.
        problems: a stack of problems.
        solutions: their solutions, a stack of `PrimalDual`; those whose relative residual is above 1e-3 are left out.
        hidden: the number of random features.
        key: for these features.

    Returns:
        The map from a program to a guess of its solution.
    """
    programs = jax.vmap(problem_class.arrays)(problems)
    inputs = np.asarray(jax.vmap(vectors)(programs))
    outputs = np.concatenate([np.asarray(solutions.x), np.asarray(solutions.y)], axis=1)
    good = np.asarray(jax.jit(jax.vmap(lambda x, one: SOLVED(problem_class, x, one)))(solutions, problems)) < 1
    if good.sum() < 2:
        raise ValueError(f"a warm start is learned from solved problems, but only {good.sum()} of these are solved.")
    mean, whitening = _whitened(inputs[good])
    inner, bias = (np.asarray(jax.random.normal(each, shape)) for each, shape in zip(
        jax.random.split(key), ((whitening.shape[1], hidden), (hidden,)), strict=True
    ))  # fmt: skip
    inner = inner / np.sqrt(max(whitening.shape[1], 1))
    first = WarmStart(*map(jnp.asarray, (mean, whitening, inner, bias, np.zeros((0, 0)))))
    features = np.asarray(jax.vmap(first.features)(programs))[good]
    outer = _ridge(features, outputs[good])
    return eqx.tree_at(lambda start: start.outer, first, jnp.asarray(outer))


def _whitened(inputs: Float[np.ndarray, "n p"]) -> tuple[np.ndarray, np.ndarray]:
    """The mean, and a map to uncorrelated coordinates of variance 1 that keeps all directions in which inputs vary."""
    mean = inputs.mean(axis=0)
    _, sizes, directions = np.linalg.svd(inputs - mean, full_matrices=False)
    kept = sizes > 1e-8 * sizes.max(initial=1e-300)
    return mean, directions[kept].T / sizes[kept] * np.sqrt(len(inputs))


def _ridge(features: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    """Least squares with the ridge that predicts a quarter of the rows best from the others."""
    cut = max(1, len(features) * 3 // 4)

    def solved(rows: int, ridge: float) -> np.ndarray:
        own = features[:rows]
        return np.linalg.solve(own.T @ own + ridge * rows * np.eye(own.shape[1]), own.T @ outputs[:rows])

    ridges = 10.0 ** np.arange(-8.0, 2.0)
    scale = outputs.std(axis=0) + 1e-300
    errors = [np.mean(((features[cut:] @ solved(cut, ridge) - outputs[cut:]) / scale.max()) ** 2) for ridge in ridges]
    return solved(len(features), ridges[int(np.argmin(errors))])


def folded(algorithm: ProgramADMM, problem_class: QuadraticPrograms, problem: Any) -> ProgramADMM:
    """The same algorithm with its factorization computed beforehand, for a class whose problems share P and A.

    Arguments:
        algorithm: ADMM with `log_weights`.
        problem_class: the class.
        problem: any of its problems.

    Returns:
        The algorithm, unchanged if it has no penalties of its own or if P or A depend on the problem.
    """
    if algorithm.log_weights is None or not shares_matrices(problem_class, problem):
        return algorithm
    program = problem_class.arrays(problem)
    weights = jnp.exp(alike(algorithm.log_weights, problem_class.cones, jnp.mean))
    P, A = jnp.asarray(program.P), jnp.asarray(program.A)
    factored = Factored.with_penalties(P, A, weights, not algorithm.interval)
    return eqx.tree_at(
        lambda each: (each.factored, each.log_weights), algorithm, (factored, None), is_leaf=lambda leaf: leaf is None
    )


def shares_matrices(problem_class: QuadraticPrograms, problem: Any) -> bool:
    """Whether all problems of a class have the same P and A, as constants that `program` returns."""
    found = []

    def note(problem: Any) -> Array:
        program = problem_class.arrays(problem)
        found.extend(isinstance(part, Tracer) for part in (program.P, program.A))
        return jnp.zeros(())

    jax.eval_shape(note, problem)
    return not any(found)
