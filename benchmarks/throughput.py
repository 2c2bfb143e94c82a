"""The paper's quadratics under its learned update: floating-point rate against a large matrix product.

Only the arithmetic that the direction network needs is counted: 680 operations per coordinate and step, consecutive
linear layers merged. Matrix product and engine are timed alternately, so that other load hits both.
"""

import jax

jax.config.update("jax_enable_x64", True)

from timing import best_seconds, matrix_product_rate, show  # noqa: E402

import loa  # noqa: E402
from loa.architectures import LearnedQuadratics  # noqa: E402

NUM_PROBLEMS, HORIZON, DIMENSION = 1000, 500, 200
OPERATIONS = 2 * (3 * 10 + 3 * 10 * 10 + 10 * 1)


def main() -> None:
    problem_class = loa.problems.Quadratics()
    problems = problem_class.draw(jax.random.key(0), NUM_PROBLEMS)
    algorithm = jax.tree.map(lambda weight: 0.1 * weight, LearnedQuadratics(key=jax.random.key(1)))

    def run() -> loa.Performance:
        return loa.evaluate(
            algorithm,
            problem_class,
            problems,
            criterion=loa.loss_below(1e-8) | loa.gradient_norm_below(1e-6),
            horizon=HORIZON,
            key=jax.random.key(2),
            functionals=[loa.StoppingTime(), loa.ContractionFactor(cap=0.98), loa.OracleCalls()],
        )

    steps = int(run()["stopping_time"].sum())
    rounds = [(matrix_product_rate(), steps / best_seconds(run, repeats=2)) for _ in range(4)]
    peak, steps_per_second = (max(column) for column in zip(*rounds, strict=True))
    rate = steps_per_second * DIMENSION * OPERATIONS
    numbers = {
        "problem_steps_per_second": round(steps_per_second),
        "gigaflops": rate / 1e9,
        "matrix_product_gigaflops": peak / 1e9,
        "ratio": rate / peak,
        "target_ratio": 0.65,
    }
    show("throughput", numbers)


if __name__ == "__main__":
    main()
