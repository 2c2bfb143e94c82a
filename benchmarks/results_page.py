"""Write docs/results.md from the summaries of the paper presets in docs/results.

To make them anew:  loa run NAME --preset paper --out runs/NAME
                    python results_page.py runs/NAME ...     copies summaries and figures, then writes the page
"""

import json
import shutil
import sys
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"
ORDER = ("quadratics", "images", "lasso", "network", "stochastic-network")

HEAD = """# Results

Written by `benchmarks/results_page.py` from the `summary.json` files of `loa run NAME --preset paper`, one run each,
kept in `docs/results`. All numbers are on test problems that nothing else has seen; unsolved ones count as the horizon.
*Published* is what the authors report, partly under other criteria, as noted. Times per problem are those of a batch
divided by its size, all algorithms one after the other at the end of a run. Minutes in all are those of a machine that
did other work as well. Quadratics and LASSO have another seed than the rest, since the sizes of their draws were chosen
after seeing how tight certificates were with seed 0, and the spread of LASSO's prior after seeing seeds 0 and 1.
[Baselines](baselines.md) has tuned versions of more classical methods, on 250 problems each.
"""


def overview(summaries: list[dict]) -> str:
    """Published, best classical and ours side by side."""
    lines = [
        "## At a glance",
        "",
        "| experiment | published mean τ | best classical | ours: mean τ, solved | certified | the paper's bound | "
        "ms: best classical, ours |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for summary in summaries:
        published = summary["published"].get("stopping_time", {}).get("mean", "–")
        name, best = min(summary["baselines"].items(), key=lambda item: item[1]["stopping_time"]["mean"])
        learned = summary["learned"]
        ours = bound_of(summary, "deployed")
        paper = bound_of(summary, "posterior", "paper")
        lines.append(
            f"| [{summary['experiment']}](#{summary['experiment']}) | {published} | "
            f"{best['stopping_time']['mean']:.4g} ({name}) | {learned['stopping_time']['mean']:.4g}, "
            f"{learned['solved']:.1%} | {shown(ours)} | {shown(paper)} | "
            f"{best['milliseconds']:.3g}, {learned['milliseconds']:.3g} |"
        )
    return "\n".join(lines)


def bound_of(summary: dict, target: str, kind: str | None = None) -> dict:
    """The first certificate of the mean stopping time for this target, of that kind if it matters."""
    return next(
        each
        for each in summary["certificates"]
        if (each["functional"], each["measure"], each["target"]) == ("stopping_time", "mean", target)
        and kind in (None, each["kind"])
    )


def shown(certificate: dict) -> str:
    return f"{certificate['bound']:.4g}" + (" (vacuous)" if certificate["vacuous"] else "")


def section(summary: dict) -> str:
    """One experiment: algorithms, certificates, figure."""
    name, machine = summary["experiment"], summary["provenance"]["machine"]
    sizes = ", ".join(f"{size} {role}" for role, size in summary["sizes"].items())
    lines = [
        f"## {name}",
        "",
        f"{summary['title']}. `{summary['algorithm']}`, {summary['candidates']} candidates; problems: {sizes}. "
        f"Seed {summary['seed']}, commit {summary['provenance']['commit']}, {machine['cores']} cores; "
        f"{summary['seconds']['train'] / 60:.1f} min of learning, {summary['seconds']['total'] / 60:.1f} min in all.",
        "",
        *(f"{note}\n" for note in summary["notes"]),
        f"![Gap, contraction factor and stopping time](results/{name}/figure.png)",
        "",
        "| algorithm | mean τ | median | q95 | CVaR95 | solved | contraction | oracle calls | ms per problem |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
        *(algorithm_row(*item) for item in {"**learned**": summary["learned"], **summary["baselines"]}.items()),
        *(algorithm_row(f"learned, on {test}", numbers) for test, numbers in summary["more_tests"].items()),
        "",
        f"With {summary['confidence']:.0%} confidence, all of the first group together, each of the others alone:",
        "",
        "| certificate | bound | on its own sample | on the test problems | above the test |",
        "|---|---:|---:|---:|---:|",
        *(certificate_row(each) for each in summary["certificates"]),
    ]
    return "\n".join(lines)


def algorithm_row(name: str, numbers: dict) -> str:
    times = " | ".join(f"{numbers['stopping_time'][key]:.4g}" for key in ("mean", "median", "q95", "cvar95"))
    rest = (numbers["contraction_factor"]["mean"], numbers["oracle_calls"]["mean"], numbers["milliseconds"])
    return f"| {name} | {times} | {numbers['solved']:.1%} | {' | '.join(f'{each:.4g}' for each in rest)} |"


def certificate_row(certificate: dict) -> str:
    functional = certificate["functional"].replace("_", " ")
    what = f"{certificate['measure']} of {functional}, {certificate['target']}: {certificate['kind']}"
    test = certificate["test"]
    excess = "–" if not test else f"{certificate['bound'] / test - 1:+.1%}"
    numbers = f"{shown(certificate)} | {certificate['empirical']:.4g} | {'–' if test is None else f'{test:.4g}'}"
    return f"| {what}{'' if certificate['together'] else ' (alone)'} | {numbers} | {excess} |"


def main() -> None:
    for run in map(Path, sys.argv[1:]):
        target = DOCS / "results" / json.loads((run / "summary.json").read_text())["experiment"]
        target.mkdir(parents=True, exist_ok=True)
        for file in ("summary.json", "figure.png"):
            shutil.copy(run / file, target / file)
    found = [DOCS / "results" / name / "summary.json" for name in ORDER]
    summaries = [json.loads(path.read_text()) for path in found if path.exists()]
    parts = [HEAD.rstrip(), overview(summaries), *map(section, summaries)]
    (DOCS / "results.md").write_text("\n\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
