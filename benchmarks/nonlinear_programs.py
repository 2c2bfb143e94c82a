"""Nonlinear programs: augmented Lagrangian methods against SLSQP of SciPy, on four natural classes.

    python benchmarks/nonlinear_programs.py [--problems 20]

For each class: the iterations of SLSQP, and for each inner method how many problems are solved, in how many steps and
gradients, and how far the objectives are from those of SLSQP. Both start from the same points.
"""

import argparse

import jax
import jax.numpy as jnp
import numpy as np
import scipy.optimize

import loa
from loa.problems import NonlinearPrograms
from loa.trajectory.kernels import iterates_after

jax.config.update("jax_enable_x64", True)

GRID = np.linspace(-1.0, 1.0, 21)


class Chains(NonlinearPrograms):
    """A chain of ten links of fixed length between two points."""

    def sample(self, key):
        first, second = jax.random.split(key)
        weights = jax.random.uniform(first, (9,), minval=0.5, maxval=2.0)
        return {"weights": weights, "end": jnp.array([3.0, 0.0]) + 0.5 * jax.random.normal(second, (2,))}

    def objective(self, x, problem):
        return problem["weights"] @ x[:, 1]

    def equalities(self, x, problem):
        places = jnp.concatenate([jnp.zeros((1, 2)), x, problem["end"][None]])
        return jnp.sum((places[1:] - places[:-1]) ** 2, axis=1) - 0.25

    def first(self, problem, key):
        way = jnp.linspace(0.0, 1.0, 11)[1:-1, None]
        return way * problem["end"] - jnp.array([0.0, 4.0]) * way * (1.0 - way)


class LargestEntropies(NonlinearPrograms):
    """The distribution of largest entropy on a grid with given mean and variance, by its logarithms."""

    def sample(self, key):
        first, second = jax.random.split(key)
        mean = jax.random.uniform(first, minval=-0.4, maxval=0.4)
        return jnp.stack([mean, mean**2 + jax.random.uniform(second, minval=0.05, maxval=0.25)])

    def objective(self, x, problem):
        return jnp.exp(x) @ x

    def equalities(self, x, problem):
        shares = jnp.exp(x)
        return jnp.stack([shares.sum() - 1.0, shares @ GRID - problem[0], shares @ GRID**2 - problem[1]])

    def first(self, problem, key):
        return jnp.full(21, -jnp.log(21.0))


class Pendulums(NonlinearPrograms):
    """Optimal control of a pendulum over ten steps, with limits of the torque."""

    def sample(self, key):
        return jnp.array([1.0, 0.0]) + 0.5 * jax.random.normal(key, (2,))

    def objective(self, x, problem):
        return 0.5 * jnp.sum(x["states"] ** 2) + 0.05 * jnp.sum(x["torque"] ** 2)

    def equalities(self, x, problem):
        states = jnp.concatenate([problem[None], x["states"]])
        angle, speed = states[:-1].T
        ahead = jnp.stack([angle + 0.2 * speed, speed + 0.2 * (jnp.sin(angle) + x["torque"])], axis=1)
        return (states[1:] - ahead).ravel()

    def inequalities(self, x, problem):
        return jnp.concatenate([x["torque"] - 3.0, -3.0 - x["torque"]])

    def first(self, problem, key):
        return {"states": jnp.tile(problem, (10, 1)), "torque": jnp.zeros(10)}


class Frames(NonlinearPrograms):
    """Two orthonormal vectors with the smallest weighted trace of a symmetric matrix."""

    def sample(self, key):
        root = jax.random.normal(key, (6, 6))
        return root + root.T

    def objective(self, x, problem):
        return jnp.trace(x.T @ problem @ x @ jnp.diag(jnp.array([1.0, 2.0])))

    def equalities(self, x, problem):
        return (x.T @ x - jnp.eye(2))[jnp.triu_indices(2)]

    def first(self, problem, key):
        return jnp.eye(6)[:, :2] + 0.1 * jax.random.normal(key, (6, 2))


METHODS = {
    "Newton": loa.AugmentedLagrangian(loa.Newton()),
    "CG": loa.AugmentedLagrangian(loa.ConjugateGradient()),
    "L-BFGS": loa.AugmentedLagrangian(loa.LBFGS()),
}


def by_slsqp(problem_class, problems, starts):
    """The objectives and iterations of SLSQP."""
    form = problem_class.form(jax.tree.map(lambda leaf: leaf[0], problems))
    objective = jax.jit(lambda v, problem: problem_class.objective(form.point(v), problem))
    slope = jax.jit(jax.grad(objective))
    equal = jax.jit(lambda v, problem: problem_class.constraints(form.point(v), problem)[0])
    room = jax.jit(lambda v, problem: -problem_class.constraints(form.point(v), problem)[1])
    slopes = jax.jit(jax.jacobian(equal)), jax.jit(jax.jacobian(room))
    found = []
    for number, start in enumerate(starts):
        problem = jax.tree.map(lambda leaf, number=number: leaf[number], problems)
        constraints = [
            {"type": kind, "fun": each, "jac": jacobian, "args": (problem,)}
            for kind, each, jacobian in zip(("eq", "ineq"), (equal, room), slopes, strict=True)
        ]
        options = {"ftol": 1e-13, "maxiter": 1000}
        found.append(
            scipy.optimize.minimize(
                objective, start, (problem,), "SLSQP", jac=slope, constraints=constraints, options=options
            )
        )
    return np.array([each.fun for each in found]), np.array([each.nit for each in found])


def report(problem_class, number, tolerance=1e-6):
    problems = problem_class.draw(jax.random.key(0), number)
    key, criterion = jax.random.key(1), loa.stationary_below(tolerance)
    begun = iterates_after(METHODS["CG"], problem_class, problems, steps=0, key=key)
    form = problem_class.form(jax.tree.map(lambda leaf: leaf[0], problems))
    starts = [form.vector(jax.tree.map(lambda leaf, n=n: leaf[n], begun.x)) for n in range(number)]
    objectives, iterations = by_slsqp(problem_class, problems, starts)
    print(f"\n{type(problem_class).__name__}: {form.dimension} unknowns, {number} problems, {criterion!r}")
    print(f"{'SLSQP':10}{iterations.mean():8.1f} iterations")
    for name, method in METHODS.items():
        found = loa.solve(method, problem_class, problems, criterion=criterion, horizon=2000, key=key)
        good = found.outcome == "solved"
        apart = np.abs(found.loss - objectives)[good]
        print(
            f"{name:10}{found.steps[good].mean():8.1f} steps, {found.calls.gradient[good].mean():.0f} gradients, "
            f"{good.mean():.0%} solved; objectives differ by at most {apart.max():.1e}, "
            f"{(apart > 1e-5).sum()} by more than 1e-5",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=20)
    given = parser.parse_args()
    for each in (Chains(), LargestEntropies(), Pendulums(), Frames()):
        report(each, given.problems)
