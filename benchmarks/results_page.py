"""Write docs/results.md from the summaries of the paper presets in docs/results.

To make them again: loa run NAME --preset paper --out runs/NAME
                    python results_page.py runs/NAME ...     copies summaries and figures, then writes the page
"""

import json
import shutil
import sys
from pathlib import Path

from loa.certificates.bounds.rounding import number_down, number_up
from loa.certificates.names import CERTIFIED
from loa.messages.percent import percent_seen
from loa.results.algorithm_summary import AlgorithmSummary
from loa.results.certificate_summary import CertificateSummary
from loa.results.names import COSTS, MEASURES
from loa.results.quantities import rivals
from loa.results.summary import RunSummary

DOCS = Path(__file__).parent.parent / "docs"
SHORT = {"oracle_calls": "calls", "milliseconds": "ms"}
ORDER = ("quadratics", "images", "lasso", "network", "stochastic-network")

HEAD = """# Results

This page is written by `benchmarks/results_page.py` from the `summary.json` files of `loa run NAME --preset paper`, one
run each, kept in `docs/results`. Unsolved problems count as the horizon. *Published* is what the authors report, partly
under other criteria, as noted. Times per problem are those of a batch divided by its size, all algorithms one after the
other at the end of a run. Minutes in all are those of a machine that did other work as well. "Best classical" is the
baseline that is best in the cost of that column, which may be one that solves few problems. [Baselines](baselines.md)
has tuned versions of more classical methods, on 250 problems each.

## How many looks there were

Within a run, test problems are used for nothing else. Across runs this does not hold: of the runs that the history of
this page records, the last one is shown, and the results of an earlier one at the same seed may have influenced it.
Where a seed was used more than once, read the confidence of its certificates as that of one look among several.

| experiment | looks recorded, by seed | what changed after a look |
|---|---|---|
| quadratics | 0, 0, 1, **20261118** | sizes of the draws, after the first; then another seed |
| images | 0, 0 | nothing that is certified: the second run was timed alone |
| lasso | 0, 0, 1, 2, **20261118** | the algorithm, the sizes, and the spread of the prior; then another seed |
| network | 0, 0, **20261118** | sizes of the draws; then another seed |
| stochastic-network | 0, 0, 0 | baselines, then the number of candidates |

The seed 20261118 was committed before its first use, with the sizes of the presets, and each of its runs was made once,
with the commit that its section names; the results are shown as they are. Their times are those of a machine on which
ten to thirty other processes ran, so only times within a table can be compared, and these roughly. Images and
mini-batches have not been run with that seed yet; their results were made with the keys of roles before version 0.1,
and with seed 0, with which the weights that ship with loa were learned. Runs keep a
[ledger](how-not-to-fool-yourself.md#the-ledger) of looks.
"""


def overview(summaries: list[RunSummary]) -> str:
    """Published, best classical and ours side by side, in each cost against the method that is best in it."""
    costs = [cost for cost in COSTS if cost != "stopping_time"]
    heads = "".join(f" {SHORT[cost]}: best classical | {SHORT[cost]}: ours |" for cost in costs)
    lines = [
        "## At a glance",
        "",
        "| experiment | published mean τ | τ: best classical | τ: ours, solved | certified | the paper's bound |"
        + heads,
        "|---|" + "---:|" * (5 + 2 * len(costs)),
    ]
    for summary in summaries:
        published = summary.published.get("stopping_time", {}).get("mean", "–")
        ours, paper = summary.certified_mean("stopping_time"), summary.paper_bound("stopping_time")
        rest = "".join(f" {best(summary, cost)} | {summary.learned.average(cost):.4g} |" for cost in costs)
        lines.append(
            f"| [{summary.experiment}](#{summary.experiment}) | {published} | {best(summary, 'stopping_time')} | "
            f"{summary.learned.average('stopping_time'):.4g}, {percent_seen(summary.learned.solved)} | {shown(ours)} | "
            f"{shown(paper)} |{rest}"
        )
    return "\n".join(lines)


def best(summary: RunSummary, cost: str) -> str:
    """The baseline that is best in one cost; if it solves fewer problems than the learned algorithm, that is said."""
    name = rivals(summary, cost)[0]
    baseline = summary.baselines[name]
    fewer = f", solved {percent_seen(baseline.solved)}" if baseline.solved < summary.learned.solved else ""
    return f"{baseline.average(cost):.4g} ({name}{fewer})"


def shown(certificate: CertificateSummary | None) -> str:
    """The bound with four digits, rounded outward."""
    if certificate is None:
        return "–"
    rounded = number_down if certificate.measure == "probability" else number_up
    return rounded(certificate.bound) + (" (vacuous)" if certificate.vacuous else "")


def section(summary: RunSummary) -> str:
    """One experiment: algorithms, certificates, figure."""
    name, machine = summary.experiment, summary.provenance["machine"]
    sizes = ", ".join(f"{size} {role}" for role, size in summary.sizes.items())
    others = [each for each in summary.functionals if each.name != "stopping_time"]
    titles = ["algorithm", "mean τ", "median", "q95", "CVaR95", "solved", *(each.with_unit for each in others)]
    lines = [
        f"## {name}",
        "",
        f"{summary.title}. `{summary.algorithm}`, {summary.candidates} candidates; problems: {sizes}. "
        f"Seed {summary.seed}, commit {summary.provenance['commit']}, {machine['cores']} cores; "
        f"{summary.seconds['train'] / 60:.1f} min of learning, {summary.seconds['total'] / 60:.1f} min in all.",
        "",
        *(f"{note}\n" for note in summary.notes),
        f"![Gap, contraction factor and stopping time](results/{name}/figure.png)",
        "",
        f"| {' | '.join([*titles, 'ms per problem'])} |",
        "|---|" + "---:|" * len(titles),
        *(algorithm_row(*item) for item in {"**learned**": summary.learned, **summary.baselines}.items()),
        *(algorithm_row(f"learned, on {test}", numbers) for test, numbers in summary.more_tests.items()),
        "",
        f"With {summary.confidence:.0%} confidence, all of these hold together, except for those marked as alone:",
        "",
        "| certificate | bound | on its own sample | on the test problems | above the test |",
        "|---|---:|---:|---:|---:|",
        *(certificate_row(summary, each) for each in summary.certificates),
    ]
    return "\n".join(lines)


def algorithm_row(name: str, numbers: AlgorithmSummary) -> str:
    times = numbers.functionals["stopping_time"]
    others = [each.mean for functional, each in numbers.functionals.items() if functional != "stopping_time"]
    shown = [f"{getattr(times, key):.4g}" for key in MEASURES]
    shown += [percent_seen(numbers.solved), *(f"{each:.4g}" for each in [*others, numbers.milliseconds])]
    return f"| {' | '.join([name, *shown])} |"


def certificate_row(summary: RunSummary, certificate: CertificateSummary) -> str:
    functional = summary.functional(certificate.functional).noun
    what = f"{CERTIFIED[certificate.measure]} of {functional}, {certificate.target}: {certificate.kind}"
    test = certificate.test
    excess = "–" if not test else f"{certificate.bound / test - 1:+.1%}"
    numbers = f"{shown(certificate)} | {certificate.empirical:.4g} | {'–' if test is None else f'{test:.4g}'}"
    return f"| {what}{'' if certificate.together else ' (alone)'} | {numbers} | {excess} |"


def page(summaries: list[RunSummary]) -> str:
    return "\n\n".join([HEAD.rstrip(), overview(summaries), *map(section, summaries)]) + "\n"


def shipped() -> list[RunSummary]:
    """The summaries in docs/results."""
    found = [DOCS / "results" / name / "summary.json" for name in ORDER]
    return [RunSummary.from_json(json.loads(path.read_text())) for path in found if path.exists()]


def main() -> None:
    for run in map(Path, sys.argv[1:]):
        target = DOCS / "results" / json.loads((run / "summary.json").read_text())["experiment"]
        target.mkdir(parents=True, exist_ok=True)
        for file in ("summary.json", "figure.png"):
            shutil.copy(run / file, target / file)
    (DOCS / "results.md").write_text(page(shipped()))


if __name__ == "__main__":
    main()
