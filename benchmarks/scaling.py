"""Cost against the number of problems, from a hundred to a hundred thousand: seconds per problem should not grow."""

import jax

jax.config.update("jax_enable_x64", True)

from timing import best_seconds, show  # noqa: E402

import loa  # noqa: E402


def main() -> None:
    problem_class = loa.problems.Quadratics(dimension=20, strong_convexity=(0.1, 0.5), smoothness_range=(1.0, 5.0))
    curve = []
    for num_problems in (100, 300, 1000, 3000, 10_000, 30_000, 100_000):
        problems = problem_class.draw(jax.random.key(0), num_problems)

        def run(problems=problems) -> loa.Performance:
            return loa.evaluate(
                loa.GradientDescent(0.3),
                problem_class,
                problems,
                criterion=loa.loss_below(1e-8),
                horizon=1000,
                key=jax.random.key(1),
            )

        seconds = best_seconds(run, repeats=3)
        curve.append({"problems": num_problems, "seconds": seconds, "microseconds_each": 1e6 * seconds / num_problems})
    show("scaling", {"curve": curve})


if __name__ == "__main__":
    main()
