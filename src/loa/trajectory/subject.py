"""What an evaluation is about, for the certificates that are made from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from ..algorithms.algorithm import Algorithm, Stack
from ..problems.criterion import Criterion
from ..problems.from_functions import OfInstances
from ..problems.problem_class import ProblemClass, count_problems
from ..storage.checkpoint import fingerprint

LOGGED = "logged instances"
"""Under this name stands how many instances were logged, where problems come from a log."""

FINITE = "finitely many problems"
"""Under this name stands "yes" for a class that says so, in which independent draws may coincide."""

DIFFERENT = "different problems"
"""Under this name stands how many problems are different, where some are copies of others."""

PREFIX = 64
"""The numbers at the beginning of each array, which nearly always tell problems apart."""


def described(
    algorithm: Algorithm | Stack, problem_class: ProblemClass, problems: Any, criterion: Criterion, horizon: int
) -> dict[str, str]:
    """What certificates from an evaluation say that they are about."""
    about = {
        "algorithm": fingerprint(type(algorithm).__name__, algorithm),
        "problem class": type(problem_class).__name__,
        "criterion": str(criterion),
        "horizon": str(horizon),
    }
    if isinstance(problem_class, OfInstances):
        about[LOGGED] = str(count_problems(problem_class.instances))
    elif problem_class.finite:
        about[FINITE] = "yes"
    number, total = different(problems), count_problems(problems)
    return about | ({DIFFERENT: str(number)} if number < total else {})


def copies_among(about: Mapping[str, str], count: int) -> str | None:
    """The beginning of a sentence about copies among problems that should be independent; None if there may be some.

    Independent draws coincide if there are finitely many problems, and so may logged instances.
    """
    number, logged = about.get(DIFFERENT), about.get(LOGGED)
    may_coincide = FINITE in about if logged is None else count <= int(logged)
    if number is None or may_coincide:
        return None
    return f"only {number} of the {count} problems are different: if some were copied, they are not independent, and"


def different(problems: Any) -> int:
    """How many problems of a stack are different.

    >>> different(np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]]))
    2
    """
    arrays = [_numbers(leaf) for leaf in jax.tree.leaves(problems)]
    count = len(arrays[0])
    beginnings = {b"".join(each[index].ravel()[:PREFIX].tobytes() for each in arrays) for index in range(count)}
    if len(beginnings) == count:
        return count
    return len({fingerprint(*(each[index] for each in arrays)) for index in range(count)})


def _numbers(leaf: Any) -> np.ndarray:
    is_key = isinstance(leaf, jax.Array) and jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(leaf) if is_key else leaf)
