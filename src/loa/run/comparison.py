"""`loa compare`: algorithms on the same problems of an experiment, in one table and one sentence for every pair."""

from __future__ import annotations

from rich.console import Console

from ..experiments.experiment import Experiment
from ..experiments.shipped import comparable
from ..messages.percent import percent_seen
from ..problems.role import Role, own_key
from ..results.comparison import compare
from ..results.table import show


def compare_algorithms(setting: Experiment, names: list[str], problems: int, horizon: int, seed: int) -> None:
    """Print how the first of these algorithms does against the others, on problems drawn for comparisons.

    Arguments:
        setting: the experiment.
        names: of the algorithms; what was learned and all baselines if empty.
        problems: how many are drawn.
        horizon: the largest number of steps.
        seed: same seed, same numbers.
    """
    known = comparable(setting)
    names = names or [name for name in known if name == "learned" or name in setting.baselines]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"{setting.name} has no algorithm {unknown[0]!r}; there are {', '.join(known)}.")
    comparison = compare(
        {name: known[name] for name in names},
        setting.problem_class,
        setting.draw(Role.comparison, seed, problems),
        criterion=setting.criterion,
        horizon=horizon,
        key=own_key(seed, 0xC0A9),
        progress=True,
    )
    console = Console()
    title = f"{setting.name}: stopping time on {problems} problems, at most {horizon} steps"
    show(console, comparison.table(title))
    if any((each.outcome != "solved").any() for each in comparison.performances.values()):
        console.print(f"A problem that is not solved counts as {horizon} steps.")
    for other in names[1:]:
        verdict, share = comparison.verdict(names[0], over=other), comparison.faster(names[0], over=other)
        word = "less" if verdict.saved >= 0 else "more"
        faster = percent_seen(float(share), 0)
        console.print(
            f"{names[0]} needs {abs(verdict.saved):.4g} steps {word} than {other} on "
            f"these problems and is faster on {faster} of them. {verdict.sentence(names[0], other, 'steps')}",
            markup=False,
        )
