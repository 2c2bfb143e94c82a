"""Model predictive control of three coupled masses with bounded forces: `loa run examples/mpc.py`."""

import jax
import jax.numpy as jnp
import numpy as np
from scipy.linalg import expm

import loa

MASSES, STEPS = 3, 15
springs = 2.0 * np.eye(MASSES) - np.eye(MASSES, k=1) - np.eye(MASSES, k=-1)
nothing, one = np.zeros((MASSES, MASSES)), np.eye(MASSES)
motion = expm(0.5 * np.block([[nothing, one, nothing], [-springs, nothing, one], [np.zeros((MASSES, 3 * MASSES))]]))
dynamics, push = motion[: 2 * MASSES, : 2 * MASSES], motion[: 2 * MASSES, 2 * MASSES :]
powers = [np.linalg.matrix_power(dynamics, k) for k in range(STEPS + 1)]
free = np.vstack(powers[1:])
forced = np.block([[powers[i - j] @ push if j <= i else 0 * push for j in range(STEPS)] for i in range(STEPS)])
HESSIAN = forced.T @ forced + 0.1 * np.eye(MASSES * STEPS)
LINEAR = forced.T @ free


class Control(loa.ProblemClass):
    """A problem is the measured state of the masses; the unknowns are the 45 forces of the next 15 steps."""

    def sample(self, key):
        return 2.0 * jax.random.normal(key, (2 * MASSES,))

    def smooth(self, forces, state):
        return 0.5 * forces @ HESSIAN @ forces + forces @ LINEAR @ state

    constraint = loa.sets.Box(-1.0, 1.0)

    def smoothness(self, state):
        return np.linalg.eigvalsh(HESSIAN)[-1]

    def start(self, state, key):
        return jnp.zeros(MASSES * STEPS)

    def next(self, state, forces, key):  # the first forces are applied, and something unforeseen happens
        return dynamics @ state + push @ forces[:MASSES] + 0.1 * jax.random.normal(key, state.shape)
