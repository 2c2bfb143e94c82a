"""An experiment is a value: a problem class, what counts as solved, and which algorithms to learn and compare on it."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
from jaxtyping import Array, Key

from ..algorithms.algorithm import Algorithm
from ..problems import gaps
from ..problems.criterion import Criterion
from ..problems.problem_class import ProblemClass
from ..trajectory.functionals import Functional
from ..trajectory.optimal_losses import with_optimal_losses

if TYPE_CHECKING:
    import xarray
    from rich.console import Console

    from ..results.run_results import Results

ROLES = ("training", "prior", "posterior", "validation", "test", "held-out", "fresh")

Learn = Callable[["Lesson"], Algorithm]
"""How an algorithm is learned for an experiment."""

Pictures = Callable[["Experiment", Mapping[str, Algorithm], Any], "xarray.Dataset"]
"""Examples to look at, from the experiment, the algorithms by name and some test problems."""


def numbers(leaf: Any) -> bool:
    """Whether a parameter is a single number, such as a step size, and not an array, such as a learned curvature."""
    return eqx.is_inexact_array(leaf) and leaf.ndim == 0


@dataclass(frozen=True)
class Prior:
    """How the support of the prior is sampled around what was learned, as in `loa.learning.langevin_support`.

    Parameters that are single numbers vary, and candidates have the others in common. An algorithm that has none, such
    as a network, varies as a whole, by steps of a hundredth of the size.
    """

    candidates: int = 100
    step_size: float = 1e-4
    chains: int = 10
    thinning: int = 20
    batch: int = 16
    at_least: float = 0.9

    def around(self, learned: Algorithm) -> dict[str, Any]:
        """The options for sampling around this algorithm."""
        single = any(map(numbers, jax.tree.leaves(learned)))
        return {
            "size": self.candidates,
            "step_size": self.step_size if single else 0.01 * self.step_size,
            "free": numbers if single else eqx.is_inexact_array,
            "chains": self.chains,
            "thinning": self.thinning,
            "batch": self.batch,
            "at_least": self.at_least,
        }


@dataclass(frozen=True)
class Quick:
    """What the quick preset does with less: effort of learning, candidates, and problems by role."""

    effort: float
    candidates: int
    sizes: Mapping[str, int]
    shown: int = 100


@dataclass(frozen=True)
class Experiment:
    """What is particular to one experiment. Variants are made with `dataclasses.replace`.

    Fields:
        sizes: how many problems are drawn for each role, such as prior and test; the paper's, where it has them.
        larger: draws that are larger at the preset "paper", so that certificates are tight and tests can tell.
        learned: how algorithms are learned for it: "loa" is ours, "paper" has the paper's architecture and objective.
        tuned: baselines that are tuned on training problems first, by name.
        gap: what evolves over time in the figure.
        prior: how candidates around the learned algorithm are found.
        quick: what the quick preset has less of.
        effort: scales the numbers of steps, candidates and problems of learning.
        shown: on how many test problems whole trajectories are followed for the figure.
        calls_per_step: at most so many oracle calls per step are counted in what is certified.
        published: the authors' numbers, by functional.
        more_tests: other problem classes to test on; no certificate speaks of them.
        notes: what a reader of the certificates must know.
        pictures: makes examples to look at.
        afterwards: what a run does when all else is done, with the results and the directory they are in.
    """

    name: str
    problem_class: ProblemClass
    criterion: Criterion
    horizon: int
    functionals: tuple[Functional, ...]
    baselines: Mapping[str, Algorithm]
    sizes: Mapping[str, int]
    larger: Mapping[str, int] = field(default_factory=dict)
    learned: Mapping[str, Learn] = field(default_factory=dict)
    tuned: Mapping[str, Learn] = field(default_factory=dict)
    title: str = ""
    gap: gaps.Gap = gaps.loss_gap
    prior: Prior = Prior()
    quick: Quick | None = None
    effort: float = 1.0
    shown: int = 250
    calls_per_step: int = 4
    published: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    more_tests: Mapping[str, Callable[[], ProblemClass]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    pictures: Pictures | None = None
    afterwards: Callable[[Experiment, Results, Path, Console], None] | None = None

    def at(self, preset: str) -> Experiment:
        """The experiment at a preset: "paper" in full, "quick" with less of everything."""
        if preset not in ("quick", "paper"):
            raise ValueError(f"there is no preset {preset!r}; there are quick, paper.")
        if preset == "paper":
            return dataclasses.replace(self, sizes={**self.sizes, **self.larger})
        if self.quick is None:
            return self
        return dataclasses.replace(
            self,
            sizes={**self.sizes, **self.quick.sizes},
            prior=dataclasses.replace(self.prior, candidates=self.quick.candidates),
            effort=self.quick.effort,
            shown=self.quick.shown,
        )

    def draw(self, role: str, seed: int, size: int | None = None, *, optimal_losses: bool = False) -> Any:
        """The problems of a role, independent of those of the others; with their optimal losses if wanted."""
        if role not in ROLES:
            raise ValueError(f"there is no role {role!r}; there are {', '.join(ROLES)}.")
        key = jax.random.fold_in(jax.random.key(seed), ROLES.index(role))
        problems = self.problem_class.draw(key, size or self.sizes[role])
        return with_optimal_losses(self.problem_class, problems) if optimal_losses else problems


@dataclass(frozen=True)
class Lesson:
    """What learning needs to know besides the experiment: the seed, how much effort, where to keep checkpoints."""

    experiment: Experiment
    seed: int = 0
    effort: float = 1.0
    checkpoint: Path | None = None
    progress: bool = False
    facts: dict[str, Any] = field(default_factory=dict)
    """How it was learned, for the provenance: written by whoever does it."""

    @property
    def key(self) -> Key[Array, ""]:
        """Apart from the keys of all draws."""
        return jax.random.fold_in(jax.random.key(self.seed), 0x1EA7)

    def problems(self, size: int, *, optimal_losses: bool = False) -> Any:
        """Problems to learn from. They have no other role."""
        return self.experiment.draw("training", self.seed, size, optimal_losses=optimal_losses)

    @property
    def second_checkpoint(self) -> Path | None:
        """For training on, once the first course of training is complete."""
        return None if self.checkpoint is None else self.checkpoint.with_suffix(".unrolled")

    @property
    def evaluations(self) -> Path | None:
        """A directory for the checkpoints of evaluations."""
        return None if self.checkpoint is None else self.checkpoint.with_suffix(".evaluations")

    @property
    def interrupted(self) -> list[Path]:
        """What is left of an interruption."""
        paths = (self.checkpoint, self.second_checkpoint, self.evaluations)
        return [path for path in paths if path is not None and path.exists()]

    def forget(self) -> None:
        """Remove what only served to go on after an interruption."""
        for path in self.interrupted:
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def times(self, number: int) -> int:
        """A number of steps or candidates, scaled by the effort."""
        return max(1, round(self.effort * number))
