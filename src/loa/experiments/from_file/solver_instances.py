"""The instances that a file gives for a solver of any kind, each with one role."""

from __future__ import annotations

import glob
import inspect
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ...certificates import Draw
from ...deployment.any_solver.measure import fingerprint_of, listed
from ...messages.arguments import shown
from ...problems.logs.instances import MOST_ODD, Instances
from ...problems.logs.log_files import READERS, TABLES, table_in
from ...problems.role import Role

SIZES = {Role.training: 40, Role.validation: 40, Role.held_out: 400, Role.test: 120}
"""How many instances each role has, if there is a generator of them; otherwise they are shares."""

FEWEST = 12
"""With fewer instances, nothing could be tuned, certified and tested."""

INSTALLED = (".py", ".pyc")
"""Files in a folder of instances that are none."""


@dataclass(frozen=True, eq=False)
class Pool:
    """Instances that are divided among the roles of a run without replacement, by a rule that is fixed beforehand.

    Fields:
        instances: all of them, of any kind.
        sizes: how many have which role.
        generated: whether a generator drew them, rather than that they were found in files or in a list.
        repeats: whether equal instances occur again and again.

    >>> pool = Pool.of(range(100))
    >>> len(pool.of_role(Role.held_out, seed=0)), pool.sizes["training"]
    (68, 6)
    """

    instances: tuple[Any, ...]
    sizes: Mapping[str, int]
    generated: bool = False
    repeats: bool = False
    fingerprints: tuple[str, ...] = field(repr=False, default=())

    @classmethod
    def of(
        cls, instances: Iterable[Any], sizes: Mapping[str, int] | None = None, *, generated: bool = False,
        repeats: bool = False,
    ) -> Pool:  # fmt: skip
        """Divide instances among the roles; of a generator, only as many are taken as the roles need."""
        wanted = {role.text: size for role, size in SIZES.items()} | dict(sizes or {})
        if generated or isinstance(instances, Iterator):
            instances = itertools.islice(instances, sum(wanted.values()))
        every = tuple(listed(instances if isinstance(instances, list | Instances) else list(instances)))
        hashes = tuple(map(fingerprint_of, every))
        copies = len(hashes) - len(set(hashes))
        if copies > MOST_ODD * len(hashes) and not repeats:
            raise ValueError(
                f"{copies} of {len(hashes)} `instances` are equal to others: leave the copies out, or say "
                "`repeats = True` if the same instance occurs again and again."
            )
        if not repeats:
            first = {each: place for place, each in reversed(list(enumerate(hashes)))}
            every, hashes = tuple(every[place] for place in sorted(first.values())), tuple(dict.fromkeys(hashes))
        return cls(every, _divided(len(every), sizes or {}), generated, repeats, hashes)

    def places(self, role: Role, seed: int) -> np.ndarray:
        """The places of the instances with a role; a seed shuffles them, unless they were drawn at random."""
        order = np.arange(len(self.instances))
        if not self.generated:
            order = np.random.default_rng([seed, 0x501]).permutation(len(order))
        begins = sum(self.sizes[each.text] for each in itertools.takewhile(lambda each: each != role, SIZES))
        return order[begins : begins + self.sizes[role.text]]

    def of_role(self, role: Role, seed: int) -> list[Any]:
        """The instances with a role."""
        return [self.instances[place] for place in self.places(role, seed)]

    def draw(self, role: Role, seed: int) -> Draw:
        """What plan and certificates remember of the instances with a role."""
        hashes = tuple(2 * self.fingerprints[place] for place in self.places(role, seed))
        return Draw(role.text, hashes, self.repeats, not self.generated)

    @cached_property
    def fingerprint(self) -> str:
        return fingerprint_of(self.fingerprints)

    @property
    def words(self) -> str:
        kinds = Counter(type(each).__name__ for each in self.instances).most_common(1)[0][0]
        return f"{len(self.instances)} instances ({'drawn by a generator' if self.generated else 'logged'}, {kinds})"


def pool_in(found: Any, folder: Path, seed: int, sizes: Mapping[str, int] | None, repeats: bool = False) -> Pool:
    """The instances that a file gives.

    Arguments:
        found: a function that returns or yields them, of a seed if it takes an argument; a list or other iterable; a
            stack of arrays; or the path of a folder with one file each, of a pattern, or of a table with one row each.
        folder: where the file is, to which paths are relative.
        seed: of the run.
        sizes: how many have which role.
        repeats: whether equal instances occur again and again.
    """
    generated = inspect.isgeneratorfunction(found) or (callable(found) and bool(_arguments(found)))
    if callable(found):
        found = found(seed) if _arguments(found) else found()
        generated = generated or isinstance(found, Iterator)
    if isinstance(found, str | Path):
        found = _in_files(folder / found)
    elif isinstance(found, Mapping) or hasattr(found, "dtype"):
        found = listed(found)
    if not isinstance(found, Iterable):
        raise ValueError(
            f"`instances` must be a generator, a list, a folder or a table of instances, got {shown(found)}."
        )
    return Pool.of(found, sizes, generated=generated, repeats=repeats)


def _arguments(function: Callable[..., Any]) -> list[str]:
    return [name for name, each in inspect.signature(function).parameters.items() if each.default is each.empty]


def _in_files(path: Path) -> list[Any]:
    """The files of a folder or pattern by their paths, or the rows of a table as dictionaries."""
    if path.is_dir():
        found = sorted(each for each in path.iterdir() if each.is_file() and not each.name.startswith("."))
        found = [str(each) for each in found if each.suffix not in INSTALLED]
    elif path.is_file() and path.suffix in TABLES:
        table = table_in(path)
        found = [dict(zip(table, map(_cell, row), strict=True)) for row in zip(*table.values(), strict=True)]
    elif path.is_file() and path.suffix in READERS:
        read = READERS[path.suffix](path)
        found = read if isinstance(read, list) else listed(read)
    else:
        found = sorted(each for each in glob.glob(str(path), recursive=True) if Path(each).is_file())
    if not found:
        raise ValueError(f"`instances`: there is nothing in {path}, which must be a folder, a pattern or a table.")
    return found


def _cell(cell: Any) -> Any:
    try:
        return float(cell)
    except (TypeError, ValueError):
        return cell


def _divided(total: int, given: Mapping[str, int]) -> dict[str, int]:
    """The number of instances of each role: what is given, and shares of the rest; held-out ones get what remains."""
    unknown = [name for name in given if name not in {role.text for role in SIZES}]
    if unknown:
        known = ", ".join(role.text for role in SIZES)
        raise ValueError(f"`sizes` may be given for {known}, but not for {unknown[0]!r}.")
    if total < FEWEST:
        raise ValueError(f"there are {total} `instances`, but at least {FEWEST} are needed: each is used once.")
    rest, shares = total - sum(given.values()), {role.text: n for role, n in SIZES.items() if role.text not in given}
    if rest < 2 * len(shares):
        raise ValueError(
            f"`sizes` asks for {sum(given.values())} of {total} instances, which leaves too few for "
            f"{', '.join(shares) or 'what it asks for'}: each instance is used once."
        )
    found = {name: max(2, int(rest * share / sum(shares.values()))) for name, share in shares.items()}
    if Role.held_out.text in found:
        found[Role.held_out.text] += rest - sum(found.values())
    return {role.text: {**given, **found}[role.text] for role in SIZES}
