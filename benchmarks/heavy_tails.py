"""Pay only for what runs: the time of an evaluation against what the steps actually taken cost.

Gradient descent on bowls whose curvature is log-uniform, so that stopping times have a tail like 1/t up to the
horizon. The cost of a step is measured in a run of the same engine in which every problem takes every step.
"""

import warnings

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)

from timing import best_seconds, show  # noqa: E402

import loa  # noqa: E402

NUM_PROBLEMS, HORIZON, DIMENSION = 40_000, 20_000, 200
NEVER = 1e-300


class Bowls(loa.ProblemClass):
    def sample(self, key):
        return 10.0 ** jax.random.uniform(key, minval=-3.3, maxval=0.0) * jnp.linspace(1.0, 1.5, DIMENSION)

    def loss(self, x, problem):
        return 0.5 * jnp.sum(problem * x**2)

    def start(self, problem, key):
        return jnp.ones(DIMENSION)


def main() -> None:
    problem_class = Bowls()
    problems = problem_class.draw(jax.random.key(0), NUM_PROBLEMS)

    def run(tolerance: float, horizon: int) -> loa.Performance:
        criterion = loa.loss_below(tolerance)
        return loa.evaluate(
            loa.GradientDescent(0.6),
            problem_class,
            problems,
            criterion=criterion,
            horizon=horizon,
            key=jax.random.key(1),
        )

    times = run(1e-6, HORIZON)["stopping_time"]
    horizon = int(times.mean())
    warnings.simplefilter("ignore")  # that this criterion is never met is meant
    rounds = [
        (best_seconds(lambda: run(1e-6, HORIZON), 1), best_seconds(lambda: run(NEVER, horizon), 1)) for _ in range(3)
    ]
    tailed, full = (min(column) for column in zip(*rounds, strict=True))
    cost_of_steps = full * times.sum() / (horizon * NUM_PROBLEMS)
    numbers = {
        "problems": NUM_PROBLEMS,
        "mean_stopping_time": float(times.mean()),
        "median_stopping_time": float(np.median(times)),
        "longest_stopping_time": int(times.max()),
        "seconds": tailed,
        "seconds_of_the_steps_taken": cost_of_steps,
        "ratio": tailed / cost_of_steps,
        "target_ratio": 1.15,
        "ratio_of_a_batch_that_waits": float(times.max() / times.mean()),
    }
    show("heavy_tails", numbers)


if __name__ == "__main__":
    main()
