"""An experiment is a value: a problem class, what counts as solved, and which algorithms to compare on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
from jaxtyping import Array, Key

from ..algorithms.algorithm import Algorithm
from ..functionals import Functional
from ..optimal import with_optimal_losses
from ..problems.criterion import Criterion
from ..problems.problem_class import ProblemClass

ROLES = ("training", "prior", "posterior", "validation", "test")

Learn = Callable[["Lesson"], Algorithm]
"""How an algorithm is learned for an experiment."""


@dataclass(frozen=True)
class Experiment:
    """What is particular to one experiment. Variants are made with `dataclasses.replace`.

    `sizes` says how many problems are drawn for each role, such as prior and test; `learned` how algorithms are learned
    for it: "loa" is ours, "paper" has the paper's architecture and objective.
    """

    name: str
    problem_class: ProblemClass
    criterion: Criterion
    horizon: int
    functionals: tuple[Functional, ...]
    baselines: Mapping[str, Algorithm]
    sizes: Mapping[str, int]
    learned: Mapping[str, Learn] = field(default_factory=dict)

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

    @property
    def key(self) -> Key[Array, ""]:
        """Apart from the keys of all draws."""
        return jax.random.fold_in(jax.random.key(self.seed), 0x1EA7)

    def problems(self, size: int, *, optimal_losses: bool = False) -> Any:
        """Problems to learn from. They have no other role."""
        return self.experiment.draw("training", self.seed, size, optimal_losses=optimal_losses)

    def times(self, number: int) -> int:
        """A number of steps or candidates, scaled by the effort."""
        return max(1, round(self.effort * number))
