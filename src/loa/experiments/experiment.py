"""An experiment is a value made of three: the task, the recipe of learning, and how the results are presented."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Key

from ..algorithms.algorithm import Algorithm
from ..certificates.draws import Draw
from ..learning.cost import STEPS, Cost
from ..problems import gaps
from ..problems.criterion import Criterion
from ..problems.logs.log import Log
from ..problems.problem_class import ProblemClass, whole_number
from ..problems.role import Role, own_key
from ..storage.resuming import forget_evaluations
from ..trajectory.functionals import Functional
from ..trajectory.optimal_losses import with_optimal_losses
from .checks import check_baselines, check_functionals, check_log, check_name, check_sizes, check_type, check_ways
from .prior_sampling import Prior as Prior

if TYPE_CHECKING:
    import xarray
    from rich.console import Console

    from ..results.run_results import Results

PRESETS = ("quick", "paper", "pretrained")

Learn = Callable[["LearningSetup"], Algorithm]
"""How an algorithm is learned for an experiment."""

Pictures = Callable[["Experiment", Mapping[str, Algorithm], Any, Path | None], "xarray.Dataset"]
"""Makes pictures of examples, from the experiment, the algorithms by name and some test problems."""


@dataclass(frozen=True)
class Task:
    """What is to be solved, what counts as solved, what is measured, and which classical algorithms to compare with.

    Fields:
        name: of the experiment, and of its directory.
        problem_class: the distribution of problems.
        criterion: what counts as solved.
        horizon: the largest number of steps.
        functionals: what is measured of every trajectory. Those whose values are bounded are certified as well.
        baselines: algorithms to compare with, by name.
        gap: what evolves over time in the figure.
        calls_per_step: oracle calls are certified up to this number times the horizon, or a larger one for what needs
            more on the validation problems (`Experiment.charging`).
    """

    name: str
    problem_class: ProblemClass
    criterion: Criterion
    horizon: int
    functionals: tuple[Functional, ...]
    baselines: Mapping[str, Algorithm]
    gap: gaps.Gap = gaps.loss_gap
    calls_per_step: int = 4

    def __post_init__(self):
        check_type(self.problem_class, ProblemClass, "`problem_class` must be an instance of loa.ProblemClass")
        check_type(self.criterion, Criterion, "`criterion` must be a loa.Criterion such as loa.loss_below(1e-6)")
        whole_number("`horizon`", self.horizon)
        check_baselines(self.baselines)
        check_functionals(self.functionals, self.horizon)


@dataclass(frozen=True)
class Preset:
    """What a preset changes: numbers of problems by role, effort of learning, candidates, and trajectories shown.

    What is not given stays what the experiment says.
    """

    sizes: Mapping[str, int] = field(default_factory=dict)
    effort: float | None = None
    candidates: int | None = None
    shown: int | None = None

    def __post_init__(self):
        check_sizes(self.sizes)


@dataclass(frozen=True)
class Recipe:
    """How algorithms are learned and candidates sampled, and from how many problems.

    Fields:
        learned: how algorithms are learned, by name: "loa" is ours, "paper" has the paper's architecture and objective.
        sizes: how many problems are drawn for each role, such as "prior" and "test"; the paper's, where it has them.
        tuned: baselines that are tuned on training problems first, by name.
        prior: how candidates around the learned algorithm are found.
        effort: scales the numbers of steps, candidates and problems of learning.
        presets: what "quick", "paper" and "pretrained" change. The last is for weights that ship with loa.
        log: the instances that problems of all roles are taken from, each once, if they are not drawn by the class.
        classes: your own classes that learned algorithms may be made of; an interrupted run needs them to resume.
        guarded: whether the best of the baselines guards what was learned (`loa.learning.guard`), where that is
            deployed.
    """

    learned: Mapping[str, Learn]
    sizes: Mapping[str, int]
    tuned: Mapping[str, Learn] = field(default_factory=dict)
    prior: Prior = field(default_factory=Prior)
    effort: float = 1.0
    presets: Mapping[str, Preset] = field(default_factory=dict)
    classes: tuple[type, ...] = ()
    log: Log | None = None
    guarded: bool = True

    def __post_init__(self):
        check_sizes(self.sizes)
        for preset in self.presets:
            _check_preset(preset)
        check_ways({**self.learned, **self.tuned})
        for name in self.tuned:
            check_name(name)

    def at(self, preset: Preset) -> Recipe:
        """The recipe with what a preset changes."""
        prior, effort = self.prior, self.effort
        if preset.candidates is not None:
            prior = dataclasses.replace(prior, candidates=preset.candidates)
        if preset.effort is not None:
            effort = preset.effort
        return dataclasses.replace(self, sizes={**self.sizes, **preset.sizes}, prior=prior, effort=effort)


@dataclass(frozen=True)
class Presentation:
    """What readers of the report see besides the numbers of the run.

    Fields:
        title: the heading of the report.
        shown: on how many test problems whole trajectories are followed for the figure.
        published: the authors' numbers, by functional.
        notes: what a reader of the certificates must know.
        pictures: makes pictures of examples.
        more_tests: other problem classes to test on; no certificate speaks of them.
        afterwards: what a run does last, with the results and the directory they are in.
        files: the names of the files that `afterwards` writes.
    """

    title: str = ""
    shown: int = 250
    published: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    pictures: Pictures | None = None
    more_tests: Mapping[str, Callable[[], ProblemClass]] = field(default_factory=dict)
    afterwards: Callable[[Experiment, Results, Path, Console], None] | None = None
    files: tuple[str, ...] = ()


@dataclass(frozen=True)
class Experiment:
    """A task, the recipe of learning an algorithm for it, and how the results are presented.

    Variants are made with `dataclasses.replace` on the part that changes.

    >>> import loa
    >>> lasso = loa.experiments.get("lasso")
    >>> lasso.task.horizon, lasso.recipe.sizes["test"], lasso.at("paper").recipe.sizes["test"]
    (600, 250, 10000)
    """

    task: Task
    recipe: Recipe
    presentation: Presentation = Presentation()

    def __post_init__(self):
        check_log(self.problem_class, self.recipe.log)
        twice = [name for name in self.task.baselines if name in self.recipe.tuned]
        if twice:
            raise ValueError(
                f"{twice[0]!r} in `baselines` is also the name of a tuned algorithm; give it another name."
            )

    def at(self, preset: str) -> Experiment:
        """The experiment at a preset: "quick" with less of everything, "paper" at full size, or "pretrained"."""
        _check_preset(preset)
        chosen = self.recipe.presets.get(preset, Preset())
        shown = self.presentation.shown if chosen.shown is None else chosen.shown
        presentation = dataclasses.replace(self.presentation, shown=shown)
        return dataclasses.replace(self, recipe=self.recipe.at(chosen), presentation=presentation)

    def charging(self, calls_per_step: float) -> Experiment:
        """The experiment where oracle calls are certified up to this number for each step, if that is more."""
        most = max(self.task.calls_per_step, math.ceil(calls_per_step))
        return dataclasses.replace(self, task=dataclasses.replace(self.task, calls_per_step=most))

    def cost(self, words: str) -> Cost:
        """The cost that words such as "steps" stand for, refused if it is of no functional that is measured."""
        cost = Cost.parse(words)
        names = [each.name for each in self.task.functionals]
        if not cost.by_clock and cost.functional not in names:
            raise ValueError(
                f"{self.name} does not measure {cost.functional!r}, so it cannot be minimized; it measures "
                f"{', '.join(names)}."
            )
        return cost

    def draw(self, role: Role | str, seed: int, size: int | None = None, *, optimal_losses: bool = False) -> Any:
        """The problems of a role, independent of those of the others; with their optimal losses if wanted."""
        role, log = Role.named(role), self.recipe.log
        if log is None:
            problems = self.problem_class.draw(role.key(seed), size or self.sizes[role.text])
        else:
            problems = jax.tree.map(jnp.asarray, log.of(role, seed, size))
        return with_optimal_losses(self.problem_class, problems) if optimal_losses else problems

    @property
    def finite(self) -> bool:
        """Whether independent draws may coincide: there are finitely many problems, or a log has repeats."""
        return self.problem_class.finite or (
            self.recipe.log is not None and self.recipe.log.instances.repeats == "keep"
        )

    @property
    def name(self) -> str:
        return self.task.name

    @property
    def problem_class(self) -> ProblemClass:
        return self.task.problem_class

    @property
    def criterion(self) -> Criterion:
        return self.task.criterion

    @property
    def horizon(self) -> int:
        return self.task.horizon

    @property
    def functionals(self) -> tuple[Functional, ...]:
        return self.task.functionals

    @property
    def baselines(self) -> Mapping[str, Algorithm]:
        return self.task.baselines

    @property
    def sizes(self) -> Mapping[str, int]:
        return self.recipe.sizes


@dataclass(frozen=True)
class LearningSetup:
    """What learning needs to know besides the experiment.

    That is the seed, the effort, where to keep checkpoints, and the cost that is to be small.
    """

    experiment: Experiment
    seed: int = 0
    effort: float = 1.0
    checkpoint: Path | None = None
    progress: bool = False
    cost: Cost = STEPS
    facts: dict[str, Any] = field(default_factory=dict)
    """How the algorithm was learned, for the provenance: written by the function that learns it."""

    @property
    def key(self) -> Key[Array, ""]:
        """A random key for learning, different from the keys of all draws."""
        return own_key(self.seed, 0x1EA7)

    def at_most(self, size: int) -> int:
        """How many problems there are to learn from, of the number wanted: all, unless they come from a log."""
        log = self.experiment.recipe.log
        return size if log is None else min(size, log.sizes[Role.training.text])

    def problems(self, size: int, *, optimal_losses: bool = False) -> Any:
        """Problems to learn from, or all that a log has. They have no other role; the facts note their fingerprints."""
        problems = self.experiment.draw(Role.training, self.seed, size, optimal_losses=optimal_losses)
        if size > len(self.facts.get("draw", {}).get("fingerprints", ())):  # a longer draw begins with a shorter one
            self.facts["draw"] = Draw.of(problems, Role.training.text, finite=self.experiment.finite).to_dict()
        return problems

    @property
    def imitation_checkpoint(self) -> Path | None:
        """For the imitation of a teacher, which comes before training."""
        return self._beside(".imitation")

    @property
    def second_checkpoint(self) -> Path | None:
        """For further training, once the first course of training is complete."""
        return self._beside(".unrolled")

    @property
    def evaluations(self) -> Path | None:
        """A directory for the checkpoints of evaluations."""
        return self._beside(".evaluations")

    @property
    def seconds(self) -> Path | None:
        """A file for the time that learning has taken so far."""
        return self._beside(".seconds")

    def _beside(self, suffix: str) -> Path | None:
        return None if self.checkpoint is None else self.checkpoint.with_suffix(suffix)

    @property
    def interrupted(self) -> list[Path]:
        """The files that an interrupted training has left."""
        files = (self.checkpoint, self.imitation_checkpoint, self.second_checkpoint)
        paths = (*files, self.evaluations, self._beside(".checks"))
        return [path for path in paths if path is not None and path.exists()]

    def forget(self) -> None:
        """Remove the files that serve only to resume an interrupted training."""
        for path in self.interrupted:
            forget_evaluations(path) if path.is_dir() else path.unlink()
        if self.seconds is not None:
            self.seconds.unlink(missing_ok=True)

    def times(self, number: int) -> int:
        """A number of steps or candidates, scaled by the effort."""
        return max(1, round(self.effort * number))


def _check_preset(preset: str) -> None:
    if preset not in PRESETS:
        raise ValueError(f"there is no preset {preset!r}; there are {', '.join(PRESETS)}.")
