"""What the way of drawing mini-batches and the start do to Adam on the stochastic network.

The paper's randomness is drawn for every step, so mini-batches are independent. Elsewhere one goes through the
data in shuffled passes. The start is one draw shared by all problems, so its seed is part of the problem class.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)

from timing import show  # noqa: E402

import loa  # noqa: E402
from loa.problems.oracle import Oracle  # noqa: E402

SEEDS = range(6)


class Pass(NamedTuple):
    """The state of Adam, and the order of the data in the current pass."""

    inner: Any
    order: Any


class AdamInPasses(loa.Algorithm):
    """Adam on mini-batches that together make up the data, shuffled again for each pass."""

    adam: loa.Adam
    batch_size: int

    def init(self, oracle, x0):
        return Pass(self.adam.init(oracle, x0), jnp.arange(oracle.problem_class.num_points))

    def step(self, oracle, state, key):
        number = state.inner.time % (state.order.size // self.batch_size)
        order = jnp.where(number == 0, jax.random.permutation(key, state.order.size), state.order)
        chosen = jax.lax.dynamic_slice(order, (number * self.batch_size,), (self.batch_size,))
        batch = jax.tree.map(lambda leaf: leaf[chosen], oracle.problem)
        return Pass(self.adam.step(Oracle(oracle.problem_class, batch), state.inner, key), order)

    def iterate(self, state):
        return self.adam.iterate(state.inner)


def main() -> None:
    setting = loa.experiments.get("stochastic-network")
    methods = {"independent": loa.Adam(0.02, stochastic=True), "passes": AdamInPasses(loa.Adam(0.02), 5)}
    rows = []
    for seed in SEEDS:
        problem_class = loa.problems.StochasticNetworkTraining(seed=seed)
        problems = problem_class.draw(jax.random.key(0), 250)
        options = dict(criterion=setting.criterion, horizon=setting.horizon, key=jax.random.key(1))
        for name, algorithm in methods.items():
            performance = loa.evaluate(algorithm, problem_class, problems, **options)
            mean = loa.measures.mean(performance["stopping_time"])
            solved = float((performance.outcome == "solved").mean())
            rows.append({"start": seed, "batches": name, "mean": float(mean), "high": mean.high, "solved": solved})
    show("minibatches", {"problems": 250, "horizon": setting.horizon, "rows": rows})


if __name__ == "__main__":
    main()
