"""Run the families of problems in `examples/` and write docs/gallery.md.

    python benchmarks/gallery.py                                    every family, for every objective
    python benchmarks/gallery.py mpc ridge --minimize seconds       these families, for this objective
    python benchmarks/gallery.py --only-page                        write the page from the runs that are there

A family that has a `summary.json` is not run again. One that was stopped, or failed, starts from the beginning, so that
the minutes on the page are those of a whole run. What a run says is kept beside its directory, in FAMILY.log.
"""

import argparse
import ast
import json
import math
import subprocess
import sys
import time
from pathlib import Path

from loa.messages.percent import percent_seen
from loa.results.algorithm_summary import AlgorithmSummary
from loa.results.names import COSTS
from loa.results.quantities import price, rivals
from loa.results.summary import RunSummary

ROOT = Path(__file__).parent.parent
EXAMPLES = {path.stem: path for path in sorted((ROOT / "examples").glob("*.py"))}
OBJECTIVES = {"steps": "stopping_time", "calls": "oracle_calls", "seconds": "milliseconds", "default": ""}
"""What `loa run --minimize` can be given, with the cost that it means; "default" leaves the option out."""

SHORT = {"stopping_time": "steps", "oracle_calls": "calls", "milliseconds": "ms"}

Runs = dict[str, dict[str, RunSummary | str]]
"""By objective and family: the summary of a run, or why there is none."""

HEAD = """# A gallery of families

This page is written by `benchmarks/gallery.py` from runs of
`loa run examples/FAMILY.py --preset quick --minimize OBJECTIVE`, one for every family and objective, on {cores} cores.
All numbers are means over test problems that nothing else has seen; an unsolved problem counts as the horizon, and
ratios of calls and times are per solved problem. Each cost is compared with the classical method that is best in that
cost: **1.5 ×** means that this method needs 1.5 times as much as the deployed algorithm. A percentage after a number
says how many problems were solved, if not all were. Times per problem are those of a batch divided by its size.
The runs were made with {commits}.{conditions}"""


def run(family: str, objective: str, directory: Path, minutes: float) -> None:
    """One run in a process of its own, unless its summary is there already."""
    if (directory / "summary.json").exists():
        print(f"{objective}, {family}: done before.", flush=True)
        return
    option = [] if objective == "default" else ["--minimize", objective]
    command = [sys.executable, "-m", "loa", "run", str(EXAMPLES[family]), "--preset", "quick", *option]
    directory.parent.mkdir(parents=True, exist_ok=True)
    begin = time.perf_counter()
    with directory.with_suffix(".log").open("w") as log:
        try:
            code = subprocess.run(
                [*command, "--out", str(directory), "--overwrite"], stdout=log, stderr=log, timeout=60 * minutes
            ).returncode
            ended = "done" if code == 0 else "failed"
        except subprocess.TimeoutExpired:
            ended = f"not done in {minutes:g} min"
            log.write(f"\n{ended}\n")
    print(f"{objective}, {family}: {ended}, {(time.perf_counter() - begin) / 60:.1f} min.", flush=True)


def found(out: Path, families: list[str]) -> Runs:
    """The runs in a directory."""
    return {
        objective: {
            family: outcome(out / objective / family) for family in families if _tried(out / objective / family)
        }
        for objective in OBJECTIVES
        if (out / objective).is_dir()
    }


def _tried(directory: Path) -> bool:
    return (directory / "summary.json").exists() or directory.with_suffix(".log").exists()


def outcome(directory: Path) -> RunSummary | str:
    """The summary of a run, or the last line of what it said."""
    path = directory / "summary.json"
    if path.exists():
        return RunSummary.from_json(json.loads(path.read_text()))
    said = directory.with_suffix(".log").read_text().strip().splitlines() or ["failed without a word"]
    return said[-1].replace("|", "/")[:100]


def ratio(summary: RunSummary, cost: str) -> float:
    """How many times as much the classical method needs that is best in this cost."""
    best, own = price(summary.baselines[rivals(summary, cost)[0]], cost), price(summary.learned, cost)
    return best / own if own > 0 else math.nan


def amount(numbers: AlgorithmSummary, cost: str) -> str:
    """An average cost, with the share of problems solved where that is not all of them."""
    return f"{numbers.average(cost):.3g}" + ("" if numbers.solved == 1.0 else f" ({percent_seen(numbers.solved, 0)})")


def overview(objective: str, runs: dict[str, RunSummary | str]) -> str:
    """All families for one objective, in each cost against the classical method that is best in it."""
    heads = "".join(f" {short} | best classical | ratio |" for short in SHORT.values())
    title = f"Minimizing {objective}" if objective != "default" else "With the default objective"
    lines = [f"## {title}", "", verdict(objective, runs), "", f"| family | unknowns | deployed |{heads} min |"]
    lines.append("|---|---:|---|" + "---:|---|---:|" * len(SHORT) + "---:|")
    for family, each in runs.items():
        if isinstance(each, str):
            lines.append(f"| [{family}](#{family}) | | {each} |" + " |" * (3 * len(SHORT) + 1))
            continue
        cells = [f"[{family}](#{family})", str(each.dimension), f"`{each.learned.family}`"]
        for cost in SHORT:
            best = rivals(each, cost)[0]
            shown = f"{ratio(each, cost):.2f} ×"
            strong = f"**{shown}**" if cost == OBJECTIVES[objective] else shown
            cells += [amount(each.learned, cost), f"{amount(each.baselines[best], cost)}, {best}", strong]
        cells.append(f"{each.seconds['total'] / 60:.1f}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def verdict(objective: str, runs: dict[str, RunSummary | str]) -> str:
    """How many families reach what loa promises."""
    done = [each for each in runs.values() if isinstance(each, RunSummary)]
    cost = OBJECTIVES[objective] or "stopping_time"
    level = sum(ratio(each, cost) >= 1 / 1.02 for each in done)
    longest = max((each.seconds["total"] for each in done), default=0.0) / 60
    return (
        f"Of {len(runs)} families, {len(done)} were finished, the longest in {longest:.1f} min. In {level} the "
        f"deployed algorithm is at most 2% worse than the best classical method in {COSTS[cost].title}. In "
        f"{sum(map(clearly_better, done))} it is better by 1.5 × or more both in steps and in wall-clock time, or as "
        "good where a classical method takes fewer than ten steps."
    )


def clearly_better(summary: RunSummary) -> bool:
    """Better by half in steps and by the clock; equality will do where a classical method needs few steps."""
    fewest = summary.baselines[rivals(summary, "stopping_time")[0]].average("stopping_time")
    wanted = 1.5 if fewest >= 10 else 1 / 1.02
    return min(ratio(summary, "stopping_time"), ratio(summary, "milliseconds")) >= wanted


def section(family: str, runs: Runs) -> str:
    """One family: what it is, what was deployed for each objective, and all classical methods."""
    sentence = (ast.get_docstring(ast.parse(EXAMPLES[family].read_text())) or family).splitlines()[0]
    done = {objective: each[family] for objective, each in runs.items() if family in each}
    summaries = {objective: each for objective, each in done.items() if isinstance(each, RunSummary)}
    text = f"### {family}\n\n[{sentence.split(': `loa')[0].rstrip('.')}](../examples/{family}.py)."
    if not summaries:
        return text + " No run was finished."
    last = list(summaries.values())[-1]
    deployed = (f"`{each.learned.family}` for {name} ({costs(each.learned)})" for name, each in summaries.items())
    classical = (f"{name} ({costs(each)})" for name, each in last.baselines.items())
    return (
        f"{text} Solved means {last.criterion} within {last.t_max} steps. Deployed: {'; '.join(deployed)}. "
        f"Classical: {'; '.join(classical)}."
    )


def costs(numbers: AlgorithmSummary) -> str:
    """All costs of an algorithm, as in "12 steps, 15 calls, 0.1 ms, 98% solved"."""
    amounts = [f"{numbers.average(cost):.3g} {short}" for cost, short in SHORT.items()]
    return ", ".join([*amounts, f"{percent_seen(numbers.solved, 0)} solved"])


def page(runs: Runs, conditions: str = "") -> str:
    families = [name for name in EXAMPLES if any(name in each for each in runs.values())]
    tables = [overview(*each) for each in runs.items()]
    done = [run for each in runs.values() for run in each.values() if isinstance(run, RunSummary)]
    cores = " or ".join(sorted({str(each.provenance["machine"]["cores"]) for each in done})) or "no"
    commits = ", ".join(sorted({str(each.provenance["commit"])[:7] for each in done}))
    head = HEAD.format(cores=cores, commits=f"commit {commits}", conditions=f" {conditions}" if conditions else "")
    parts = [head, *tables, "## The families", *(section(each, runs) for each in families)]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description="Run the families in examples/ and write docs/gallery.md.")
    parser.add_argument("families", nargs="*", metavar="FAMILY", help="names of files in examples/; all by default")
    parser.add_argument("--minimize", nargs="+", choices=OBJECTIVES, default=["steps", "calls", "seconds"])
    parser.add_argument("--out", type=Path, default=Path("runs/gallery"), help="where the runs are kept")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "gallery.md", help="the page to write")
    parser.add_argument("--minutes", type=float, default=15.0, help="the longest time for one run")
    parser.add_argument("--conditions", default="", help="a sentence for the page, on what else the machine was doing")
    parser.add_argument("--only-page", action="store_true", help="run nothing")
    chosen = parser.parse_args()
    unknown = [name for name in chosen.families if name not in EXAMPLES]
    if unknown:
        parser.error(f"there is no examples/{unknown[0]}.py; there are {', '.join(EXAMPLES)}.")
    for objective in [] if chosen.only_page else chosen.minimize:
        for family in chosen.families or EXAMPLES:
            run(family, objective, chosen.out / objective / family, chosen.minutes)
            chosen.page.write_text(page(found(chosen.out, list(EXAMPLES)), chosen.conditions))
    chosen.page.write_text(page(found(chosen.out, list(EXAMPLES)), chosen.conditions))


if __name__ == "__main__":
    main()
