"""DC optimal power flow in the IEEE 30-bus grid, with limits on lines: `loa run examples/power_flow.py`."""

import jax
import jax.numpy as jnp
import numpy as np

import loa

try:
    import pandapower
    from pandapower.networks import case30
    from pandapower.pypower.makePTDF import makePTDF
except ImportError as error:
    raise ImportError("the grid ships with pandapower: `pip install loa[gallery]`.") from error

net = case30()
pandapower.rundcpp(net, numba=False)
grid, buses = net._ppc["internal"], net._pd2ppc_lookups["bus"]
FLOWS = makePTDF(grid["baseMVA"], grid["bus"], grid["branch"]).real  # in every line, per power into every bus
INTO = np.eye(len(grid["bus"]))[:, buses[np.r_[net.ext_grid.bus, net.gen.bus]]]
LIMITS, PLANTS = grid["branch"][:, 5].real, INTO.shape[1]
LARGEST = np.r_[net.ext_grid.max_p_mw, net.gen.max_p_mw]
DEMAND = np.bincount(buses[net.load.bus], net.load.p_mw, len(grid["bus"]))
P, q = np.diag(2.0 * net.poly_cost.cp2_eur_per_mw2), net.poly_cost.cp1_eur_per_mw.to_numpy()
A = np.vstack([np.ones(PLANTS), np.eye(PLANTS), FLOWS @ INTO])


class PowerFlow(loa.problems.QuadraticPrograms):
    """A problem is the demand at every bus; the unknowns are the outputs of six power plants, in MW."""

    def sample(self, key):
        whole, each = jax.random.split(key)
        return DEMAND * jnp.exp(0.05 * jax.random.normal(whole) + 0.15 * jax.random.normal(each, DEMAND.shape))

    def program(self, demand):
        drawn, total = FLOWS @ demand, jnp.sum(demand)[None]
        lower = jnp.concatenate([total, jnp.zeros(PLANTS), drawn - LIMITS])
        upper = jnp.concatenate([total, LARGEST, drawn + LIMITS])
        return loa.problems.Program(P, q, A, lower, upper)
