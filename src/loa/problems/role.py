"""The roles in which problems are drawn. Problems of different roles are independent of each other."""

from __future__ import annotations

from enum import IntEnum

import jax
from jaxtyping import Array, Key

OWN = 0x10A_0DD5
"""Goes into every key that loa derives from a seed. Since `jax.random.split(key)[i]` is `jax.random.fold_in(key, i)`, a
user who splits the same key would otherwise draw the problems of a role."""


def own_key(seed: int, purpose: int) -> Key[Array, ""]:
    """A random key of loa's own for a seed and a purpose, which no splitting of `jax.random.key(seed)` gives.

    Arguments:
        seed: of the run.
        purpose: the number of a role, or another number that nothing else uses.

    >>> from jax import random
    >>> bool((own_key(0, 1) == random.split(random.key(0), 1000)).any())
    False
    """
    return jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), OWN), purpose)


class Role(IntEnum):
    """What a draw of problems is used for.

    The number of a role goes into the random key of its draw, so it must never change: other numbers would draw other
    problems.

    >>> Role.held_out.text, int(Role.held_out), Role.named("held-out")
    ('held-out', 5, <Role.held_out: 5>)
    """

    training = 0
    prior = 1
    posterior = 2
    validation = 3
    test = 4
    held_out = 5
    fresh = 6
    comparison = 7

    def key(self, seed: int) -> Key[Array, ""]:
        """The random key of the draw in this role."""
        return own_key(seed, int(self))

    def former_key(self, seed: int) -> Key[Array, ""]:
        """The key before version 0.2, with which weights were learned whose provenance has the keys "former"."""
        return jax.random.fold_in(jax.random.key(seed), int(self))

    @classmethod
    def named(cls, role: Role | str) -> Role:
        """The role with this name in JSON files and messages; a role is returned unchanged."""
        if isinstance(role, Role):
            return role
        names = {each.text: each for each in cls}
        if role not in names:
            raise ValueError(f"there is no role {role!r}; there are {', '.join(names)}.")
        return names[role]

    @property
    def text(self) -> str:
        """The name in JSON files and messages."""
        return self.name.replace("_", "-")

    @property
    def purpose(self) -> str:
        """What the problems of this role are used for."""
        return _PURPOSES[self]


_PURPOSES = {
    Role.training: "learning the algorithm",
    Role.prior: "choosing candidates, prior, λ, thresholds and caps",
    Role.posterior: "the posterior and its certificate",
    Role.validation: "choosing during training",
    Role.test: "measuring, and verifying certificates",
    Role.held_out: "certifying the deployed algorithm",
    Role.fresh: "checking certificates once more, outside of a run",
    Role.comparison: "comparing algorithms, outside of a run",
}
