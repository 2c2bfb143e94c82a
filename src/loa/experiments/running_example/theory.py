r"""Closed forms for gradient descent on the running example: those of the paper's text, corrected.

With the step α on problem θ the error contracts by \(|1 - \alpha\theta|\) per step, whatever the start. Where these
formulas differ from the paper's text, `docs/what-differs.md` says how.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Array as AnyArray
from jaxtyping import Float
from scipy import optimize

Array = Float[np.ndarray | AnyArray, "..."]


def stopping_time(curvature: Array | float, step_size: Array | float, tolerance: float) -> Array:
    r"""\(\tau = \lceil \log(\varepsilon / |e^{(0)}|) / \log|1 - \alpha\theta| \rceil\) for \(|x - x^*| < \varepsilon\).

    From x = 0 the initial error is 1/θ. Zero if that is small enough, one if αθ = 1, infinite if |1 - αθ| ≥ 1. The
    paper has |e|² and ε for our ε², and assumes αθ < 1, which the absolute value makes unnecessary.
    """
    curvature, step_size = np.broadcast_arrays(np.asarray(curvature, float), np.asarray(step_size, float))
    factor = np.abs(1.0 - step_size * curvature)
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.ceil(np.log(tolerance * curvature) / np.log(factor))
    steps = np.where(factor == 0, 1.0, np.where(factor >= 1, np.inf, steps))
    return np.where(1.0 / curvature < tolerance, 0.0, np.maximum(steps, 1.0))


def expected_stopping_time(step_size: float, smallest: float, largest: float, tolerance: float, horizon: int) -> float:
    """Mean of the truncated stopping time over θ uniform on [m, L], by the midpoint rule on two million cells."""
    grid = np.linspace(smallest, largest, 2_000_001)
    values = np.minimum(stopping_time(0.5 * (grid[1:] + grid[:-1]), step_size, tolerance), horizon)
    return float(values.mean())


def expected_squared_error(step_size: float, steps: int, smallest: float, largest: float) -> float:
    r"""\(\mathbb E (e^{(t)} / e^{(0)})^2 = \frac{(1-\alpha m)^{2t+1} - (1-\alpha L)^{2t+1}}{(2t+1) \alpha (L-m)}\)."""
    power = 2 * steps + 1
    difference = (1.0 - step_size * smallest) ** power - (1.0 - step_size * largest) ** power
    return difference / (power * step_size * (largest - smallest))


def best_step_squared(smallest: float, largest: float) -> float:
    r"""Minimizes \(\mathbb E (e^{(1)} / e^{(0)})^2\): \(\frac{3 (m + L)}{2 (m^2 + mL + L^2)}\)."""
    return 3 * (smallest + largest) / (2 * (smallest**2 + smallest * largest + largest**2))


def best_step_absolute(smallest: float, largest: float) -> float:
    r"""Minimizes \(\mathbb E |e^{(1)} / e^{(0)}|\): \(\sqrt{2 / (m^2 + L^2)}\)."""
    return float(np.sqrt(2.0 / (smallest**2 + largest**2)))


def best_step_squared_from_zero(smallest: float, largest: float) -> float:
    r"""Minimizes \(\mathbb E (e^{(1)})^2\) from x = 0, where \(e^{(0)} = 1/\theta\): \(\frac{\ln(L / m)}{L - m}\)."""
    return float(np.log(largest / smallest) / (largest - smallest))


def worst_case_step(smallest: float, largest: float) -> float:
    r"""Minimizes \(\sup_\theta |1 - \alpha\theta|\): \(\frac{2}{m + L}\)."""
    return 2.0 / (smallest + largest)


def largest_contraction(step_size: float, smallest: float, largest: float) -> float:
    r"""The worst contraction over all problems, \(\sup_\theta |1 - \alpha\theta|\)."""
    return max(abs(1 - step_size * smallest), abs(1 - step_size * largest))


def norm_of_contraction(step_size: float, power: int, smallest: float, largest: float) -> float:
    r"""\((\mathbb E|1 - \alpha\theta|^p)^{1/p}\) for θ uniform on [m, L], which tends to the supremum for p → ∞."""
    ends = np.array([1 - step_size * largest, 1 - step_size * smallest])
    integral = np.diff(np.sign(ends) * np.abs(ends) ** (power + 1))[0] / ((power + 1) * step_size)
    return float((integral / (largest - smallest)) ** (1 / power))


def best_step_at_horizon(steps: int, smallest: float, largest: float) -> float:
    """Minimizes the expected squared error after t steps, numerically; tends to the worst-case step as t grows."""
    bounds = (1.0 / largest, worst_case_step(smallest, largest) * 1.5)

    def log_error(step_size: float) -> float:
        return float(np.log(expected_squared_error(step_size, steps, smallest, largest)))

    return float(np.asarray(optimize.fminbound(log_error, *bounds, xtol=1e-12)))


def one_step_success(step_size: float, curvatures: dict[float, float], tolerance: float) -> float:
    r"""\(P(|x^{(1)} - x^*| < \varepsilon)\) on the outlier mixture, for \(\theta_b\) uniform on [0, 1].

    `curvatures` maps each curvature to its probability.
    """
    total = 0.0
    for curvature, probability in curvatures.items():
        error_at_one = abs(1.0 - step_size * curvature) / curvature
        total += probability * (1.0 if error_at_one == 0 else min(1.0, tolerance / error_at_one))
    return total
