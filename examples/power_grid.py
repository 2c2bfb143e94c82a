"""State estimation in the IEEE 14-bus power grid: `loa run examples/power_grid.py`."""

import jax
import jax.numpy as jnp
import numpy as np

import loa

# Branches: ends, resistance, reactance (per unit). Charging of lines and ratios of transformers are left out.
TABLE = """1 2 .01938 .05917  1 5 .05403 .22304  2 3 .04699 .19797  2 4 .05811 .17632  2 5 .05695 .17388
    3 4 .06701 .17103  4 5 .01335 .04211  4 7 0 .20912  4 9 0 .55618  5 6 0 .25202  6 11 .09498 .19890
    6 12 .12291 .25581  6 13 .06615 .13027  7 8 0 .17615  7 9 0 .11001  9 10 .03181 .08450  9 14 .12711 .27038
    10 11 .08205 .19207  12 13 .22092 .19988  13 14 .17093 .34802"""
BRANCHES = np.array(TABLE.split(), float).reshape(-1, 4)
ENDS, ADMITTANCES = BRANCHES[:, :2].astype(int) - 1, 1.0 / (BRANCHES[:, 2] + 1j * BRANCHES[:, 3])
SPREAD, ACCURACY = np.repeat([0.03, 0.15], [14, 13]), 0.01


def measurements(state):
    """Voltages of all buses, then active and reactive power into both ends of every branch."""
    voltages, angles = 1.0 + state[:14], jnp.append(0.0, state[14:])
    phasors = (voltages * jnp.exp(1j * angles))[ENDS]
    power = phasors * jnp.conj(ADMITTANCES[:, None] * (phasors - phasors[:, ::-1]))
    return jnp.concatenate([voltages, power.real.ravel(), power.imag.ravel()])


class StateEstimation(loa.ProblemClass):
    """Weighted least squares from a flat start; a fifth of the meters is silent, other ones in every problem."""

    def sample(self, key):
        state, meter, noise = jax.random.split(key, 3)
        truth = measurements(jax.random.normal(state, (27,)) * SPREAD)
        heard = jax.random.bernoulli(meter, 0.8, truth.shape)
        return truth + ACCURACY * jax.random.normal(noise, truth.shape), heard / ACCURACY

    def loss(self, state, problem):
        return 0.5 * jnp.mean((problem[1] * (measurements(state) - problem[0])) ** 2)

    def start(self, problem, key):
        return jnp.zeros(27)
