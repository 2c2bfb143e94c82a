"""Logged problems: a stack of instances with their names, and what was left out of it and why."""

from __future__ import annotations

import dataclasses
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import jax
import numpy as np

from ...messages.arguments import shown
from ...messages.warning import warn
from ..problem_class import count_problems
from .padding import padded, sizes_in_words

MOST_ODD = 0.01
"""The share of instances that may be left out, because they are unreadable, odd, or equal to others."""

NAMED = 5
"""The number of instances that a message names."""

REPEATS = ("refuse", "keep", "drop")
ORDERS = ("shuffled", "time")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Instances:
    """Problems that were logged: one stack, with the name of each instance.

    Made by `loa.problems.from_files`, or by `Instances.of` from arrays or an iterator.

    Fields:
        problems: a pytree of arrays with one common leading axis, one entry per instance.
        names: of the instances, such as the names of their files.
        skipped: for each instance that was left out, its name and the reason.
        equal: for each instance that equals an earlier one, its name and that of the other.
        repeats: whether equal instances are in the stack ("keep") or only the first of them.
        order: "time" if the instances stand in the order in which they occurred, and "shuffled" if not.
    """

    problems: Any
    names: tuple[str, ...]
    skipped: tuple[str, ...] = ()
    equal: tuple[str, ...] = ()
    repeats: str = "refuse"
    order: str = "shuffled"

    @classmethod
    def of(
        cls,
        instances: Any,
        *,
        time: str | None = None,
        order: str | None = None,
        repeats: str = "refuse",
        pad: bool = False,
    ) -> Instances:
        """Collect instances from an iterator or a list of them, or from arrays that are stacked already.

        An instance that is odd (NaN in it, other fields or shapes than most) is named in a warning and left out; if
        these are more than 1%, there is an error instead.

        Arguments:
            instances: a list, iterator or generator of instances, each a pytree of numbers and arrays; or one pytree of
                arrays with a common leading axis.
            time: the field, a number, by which instances are sorted; it is then no longer part of them.
            order: "time" if the instances are in the order in which they occurred; "shuffled" by default, or "time"
                where the field `time` is given.
            repeats: what to do if more than 1% of the instances equal earlier ones: "refuse" them all, "keep" them,
                because the same problem does occur again and again, or "drop" them, because it was only logged twice.
            pad: whether instances of unequal shapes are filled up with zeros to the largest one. A field `name` of
                unequal shapes is then accompanied by `name_mask`, which is True where its entries are real.

        Returns:
            The instances.

        >>> Instances.of({"a": np.arange(3.0), "b": np.ones((3, 2))})
        Instances(3 instances with a: (), b: (2,); shuffled)
        >>> len(Instances.of({"a": float(k)} for k in range(5)))
        5
        """
        if isinstance(instances, list | Iterator) or (
            isinstance(instances, Iterable) and not isinstance(instances, Mapping | tuple | np.ndarray | jax.Array)
        ):
            named = ((f"instance {index}", each) for index, each in enumerate(instances))
        else:
            stack = jax.tree.map(np.asarray, instances) if count_problems(instances) else instances
            each = jax.tree.leaves(stack)[0]
            named = (
                (f"instance {index}", jax.tree.map(lambda leaf, index=index: leaf[index], stack))
                for index in range(len(each))
            )
        return collected(named, time=time, order=order, repeats=repeats, pad=pad)

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, chosen: Any) -> Any:
        """The problems at these places: a stack for a slice or several indices, one problem for one index."""
        return jax.tree.map(lambda leaf: leaf[chosen], self.problems)

    def __repr__(self) -> str:
        out = f"; {len(self.skipped)} left out" if self.skipped else ""
        again = f"; {len(self.equal)} equal to others" if self.equal else ""
        return f"Instances({len(self)} instances with {_fields(self[0])}; {self.order}{out}{again})"


def collected(
    named: Iterable[tuple[str, Any]],
    *,
    time: str | None = None,
    order: str | None = None,
    repeats: str = "refuse",
    pad: bool = False,
) -> Instances:
    """Instances from pairs of a name and an instance, or a name and the error with which reading it failed."""
    if order is not None and order not in ORDERS:
        raise ValueError(f"order must be {' or '.join(map(repr, ORDERS))}, got {shown(order)}.")
    if repeats not in REPEATS:
        raise ValueError(f"repeats must be {', '.join(map(repr, REPEATS))}, got {shown(repeats)}.")
    good, odd = _examined(named)
    total = len(good) + len(odd)
    if not total:
        raise ValueError("there are no instances: at least one is needed.")
    good, other = _alike(good)
    odd |= other
    if pad:
        good = padded(good)
    else:
        good, other = _of_one_shape(good, total - len(odd))
        odd |= other
    _refuse_many(odd, total)
    if time is not None:
        good = _sorted_by(good, time)
    good, equal = _without_copies(good, repeats)
    if odd:
        warn(f"{len(odd)} of {total} instances are left out: {_listed(odd)}.")
    problems = jax.tree.map(lambda *leaves: np.stack(leaves), *good.values())
    skipped = tuple(f"{name}: {reason}" for name, reason in odd.items())
    order = order or ("shuffled" if time is None else "time")
    return Instances(problems, tuple(good), skipped, equal, repeats, order)


def _examined(named: Iterable[tuple[str, Any]]) -> tuple[dict[str, Any], dict[str, str]]:
    """The instances that are made of numbers, by name, and what is wrong with the others."""
    good: dict[str, Any] = {}
    odd: dict[str, str] = {}
    for name, instance in named:
        if isinstance(instance, Exception):
            odd[name] = str(instance)
            continue
        leaves = jax.tree_util.tree_leaves_with_path(instance, is_leaf=lambda node: isinstance(node, list))
        arrays = [(jax.tree_util.keystr(path, simple=True, separator="."), _numbers(leaf)) for path, leaf in leaves]
        wrong = [field for field, array in arrays if array is None]
        nan = [field for field, array in arrays if array is not None and np.isnan(array).any()]
        if wrong or not arrays:
            odd[name] = f"{_field(wrong[0])} does not hold numbers" if wrong else "it is empty"
        elif nan:
            odd[name] = f"NaN in {_field(nan[0])}"
        else:
            tree = jax.tree.structure(instance, is_leaf=lambda node: isinstance(node, list))
            good[name] = jax.tree.unflatten(tree, [array for _, array in arrays])
    return good, odd


def _numbers(leaf: Any) -> np.ndarray | None:
    try:
        array = np.asarray(leaf)
    except ValueError:  # lists of unequal lengths
        return None
    return array if array.dtype.kind in "biuf" and array.size else None


def _alike(good: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The instances with the fields that most of them have, and what the others have instead."""
    forms = {name: jax.tree.structure(each) for name, each in good.items()}
    if len(set(forms.values())) <= 1:
        return good, {}
    usual = Counter(forms.values()).most_common(1)[0][0]
    example = next(each for name, each in good.items() if forms[name] == usual)
    odd = {
        name: f"it has the fields {_names(each)} instead of {_names(example)}"
        for name, each in good.items()
        if forms[name] != usual
    }
    return {name: each for name, each in good.items() if name not in odd}, odd


def _of_one_shape(good: dict[str, Any], readable: int) -> tuple[dict[str, Any], dict[str, str]]:
    """The instances with the most common shapes; where others are common as well, nothing can be left out."""
    shapes = {name: tuple(leaf.shape for leaf in jax.tree.leaves(each)) for name, each in good.items()}
    counts = Counter(shapes.values())
    if len(counts) <= 1:
        return good, {}
    usual = counts.most_common(1)[0][0]
    example = next(each for name, each in good.items() if shapes[name] == usual)
    odd = {
        name: f"its shapes are {_fields(each)} instead of {_fields(example)}"
        for name, each in good.items()
        if shapes[name] != usual
    }
    if len(odd) > MOST_ODD * readable:
        raise ValueError(
            f"instances have unequal shapes ({sizes_in_words(good.values())}): say pad=True to fill them up with zeros "
            "and get a mask, or run each size separately."
        )
    return {name: each for name, each in good.items() if name not in odd}, odd


def _refuse_many(odd: Mapping[str, str], total: int) -> None:
    if len(odd) > MOST_ODD * total:
        raise ValueError(
            f"{len(odd)} of {total} instances cannot be used, which is more than 1%: {_listed(odd)}; repair or remove "
            "them."
        )


def _sorted_by(good: dict[str, Any], time: str) -> dict[str, Any]:
    """Sorted by a field, which is then removed."""
    example = next(iter(good.values()))
    if not (isinstance(example, dict) and time in example and example[time].ndim == 0 and len(example) > 1):
        raise ValueError(
            f"time must be a field that is one number, beside others; {time!r} is none of {_names(example)}."
        )
    names = sorted(good, key=lambda name: float(good[name][time]))
    return {name: {field: leaf for field, leaf in good[name].items() if field != time} for name in names}


def _without_copies(good: dict[str, Any], repeats: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Each instance once, and those that equal an earlier one; all of them if repeats are kept."""
    first: dict[bytes, str] = {}
    copies: dict[str, str] = {}
    for name, each in good.items():
        digest = hashlib.blake2b(digest_size=16)
        for leaf in jax.tree.leaves(each):
            digest.update(f"{leaf.shape}".encode() + np.ascontiguousarray(leaf, float).tobytes())
        earlier = first.setdefault(digest.digest(), name)
        if earlier != name:
            copies[name] = f"equal to {earlier}"
    if not copies:
        return good, ()
    words = f"{len(copies)} of {len(good)} instances are equal to others: {_listed(copies)}"
    if repeats == "refuse" and len(copies) > MOST_ODD * len(good):
        raise ValueError(
            f"{words}; say repeats='keep' if the same problem occurs again and again, or repeats='drop' if it was only "
            "logged more than once."
        )
    if repeats == "refuse":
        warn(f"{words}; each is used once.")
    kept = good if repeats == "keep" else {name: each for name, each in good.items() if name not in copies}
    return kept, tuple(f"{name}: {reason}" for name, reason in copies.items())


def _listed(reasons: Mapping[str, str]) -> str:
    """Some names with reasons, in parentheses."""
    some = [f"{name} ({reason})" for name, reason in list(reasons.items())[:NAMED]]
    more = [f"{len(reasons) - NAMED} more"] if len(reasons) > NAMED else []
    return ", ".join([*some, *more])


def _fields(instance: Any) -> str:
    leaves = jax.tree_util.tree_leaves_with_path(instance)
    named = [(jax.tree_util.keystr(path, simple=True, separator="."), np.shape(leaf)) for path, leaf in leaves]
    return ", ".join(f"{name}: {shape}" if name else str(shape) for name, shape in named)


def _names(instance: Any) -> str:
    leaves = jax.tree_util.tree_leaves_with_path(instance)
    return ", ".join(jax.tree_util.keystr(path, simple=True, separator=".") or "(an array)" for path, _ in leaves)


def _field(name: str) -> str:
    return f"the field {name!r}" if name else "it"
