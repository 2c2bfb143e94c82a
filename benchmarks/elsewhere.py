"""What a step costs in SciPy and PyTorch beyond the functions that it asks: microseconds, once it is compiled.

The time inside of the functions from outside, or the closure, is measured and subtracted. Beside ours: SciPy's own
L-BFGS-B and BFGS, and PyTorch's own optimizers.

    python benchmarks/elsewhere.py > benchmarks/results/elsewhere.json
"""

import time

import jax
import numpy as np
import torch
from scipy.optimize import minimize
from timing import show

import loa

DIMENSION, WARM_UP, STEPS, ROUNDS = 50, 300, 300, 5


class Timed:
    """A function that adds up the time spent inside of it."""

    def __init__(self, function):
        self.function, self.seconds = function, 0.0

    def __call__(self, *arguments):
        before = time.perf_counter()
        found = self.function(*arguments)
        self.seconds += time.perf_counter() - before
        return found


def rosenbrock(x):
    return float(np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))


def slope(x):
    gradient, bend = np.zeros_like(x), x[1:] - x[:-1] ** 2
    gradient[:-1] = -400.0 * x[:-1] * bend - 2 * (1 - x[:-1])
    gradient[1:] += 200.0 * bend
    return gradient


def in_scipy(method, options):
    """Microseconds per step of `minimize`, without the functions: the median of some rounds."""
    found, start = [], np.linspace(-1.0, 1.0, DIMENSION)
    for number in range(ROUNDS + 1):
        value, gradient = Timed(rosenbrock), Timed(slope)
        before = time.perf_counter()
        steps = minimize(value, start, jac=gradient, method=method, options=options).nit
        seconds = time.perf_counter() - before - value.seconds - gradient.seconds
        found += [1e6 * seconds / steps] if number else []
    return float(np.median(found))


def in_torch(make):
    """Microseconds per step of an optimizer of a small network, without its closure: the median of some rounds."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(5, 10), torch.nn.Tanh(), torch.nn.Linear(10, 1))
    inputs, targets = torch.randn(32, 5), torch.randn(32, 1)
    optimizer = make(model.parameters())

    def closure():
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        return loss

    found = []
    for number in range(ROUNDS + 1):
        timed, steps = Timed(closure), STEPS if number else WARM_UP
        before = time.perf_counter()
        for _ in range(steps):
            optimizer.step(timed)
        found += [1e6 * (time.perf_counter() - before - timed.seconds) / steps] if number else []
    return float(np.median(found))


def main():
    torch.set_num_threads(1)
    ours = {
        "gradient descent": loa.GradientDescent(1e-4),
        "heavy ball": loa.HeavyBall(1e-4, 0.9),
        "Adam": loa.Adam(1e-3),
        "L-BFGS": loa.LBFGS(),
    }
    limits = {"maxiter": STEPS, "gtol": 0.0}
    scipy = {name: in_scipy(loa.scipy_method(each), limits) for name, each in ours.items()}
    theirs = {
        "L-BFGS-B": in_scipy("L-BFGS-B", limits | {"ftol": 0.0}),
        "BFGS": in_scipy("BFGS", {"maxiter": STEPS, "gtol": 0.0}),
    }
    networks = {name: in_torch(loa.torch_optimizer(each)) for name, each in ours.items()}
    torchs = {
        "SGD": in_torch(lambda parameters: torch.optim.SGD(parameters, lr=1e-4)),
        "Adam": in_torch(lambda parameters: torch.optim.Adam(parameters, lr=1e-3)),
        "LBFGS": in_torch(lambda parameters: torch.optim.LBFGS(parameters, max_iter=1, line_search_fn="strong_wolfe")),
    }
    show(
        "elsewhere",
        {"dimension": DIMENSION, "steps": STEPS, "rounds": ROUNDS, "scipy": scipy, "scipy_own": theirs,
         "torch": networks, "torch_own": torchs, "device": str(jax.devices()[0])},
    )  # fmt: skip


if __name__ == "__main__":
    main()
