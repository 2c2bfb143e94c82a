"""Write docs/head-to-head.md from benchmarks/results/head_to_head.json: our numbers beside those of others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent

HEAD = """# Head to head

This page repeats tables of others, with our numbers beside theirs, wins and losses alike. It is written by
`benchmarks/head_to_head/page.py` from what `benchmarks/head_to_head/run.py` has measured, with jax {jax} on {cores}
cores:

    pip install .
    python benchmarks/head_to_head/run.py > benchmarks/results/head_to_head.json
    python benchmarks/head_to_head/page.py

The generators (`benchmarks/head_to_head/generators.py`) are written from the papers' descriptions. The instances are
therefore draws of ours, not theirs, and what a description leaves open is a choice of ours: coefficients from N(0, 1),
no noise. Their numbers are quoted from their papers; none of their code was run. A row of a classical method that both
sides have, such as FISTA, shows how far the instances agree.

The *relative loss* is (mean loss − mean smallest loss) / mean smallest loss over the test problems, where the
smallest loss of a problem is the best that thousands of steps of FISTA with restart or any method of the table has
found. Methods in bold are loa's own: learned or tuned on training problems, for the smallest mean number of steps
until the proximal residual is below 1e-6; the last column but one says how many test problems get there within the
last number of steps of the table. A step is whatever the method calls a step; the last column says what it costs, as
the time of a batch divided by its steps, on a machine shared with other work. ISTA, FISTA and the networks of others
cost about two products with the matrix a step; Newton's method solves linear equations in addition.
"""

THEIRS = {
    "Open-L2O, LASSO": {
        "title": "Open-L2O: LASSO 25 × 50, λ = 0.005",
        "text": "One Gaussian matrix with unit columns; a tenth of the coefficients is not zero.",
        "source": "Chen et al., *Learning to Optimize: A Primer and a Benchmark*, 2021",
        "rows": {"FISTA": {"1000": 6e-5}, "LISTA": {"16": 2e-2, "1000": 2e-5}, "ALISTA": {"16": 8e-3}},
    },
    "ALISTA, sparse recovery": {
        "title": "ALISTA: sparse recovery 256 × 512, 16 layers",
        "text": "One Gaussian matrix with unit columns; a tenth of the coefficients is not zero. The coefficients are "
        "to be recovered, and the error is 10 log₁₀ of the mean squared distance over the mean square, in dB. ALISTA "
        "learns step sizes and thresholds for this. loa minimizes the LASSO objective with λ = 1e-5.",
        "source": "Liu et al., *ALISTA*, 2019, as reported by Open-L2O",
        "rows": {"ALISTA": {"16": -79.0}},
        "decibels": True,
    },
    "Math-L2O, LASSO": {
        "title": "Math-L2O: LASSO 250 × 500, a new matrix for every problem",
        "text": "Unit columns, 50 coefficients that are not zero, λ = 0.1. The paper shows its results as curves, so "
        "there are no numbers of theirs here.",
        "source": "Liu et al., *Towards Constituting Mathematical Structures for Learning to Optimize*, 2023",
        "rows": {},
    },
    "Math-L2O, logistic": {
        "title": "Math-L2O: logistic regression with an ℓ1 penalty",
        "text": "1000 observations of 50 Gaussian features, labels from 20 coefficients that are not zero, λ = 0.1. As "
        "above, the paper shows curves.",
        "source": "the same paper",
        "rows": {},
    },
    "LAH, LASSO": {
        "title": "LAH: LASSO 64 × 128, learned from ten instances",
        "text": "One Gaussian matrix with unit columns, λ = 0.1, a tenth of the coefficients is not zero. Everything "
        "of ours that is learned or tuned has seen ten problems. We have no number of theirs.",
        "source": "Sambharya and Stellato, *Learning Algorithm Hyperparameters for Fast Parametric Convex "
        "Optimization*, 2024",
        "rows": {},
    },
}

OURS = ("learned", "tuned")


def section(name: str, numbers: dict[str, Any]) -> str:
    """One table, with a paragraph above it and one sentence below it."""
    theirs = THEIRS[name]
    steps = [str(step) for step in numbers["steps"]]
    measure = "decibels" if theirs.get("decibels") else "relative_loss"
    word = "error in dB" if theirs.get("decibels") else "relative loss"
    head = [*(f"{word} after {step} steps" for step in steps), "solved", "µs a step"]
    lines = [f"| method | {' | '.join(head)} |", "|---|" + "---:|" * len(head)]
    for method, row in theirs["rows"].items():
        lines.append(f"| {method}, theirs | {' | '.join(_cell(row.get(step), measure) for step in steps)} | | |")
    for method, row in numbers["algorithms"].items():
        cells = [_cell(row[measure][step], measure) for step in steps]
        shown = f"**{method}**" if any(word in method for word in OURS) else method
        rest = f"{row['solved']:.0%} | {row['microseconds_of_a_step']:.3g}"
        lines.append(f"| {shown} | {' | '.join(cells)} | {rest} |")
    about = f"{theirs['text']} {numbers['test']} test problems; learned from at most {numbers['training']}, tuned on "
    about += f"{numbers['tuning']}. Source: {theirs['source']}."
    return "\n\n".join([f"## {theirs['title']}", about, "\n".join(lines), verdict(theirs["rows"], numbers, measure)])


def verdict(rows: dict[str, dict[str, float]], numbers: dict[str, Any], measure: str) -> str:
    """Who is ahead after how many steps: the best of theirs against the best of ours."""
    ours = {name: row[measure] for name, row in numbers["algorithms"].items() if any(word in name for word in OURS)}
    others = {name: row[measure] for name, row in numbers["algorithms"].items() if name not in ours}
    sentences = []
    for step in map(str, numbers["steps"]):
        own, best = min((row[step], name) for name, row in ours.items())
        rivals = [(row[step], f"their {name}") for name, row in rows.items() if step in row]
        rivals += [(row[step], name) for name, row in others.items()]
        rival, against = min(rivals)
        word = "Ahead" if own < rival else "Behind"
        sentences.append(f"{word} after {step} steps: {best}, against {against}.")
    return " ".join(sentences)


def _cell(value: float | None, measure: str) -> str:
    if value is None:
        return ""
    return f"{value:.0f}" if measure == "decibels" else f"{value:.1e}"


def main() -> None:
    results = json.loads((ROOT / "benchmarks" / "results" / "head_to_head.json").read_text())
    sections = [section(name, numbers) for name, numbers in results["tables"].items()]
    page = "\n\n".join([HEAD.format(**results["machine"]).rstrip(), *sections])
    (ROOT / "docs" / "head-to-head.md").write_text(page + "\n")


if __name__ == "__main__":
    main()
