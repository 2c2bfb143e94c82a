"""Draws of problems that know their role, and refuse to be used for two roles that must be disjoint."""

from __future__ import annotations

import dataclasses
import hashlib
from typing import Any

import jax
import numpy as np

from ..problems.arguments import check_type, shown
from ..problems.problem_class import count_problems
from ..problems.role import Role

ROLES = {role.text: role.purpose for role in (Role.prior, Role.validation, Role.posterior, Role.held_out, Role.test)}
"""Roles that certificates know, and what their problems are used for."""

MAY_SHARE = frozenset({"prior", "validation"})


class OverlapError(ValueError):
    """Problems were used for two roles that must be disjoint."""


@dataclasses.dataclass(frozen=True, repr=False)
class Draw:
    """A stack of problems in one role, known by its content.

    Each problem has a fingerprint, a hash of its arrays, so that an overlap is noticed however it came about: the same
    key for two draws, a longer draw that begins with a shorter one, a slice.

    Made by `Draw.of`.

    Fields:
        role: "prior", "validation", "posterior", "held-out" or "test".
        fingerprints: one hash per problem.
        finite: whether the class has finitely many problems, so that independent draws may coincide here and there.
            Then only identical draws are refused.
        logged: whether the problems are instances of a log, so that certificates speak of the stream they come from.
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
        Draw(held-out, 3 problems, de7d328fc70b)
        """
        count_problems(problems)
        leaves = _leaves(problems)
        fingerprints = tuple(_fingerprint(leaves, index) for index in range(len(leaves[0])))
        copies = len(fingerprints) - len(set(fingerprints))
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
            shared = set(first.fingerprints) & set(second.fingerprints)
            if (first.finite or second.finite) and first.fingerprints != second.fingerprints:
                continue
            if shared:
                raise OverlapError(
                    f"{len(shared)} problems are both in the {second.role} draw ({ROLES[second.role]}) and in the "
                    f"{first.role} draw ({ROLES[first.role]}), so a certificate would not be valid: draw them with "
                    "different keys."
                )


def _leaves(problems: Any) -> list[np.ndarray]:
    """The arrays of a stack of problems; those of PRNG keys are their key data."""

    def data(leaf: Any) -> np.ndarray:
        is_key = isinstance(leaf, jax.Array) and jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        return np.asarray(jax.random.key_data(leaf) if is_key else leaf)

    return [data(leaf) for leaf in jax.tree.leaves(problems)]


def _fingerprint(leaves: list[np.ndarray], index: int) -> str:
    """A hash of one problem: type, shape and content of its arrays."""
    digest = hashlib.blake2b(digest_size=16)
    for leaf in leaves:
        part = np.ascontiguousarray(leaf[index])
        digest.update(f"{part.dtype.str}{part.shape}".encode())
        digest.update(part.tobytes())
    return digest.hexdigest()
