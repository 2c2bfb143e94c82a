"""A certificate from 300 problems in all: choose on some, pay for the candidates, or choose while certifying?

    python benchmarks/small_samples.py

Stopping times are gamma distributed and capped; candidates need up to half as much again as the best of them. The table
in docs/certificates.md says how far each certificate is above the mean of the best candidate, on average.
"""

import re
from pathlib import Path

import numpy as np

from loa.certificates import betting_bound, certify_while_choosing

PAGE = Path(__file__).parent.parent / "docs" / "certificates.md"
PLACE = r"(<!-- written by benchmarks/small_samples.py -->\n).*?(<!-- end -->)"
PROBLEMS, REPETITIONS, DELTA = 300, 20, 0.05
SETTINGS = ((60, 25, 600), (60, 50, 600), (252, 97, 500))
"""Mean, standard deviation and cap of the best candidate's stopping times."""


def times(rng: np.random.Generator, mean: float, deviation: float, cap: float, candidates: int) -> np.ndarray:
    """Stopping times by (problem, candidate); the first candidate is the best."""
    speeds = 1 + np.abs(rng.normal(scale=0.15, size=candidates))
    speeds[0] = 1.0
    shape = (mean / deviation) ** 2
    difficulty = rng.gamma(shape, mean / shape, (PROBLEMS, 1)) * rng.uniform(0.9, 1.1, (PROBLEMS, candidates))
    return np.minimum(difficulty * speeds, cap)


def bounds(values: np.ndarray, cap: float) -> tuple[float, float, float]:
    """By choosing on a third of the problems, by Occam's razor on all, and by choosing while certifying."""
    third = len(values) // 3
    chosen = int(values[:third].mean(axis=0).argmin())
    best = int(values.mean(axis=0).argmin())
    return (
        betting_bound(values[third:, chosen], DELTA, cap),
        betting_bound(values[:, best], DELTA / values.shape[1], cap),
        certify_while_choosing(values, cap=cap, confidence=1 - DELTA).bound,
    )


def main() -> None:
    lines = [
        f"How far certificates with 95% confidence, from {PROBLEMS} problems in all, are above the mean of the best",
        f"candidate, on average over {REPETITIONS} repetitions; *split* chooses on a third and certifies on the rest:",
        "",
        "| mean | deviation | cap | candidates | split | Occam | while choosing |",
        "|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for mean, deviation, cap in SETTINGS:
        for candidates in (1, 10, 100):
            rng = np.random.default_rng(0)
            found = [bounds(times(rng, mean, deviation, cap, candidates), cap) for _ in range(REPETITIONS)]
            excess = " | ".join(f"{each / mean - 1:+.1%}" for each in np.mean(found, axis=0))
            lines.append(f"| {mean} | {deviation} | {cap} | {candidates} | {excess} |")
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(re.sub(PLACE, lambda marks: f"{marks[1]}{chr(10).join(lines)}\n{marks[2]}", text, flags=re.DOTALL))
    print("\n".join(lines))


if __name__ == "__main__":
    main()
