"""Reproduce the paper's five experiments with its own networks, and write docs/reproduction.md.

    python reproduction.py quadratics lasso        runs these with the weights that ship, then writes the page
    python reproduction.py                         writes the page from what is in docs/reproduction

Each is `loa run NAME --how paper --pretrained` with the sizes below, once with the criterion of the paper's text and,
where the published figure has another one, once with that. An interrupted run resumes.
"""

import dataclasses
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

import loa
from loa.certificates.bounds.rounding import number_up
from loa.experiments.experiment import Experiment
from loa.messages.percent import percent_seen
from loa.results.algorithm_summary import AlgorithmSummary
from loa.results.summary import RunSummary
from loa.run import Order, carry_out

DOCS = Path(__file__).parent.parent / "docs"
PLACE = DOCS / "reproduction"
RUNS = Path(tempfile.gettempdir()) / "loa-reproduction"
SEED = 19


class Reproduction(NamedTuple):
    """One experiment: what was published, under which criterion, and at which sizes we repeat it."""

    where: str
    baselines: tuple[str, ...]
    candidates: int
    prior: int
    posterior: int
    test: int
    shown: int
    solved: str = "–"
    criterion: loa.Criterion | None = None
    horizon: int | None = None
    differs: str = ""


REPRODUCTIONS = {
    "quadratics": Reproduction(
        "section 6.1, appendix H", ("heavy ball",), candidates=100, prior=250, posterior=1000, test=250, shown=100,
        criterion=loa.loss_below(1e-12),
    ),
    "images": Reproduction(
        "section 6.2, appendix I", ("NAG",), candidates=2, prior=4, posterior=12, test=12, shown=4,
        differs="The authors' photographs are private; ours are crops of those that ship with scikit-image. Their code "
        "takes the L of the largest λ of the class for every problem, and so do the weights that ship; NAG has the L "
        "of the problem's own λ, as in the text, and stands here with theirs, too.",
    ),
    "lasso": Reproduction(
        "section 6.3, appendix J", ("FISTA",), candidates=10, prior=100, posterior=500, test=250, shown=100,
        solved="91%",
        differs="The published FISTA starts its sequence at a random number, ours at 1.",
    ),
    "network": Reproduction(
        "section 6.4, appendix K", ("Adam, published rate", "L-BFGS"), candidates=20, prior=100, posterior=500,
        test=250, shown=64, solved="73%", criterion=loa.loss_below(0.85), horizon=100,
    ),
    "stochastic-network": Reproduction(
        "section 6.5, appendix L", ("Adam, published rate", "Adam, tuned"), candidates=5, prior=50, posterior=200,
        test=100, shown=32, solved="65%", criterion=loa.loss_below(0.9),
    ),
}  # fmt: skip

HEAD = """# The paper's experiments, reproduced

This page is written by `benchmarks/reproduction.py` from the runs whose summaries are in `docs/reproduction`. Every
experiment has the paper's architecture, objective and teacher, with the weights that ship with loa
(`loa.load("quadratics-paper")` and so on), a prior from Langevin dynamics around them, the paper's own Gibbs posterior
ρ ∝ π exp(-λ R̂), and the bound of its theorem at this posterior, with λ chosen on the prior problems and 95%
confidence. To make such a run:

    loa run quadratics --how paper --pretrained        with the weights that ship
    loa run quadratics --how paper --preset paper      from training to report, with 100 candidates (images: 10)

"The text's criterion" is that of the paper's section; the published figures partly have another one. Unsolved problems
count as the horizon. A bound at or above the cap says nothing and is called vacuous. Our own certificate of the mean,
for the same problems, stands beside the paper's bound: it is about the algorithm that is deployed, and holds jointly
with all other certificates of a run.
[What differs](what-differs.md) lists the differences in detail.
"""


def main() -> None:
    names = sys.argv[1:]
    unknown = [name for name in names if name not in REPRODUCTIONS]
    if unknown:
        raise SystemExit(f"no experiment {unknown[0]!r}; there are {', '.join(REPRODUCTIONS)}.")
    for name in names:
        for variant, experiment in variants(name):
            run(name, variant, experiment)
    parts = [section(name) if (PLACE / name / "text.json").exists() else missing(name) for name in REPRODUCTIONS]
    (DOCS / "reproduction.md").write_text("\n\n".join([HEAD, *parts]) + "\n", encoding="utf-8")


def variants(name: str) -> Iterator[tuple[str, Experiment]]:
    """The experiment with the criterion of the text, and with that of the published figure if it is another one."""
    ours, setting = REPRODUCTIONS[name], loa.experiments.get(name).at("pretrained")
    sizes = {"prior": ours.prior, "posterior": ours.posterior, "held-out": 1, "test": ours.test, "validation": 4}
    prior = dataclasses.replace(setting.recipe.prior, candidates=ours.candidates)
    recipe = dataclasses.replace(setting.recipe, sizes={**setting.sizes, **sizes}, prior=prior, tuned={})
    baselines = {each: setting.baselines[each] for each in ours.baselines}
    if isinstance(setting.problem_class, loa.problems.ImageRestoration):
        step_size = 1 / float(setting.problem_class.largest_smoothness)
        baselines["NAG, L of the largest λ"] = loa.NesterovAcceleratedGradient(step_size)
    task = dataclasses.replace(setting.task, baselines=baselines)
    presentation = dataclasses.replace(setting.presentation, shown=ours.shown, more_tests={}, pictures=None)
    text = Experiment(task, recipe, presentation)
    yield "text", text
    if ours.criterion is not None:
        published = dataclasses.replace(task, criterion=ours.criterion, horizon=ours.horizon or task.horizon)
        yield "published", dataclasses.replace(text, task=published)


def run(name: str, variant: str, experiment: Experiment) -> None:
    """Carry out a run and keep its summary and figure."""
    directory, kept = RUNS / f"{name}-{variant}", PLACE / name
    command = f"python benchmarks/reproduction.py {name}"
    order = Order(experiment, "pretrained", SEED, command, how="paper")
    done = (directory / "summary.json").exists()
    if not done:
        carry_out(order, directory, Console(), resume=directory.exists())
    kept.mkdir(parents=True, exist_ok=True)
    shutil.copy(directory / "summary.json", kept / f"{variant}.json")
    shutil.copy(directory / "figure.png", kept / f"{variant}.png")


def section(name: str) -> str:
    """One experiment: the published numbers, ours, the baselines, and the figure."""
    ours = REPRODUCTIONS[name]
    found = {
        variant: read(path) for variant in ("published", "text") if (path := PLACE / name / f"{variant}.json").exists()
    }
    text = found["text"]
    rows = [published_row(ours, text, found.get("published", text))]
    for variant, summary in found.items():
        label = "ours, published criterion" if variant == "published" else "ours, the text's criterion"
        if len(found) == 1:
            label = "ours, same criterion"
        rows.append(row(f"**{label}**", setting_of(summary), summary.learned, bounds(summary)))
        rows += [
            row(each, setting_of(summary), numbers, ("", "", "", "")) for each, numbers in summary.baselines.items()
        ]
    shown = "published" if "published" in found else "text"
    posterior = next(each.n for each in text.certificates if each.target == "posterior")
    sizes = f"{text.sizes['prior']} prior, {posterior} posterior and {text.sizes['test']} test problems"
    seconds = sum(summary.seconds["total"] for summary in found.values())
    return "\n".join([
        f"## {text.title}",
        "",
        f"`{name}`, {ours.where}. `{text.algorithm}`, {text.candidates} candidates; {sizes}; seed {text.seed}. "
        f"{seconds / 60:.0f} min on a busy machine.",
        "",
        "| | criterion, horizon | mean τ | median τ | solved | the paper's bound on τ | our certificate | "
        "mean contraction | the paper's bound | our certificate |",
        "|---|---|" + "---:|" * 8,
        *rows,
        "",
        f"![Gap, contraction factor and stopping time](reproduction/{name}/{shown}.png)",
        *(["", f"Difference: {ours.differs}"] if ours.differs else []),
    ])  # fmt: skip


def missing(name: str) -> str:
    """What the authors report, where we have no run yet."""
    presentation = loa.experiments.get(name).presentation
    times, factors = (presentation.published[each] for each in ("stopping_time", "contraction_factor"))
    times_text = f"mean τ {times['mean']:g}, median {times['median']:g}, bound {times['bound']:g}"
    factors_text = f"mean contraction {factors['mean']:g}, bound {factors['bound']:g}"
    return (
        f"## {presentation.title}\n\n`{name}`, {REPRODUCTIONS[name].where}. Published: {times_text}; {factors_text}. "
        f"Not run for this page yet: `python benchmarks/reproduction.py {name}` adds it."
    )


def read(path: Path) -> RunSummary:
    import json

    return RunSummary.from_json(json.loads(path.read_text(encoding="utf-8")))


def setting_of(summary: RunSummary) -> str:
    return f"{summary.criterion}, {summary.t_max}"


def published_row(ours: Reproduction, text: RunSummary, same: RunSummary) -> str:
    """What the authors report."""
    times, factors = text.published["stopping_time"], text.published["contraction_factor"]
    caps = {each.name: each.cap for each in same.functionals}
    bound = [
        f"{numbers['bound']:g}" + (" (vacuous)" if numbers["bound"] >= (caps[name] or float("inf")) else "")
        for name, numbers in (("stopping_time", times), ("contraction_factor", factors))
    ]
    median = times.get("median", "–")
    return (
        f"| published | {setting_of(same)} | {times['mean']:g} | {median} | {ours.solved} | {bound[0]} | | "
        f"{factors['mean']:g} | {bound[1]} | |"
    )


def bounds(summary: RunSummary) -> tuple[str, str, str, str]:
    """The paper's bound and our certificate, for stopping time and contraction factor."""
    found = []
    for functional in ("stopping_time", "contraction_factor"):
        for certificate in (summary.paper_bound(functional), summary.certified_mean(functional)):
            if certificate is None:
                found.append("–")
            else:
                found.append(number_up(certificate.bound) + (" (vacuous)" if certificate.vacuous else ""))
    return found[0], found[1], found[2], found[3]


def row(label: str, setting: str, numbers: AlgorithmSummary, bound: tuple[str, str, str, str]) -> str:
    times, factor = numbers.functionals["stopping_time"], numbers.average("contraction_factor")
    return (
        f"| {label} | {setting} | {times.mean:.4g} | {times.median:.4g} | {percent_seen(numbers.solved)} | "
        f"{bound[0]} | {bound[1]} | {factor:.4g} | {bound[2]} | {bound[3]} |"
    )


if __name__ == "__main__":
    main()
