"""Experiments on logged instances: which ones a user's file means, and what a reader must know about them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

from ...problems.from_functions import OfInstances
from ...problems.logs.instances import Instances
from ...problems.logs.log import Log
from ...problems.logs.log_files import from_files
from ...problems.problem_class import ProblemClass

FEW = 2000
"""With fewer instances the prior has one candidate: what is chosen is certified, and no further choice is made."""


def instances_in(module: ModuleType, path: Path) -> Instances | None:
    """What a file gives as `instances`: a path relative to the file, instances, or a function that returns either.

    With `pad = True` in the file, instances of unequal shapes are filled up with zeros.
    """
    found, pad = getattr(module, "instances", None), getattr(module, "pad", False)
    if not isinstance(pad, bool):
        raise ValueError(f"`pad` must be True or False, got {pad!r}.")
    if callable(found):
        found = found()
    if found is None or isinstance(found, Instances):
        return found
    try:
        if isinstance(found, str | Path):
            return from_files(str(path.resolve().parent / found), pad=pad)
        return Instances.of(found, pad=pad)
    except (TypeError, ValueError, FileNotFoundError) as error:
        raise ValueError(f"`instances` cannot be used: {error}") from error


def log_of(
    problem_class: ProblemClass, instances: Instances | None, sizes: Mapping[str, int], order: str | None
) -> Log | None:
    """The log that problems come from: the instances given, or those that the class was made from; None without any."""
    if instances is None and isinstance(problem_class, OfInstances):
        instances = Instances.of(problem_class.instances)
    if instances is None:
        if order is not None:
            raise ValueError("`order` is for logged problems: define `instances` as well, such as a folder of files.")
        return None
    return Log(instances, sizes, order or "")


def notes_on(log: Log) -> tuple[str, ...]:
    """What a reader of the certificates must know about a log."""
    instances = log.instances
    notes = [
        f"The problems are {len(instances)} logged instances, {log.rule}. Each is used once, and certificates are "
        "about the stream that they come from."
    ]
    if instances.skipped:
        notes.append(f"Left out: {'; '.join(instances.skipped)}.")
    if instances.equal:
        kept = "are kept" if instances.repeats == "keep" else "are left out"
        notes.append(f"{len(instances.equal)} instances equal to others {kept}: {'; '.join(instances.equal)}.")
    return tuple(notes)
