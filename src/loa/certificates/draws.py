"""Draws of problems that know their role, and refuse to be used for two roles that must be disjoint."""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from ..messages.arguments import check_type, shown
from ..problems.problem_class import count_problems
from ..problems.role import Role

KNOWN = (Role.training, Role.prior, Role.validation, Role.posterior, Role.held_out, Role.test)
ROLES = {role.text: role.purpose for role in KNOWN}
"""Roles that certificates know, and what their problems are used for."""

MAY_SHARE = frozenset({"training", "prior", "validation"})
"""Roles whose problems are all seen before the plan is fixed."""

COMPUTED = ("optimal_loss",)
"""Parts of a problem that are computed from the others, so that it is the same problem with and without them."""

DIGITS = 16
HALVES = slice(None, DIGITS), slice(DIGITS, None)
"""The two halves of a fingerprint, of hexadecimal digits."""

BY_CHANCE = 1e-9
"""Draws of finitely many problems are refused if they agree in a way that is less probable than this."""


class OverlapError(ValueError):
    """Problems were used for two roles that must be disjoint."""


@dataclasses.dataclass(frozen=True, repr=False)
class Draw:
    """A stack of problems in one role, known by its content.

    Each problem has a fingerprint, a hash of its arrays, so that an overlap is noticed however it came about: the same
    key for two draws, a longer draw that begins with a shorter one, a slice, a copy in single precision, the same
    problems with their optimal losses.

    Made by `Draw.of`.

    Fields:
        role: "training", "prior", "validation", "posterior", "held-out" or "test".
        fingerprints: one hash per problem: of its content, followed by that of its content in single precision.
        finite: whether the class has finitely many problems, so that independent draws may coincide here and there.
            Then only draws are refused of which one begins with the other.
        logged: whether the problems are instances of a log, so that certificates are about the stream they come from.
    """

    role: str
    fingerprints: tuple[str, ...]
    finite: bool = False
    logged: bool = False

    def __post_init__(self):
        if not (isinstance(self.role, str) and self.role in ROLES):
            raise ValueError(f"role must be one of {', '.join(ROLES)}, got {shown(self.role)}.")

    @classmethod
    def of(cls, problems: Any, role: str, *, finite: bool = False, logged: bool = False) -> Draw:
        """The draw that holds these problems.

        >>> Draw.of(np.arange(6.0).reshape(3, 2), "held-out")
        Draw(held-out, 3 problems, 00c2f0ba7c68)
        """
        count_problems(problems)
        leaves = _leaves(problems)
        fingerprints = _fingerprints(leaves)
        copies = len(fingerprints) - len({each[HALVES[0]] for each in fingerprints})
        if role == Role.training.text:  # copies do no harm there, but say that others may coincide by chance as well
            return cls(role, fingerprints, finite or copies > 0)
        if copies and not finite:
            raise OverlapError(
                f"{copies} of the {len(fingerprints)} {role} problems are copies of others, so they are not "
                "independent: draw other problems, or say finite=True if the class has finitely many problems."
            )
        return cls(role, fingerprints, finite, logged)

    @property
    def fingerprint(self) -> str:
        """One hash of all problems, in their order."""
        return hashlib.sha256("".join(self.fingerprints).encode()).hexdigest()[:32]

    def shared(self, other: Draw) -> int:
        """How many problems of this draw are in another one, in single or double precision.

        >>> points = np.linspace(0.0, 1.0, 10).reshape(5, 2)
        >>> Draw.of(points, "prior").shared(Draw.of(points[1:3].astype(np.float32), "test"))
        2
        """
        exact, rounded = ({each[half] for each in other.fingerprints} for half in HALVES)
        return sum(each[HALVES[0]] in exact or each[HALVES[1]] in rounded for each in self.fingerprints)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, by which an overlap can be noticed later."""
        return {"role": self.role, "finite": self.finite, "fingerprints": list(self.fingerprints)}

    @classmethod
    def from_dict(cls, content: Any) -> Draw:
        """The inverse of `to_dict`."""
        return cls(content["role"], tuple(content["fingerprints"]), content["finite"])

    def __len__(self) -> int:
        return len(self.fingerprints)

    def __repr__(self) -> str:
        return f"Draw({self.role}, {len(self)} problems, {self.fingerprint[:12]})"


def check_disjoint(*draws: Draw) -> None:
    """Refuse draws that share problems although their roles must be disjoint.

    Arguments:
        draws: the draws to compare.

    >>> check_disjoint(Draw.of(np.arange(3.0), "posterior"), Draw.of(np.arange(2.0), "held-out"))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    loa.certificates.draws.OverlapError: 2 problems are both in the posterior draw ...
    """
    for draw in draws:
        check_type("a draw", draw, Draw, "made by loa.certificates.Draw.of(problems, role)")
    for index, first in enumerate(draws):
        for second in draws[:index]:
            if first.role == second.role or {first.role, second.role} <= MAY_SHARE:
                continue
            shared = first.shared(second)
            if (first.finite or second.finite) and not _begins_alike(first, second):
                continue
            if shared:
                raise OverlapError(
                    f"{shared} problems are both in the {second.role} draw ({ROLES[second.role]}) and in the "
                    f"{first.role} draw ({ROLES[first.role]}), so a certificate would not be valid: draw them with "
                    "different keys."
                )


def _begins_alike(first: Draw, second: Draw) -> bool:
    """Whether draws of finitely many problems are the same, or one begins with the other beyond what chance does."""
    shorter, longer = sorted((first.fingerprints, second.fingerprints), key=len)
    if shorter != longer[: len(shorter)]:
        return False
    return len(shorter) == len(longer) or log_probability(shorter) < math.log(BY_CHANCE)


def log_probability(sequence: Sequence[Any]) -> float:
    """The logarithm of the probability that a sequence is drawn again, by the frequencies in it.

    >>> log_probability("aaaa"), round(log_probability("abab"), 2)
    (0.0, -2.77)
    """
    counts = np.array(list(Counter(sequence).values()), float)
    return float((counts * np.log(counts / len(sequence))).sum())


def _leaves(problems: Any) -> list[np.ndarray]:
    """The arrays of a stack of problems that are not computed from others; those of PRNG keys are their key data."""

    def data(leaf: Any) -> np.ndarray:
        is_key = isinstance(leaf, jax.Array) and jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        return np.asarray(jax.random.key_data(leaf) if is_key else leaf)

    found = jax.tree_util.tree_leaves_with_path(problems)
    own = [leaf for path, leaf in found if jax.tree_util.keystr(path[-1:], simple=True) not in COMPUTED]
    return [data(leaf) for leaf in own or [leaf for _, leaf in found]]


def _fingerprints(leaves: list[np.ndarray]) -> tuple[str, ...]:
    """Hashes of the problems, in their own precision and in single precision.

    The same draw in another size can differ in the last digits, since the compiler orders operations otherwise. Where
    only one number varies, single precision is not used: such numbers coincide by chance.
    """
    rounded = len(leaves[0]) == 1 or _varying(leaves) > 1
    return tuple(
        "".join(_hash([np.asarray(leaf[index]) for leaf in leaves], single) for single in (False, rounded))
        for index in range(len(leaves[0]))
    )


def _varying(leaves: list[np.ndarray]) -> int:
    """How many numbers of a problem differ among problems."""
    return sum(int((leaf != leaf[:1]).any(axis=0).sum()) for leaf in leaves)


def _hash(parts: list[np.ndarray], single: bool) -> str:
    """Of shapes and content, the same for whole numbers of any size and for single and lower precision."""
    digest = hashlib.blake2b(digest_size=DIGITS // 2)
    for part in parts:
        if part.dtype.kind in "biu":
            part = part.astype("<i8")
        elif single or part.dtype.itemsize < 8:
            part = part.astype("<c8" if part.dtype.kind == "c" else "<f4")
        digest.update(f"{part.dtype.str}{part.shape}".encode())
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()
