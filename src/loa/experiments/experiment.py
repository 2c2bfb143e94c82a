"""An experiment is a value: a problem class, what counts as solved, and which algorithms to compare on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..algorithms.algorithm import Algorithm
from ..functionals import Functional
from ..problems.criterion import Criterion
from ..problems.problem_class import ProblemClass


@dataclass(frozen=True)
class Experiment:
    """What is particular to one experiment. Variants are made with `dataclasses.replace`.

    `sizes` says how many problems are drawn for each role, such as prior and test.
    """

    name: str
    problem_class: ProblemClass
    criterion: Criterion
    horizon: int
    functionals: tuple[Functional, ...]
    baselines: Mapping[str, Algorithm]
    sizes: Mapping[str, int]
