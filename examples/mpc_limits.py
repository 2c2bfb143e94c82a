"""Model predictive control of a quadcopter with limits on inputs and states: `loa run examples/mpc_limits.py`."""

import jax
import jax.numpy as jnp
import numpy as np
from scipy.linalg import expm

import loa

STEPS, INPUTS, STATES, ANGLES = 10, 4, 12, np.pi / 6
flow = np.eye(STATES, k=6)
flow[9, 1], flow[10, 0] = 9.81, -9.81
thrusts = np.zeros((STATES, INPUTS))
thrusts[6:9] = [[0.0, -14.5, 0.0, 14.5], [-14.5, 0.0, 14.5, 0.0], [-3.0, 3.0, -3.0, 3.0]]
thrusts[11] = 2.1
motion = expm(0.1 * np.block([[flow, thrusts], [np.zeros((INPUTS, STATES + INPUTS))]]))
powers = [np.linalg.matrix_power(motion[:STATES, :STATES], k) for k in range(STEPS + 1)]
push, free = motion[:STATES, STATES:], np.vstack(powers[1:])
forced = np.block([[powers[i - j] @ push if j <= i else 0 * push for j in range(STEPS)] for i in range(STEPS)])
WEIGHTS = np.kron(np.eye(STEPS), np.diag([0, 0, 10, 10, 10, 10, 0, 0, 0, 5, 5, 5.0]))
LIMITED = np.flatnonzero(np.tile([1, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1], STEPS))
LOWEST = np.tile([-ANGLES, -ANGLES, -1.0, -2.0, -2.0, -1.0], STEPS)
HIGHEST = np.tile([ANGLES, ANGLES, np.inf, 2.0, 2.0, 1.0], STEPS)
P = forced.T @ WEIGHTS @ forced + 0.1 * np.eye(STEPS * INPUTS)
A = np.vstack([np.eye(STEPS * INPUTS), forced[LIMITED]])


class Quadcopter(loa.problems.QuadraticPrograms):
    """A problem: angles, position, their velocities, and a place to go to. The unknowns are 40 thrusts."""

    def sample(self, key):
        spread = jnp.array([0.1, 0.1, 0.3, 0.5, 0.5, 0.2, 0.1, 0.1, 0.1, 0.4, 0.4, 0.2, 1.0, 1.0, 0.5])
        return jnp.clip(jax.random.normal(key, (15,)), -2.0, 2.0) * spread

    def program(self, problem):
        drift, goal = free @ problem[:STATES], jnp.zeros(STATES).at[3:6].set(problem[STATES:])
        q = forced.T @ WEIGHTS @ (drift - jnp.tile(goal, STEPS))
        inputs, fixed = jnp.ones(STEPS * INPUTS), drift[LIMITED]
        lower, upper = jnp.append(-inputs, LOWEST - fixed), jnp.append(2.4 * inputs, HIGHEST - fixed)
        return loa.problems.Program(P, q, A, lower, upper)
