"""Memory does not depend on the horizon: 2000 problems of dimension 30 000 over 1000 steps, peak memory in all."""

import resource
import time

import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)

from timing import show  # noqa: E402

import loa  # noqa: E402

NUM_PROBLEMS, HORIZON, DIMENSION = 2000, 1000, 30_000


class Bowls(loa.ProblemClass):
    def sample(self, key):
        return jax.random.uniform(key, (DIMENSION,), minval=0.1, maxval=1.0)

    def loss(self, x, problem):
        return 0.5 * jnp.sum(problem * x**2)

    def start(self, problem, key):
        return jnp.ones(DIMENSION)


def main() -> None:
    problem_class = Bowls()
    problems = problem_class.draw(jax.random.key(0), NUM_PROBLEMS)
    started = time.perf_counter()
    result = loa.evaluate(
        loa.HeavyBall(1e-4, 0.5),
        problem_class,
        problems,
        criterion=loa.loss_below(1e-9),
        horizon=HORIZON,
        key=jax.random.key(1),
        functionals=[loa.StoppingTime(), loa.ContractionFactor(cap=1.0)],
    )
    assert (result["stopping_time"] == HORIZON).all()
    numbers = {
        "problem_steps": NUM_PROBLEMS * HORIZON,
        "seconds": time.perf_counter() - started,
        "problems_gib": problems.nbytes / 2**30,
        "peak_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "target_gib": 4,
    }
    show("memory", numbers)


if __name__ == "__main__":
    main()
