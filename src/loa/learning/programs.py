"""Learning for quadratic programs: penalties, one for each row, and where to start."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Key, Scalar

from ..algorithms.program_admm import ProgramADMM
from ..problems.criterion import Criterion
from ..problems.problem_class import count_problems
from ..problems.programs import QuadraticPrograms
from ..trajectory.walk import Walk


@eqx.filter_jit
def _trained(algorithm, problem_class, problems, criterion, key, steps, updates, batch, rate):
    optimizer = optax.adam(optax.cosine_decay_schedule(rate, updates))
    trained = eqx.filter(algorithm, lambda leaf: False)
    parameters = (algorithm.log_weights, algorithm.relaxation)
    count = count_problems(problems)

    def with_parameters(parameters):
        return eqx.tree_at(lambda each: (each.log_weights, each.relaxation), algorithm, parameters)

    def cost(parameters, key):
        chosen = jax.random.randint(key, (batch,), 0, count)
        own = with_parameters(parameters)

        def one(problem):
            walk = Walk(own, problem_class, problem)

            def body(moment, _):
                moment = walk.step(moment, key)
                record = walk.look(moment)
                excess = jnp.stack([jnp.log(record.gap(each.gap) / each.tolerance) for each in criterion.thresholds()])
                return moment, jnp.mean(jax.nn.softplus(excess.max()))

            return jnp.mean(jax.lax.scan(body, walk.begin(key), length=steps)[1])

        return jnp.mean(jax.vmap(one)(jax.tree.map(lambda leaf: leaf[chosen], problems)))

    def update(carry, key):
        parameters, state = carry
        value, slope = jax.value_and_grad(cost)(parameters, key)
        slope = jax.tree.map(lambda part: jnp.where(jnp.isfinite(part), part, 0.0), slope)
        moves, state = optimizer.update(slope, state)
        parameters = jax.tree.map(jnp.add, parameters, moves)
        parameters = (parameters[0], jnp.clip(parameters[1], 1.0, 1.95))
        return (parameters, state), value

    (parameters, _), values = jax.lax.scan(
        update, (parameters, optimizer.init(parameters)), jax.random.split(key, updates)
    )
    return with_parameters(parameters), values
