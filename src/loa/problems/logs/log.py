"""A log: instances, each of which has one role, so that none is used twice."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import jax
import numpy as np

from ...messages.arguments import check_type
from ..problem_class import whole_number
from ..role import Role
from .instances import ORDERS, Instances

SHARES = {
    Role.training: 0.2, Role.validation: 0.1, Role.prior: 0.1, Role.posterior: 0.2, Role.held_out: 0.2, Role.test: 0.2,
}  # fmt: skip
"""Which share of a log has which role, in the order of time: the last instances are for testing."""

FEWEST = 10
"""With fewer instances some role would have none."""


@dataclasses.dataclass(frozen=True)
class Log:
    """Instances that are divided among the roles without replacement, by a rule that is fixed beforehand.

    In the order of time, the roles follow each other: training, validation, prior, posterior, held-out, test. Otherwise
    the instances are shuffled: the training ones are the same for every seed, because the setting of an experiment may
    be derived from them, and the others are shuffled by the seed of the run.

    Fields:
        instances: all of them.
        sizes: how many have which role; those that are not given share what is left, as `SHARES` says.
        order: "shuffled" or "time".

    >>> log = Log(Instances.of(np.arange(300.0)))
    >>> dict(log.sizes)["training"], log.of(Role.test, seed=0).shape
    (60, (60,))
    >>> by_time = Log(Instances.of(np.arange(300.0)), order="time")
    >>> by_time.of(Role.test, seed=0).min().item()
    240.0
    """

    instances: Instances
    sizes: Mapping[str, int] = dataclasses.field(default_factory=dict)
    order: str = ""

    def __post_init__(self):
        check_type("instances", self.instances, Instances, "loa.problems.Instances, such as from_files makes")
        check_type("sizes", self.sizes, Mapping, "a dictionary of numbers of instances by role")
        order = self.order or self.instances.order
        if order not in ORDERS:
            raise ValueError(f"`order` must be {' or '.join(map(repr, ORDERS))}, got {order!r}.")
        object.__setattr__(self, "order", order)
        object.__setattr__(self, "sizes", _sizes(len(self.instances), self.sizes))

    @property
    def rule(self) -> str:
        """How instances get their roles, in words."""
        if self.order == "time":
            return "in the order of time: learned on the first ones, certified on later ones, tested on the last"
        return "shuffled; the training instances are the same for every seed"

    def indices(self, role: Role, seed: int, size: int | None = None) -> np.ndarray:
        """The places of the instances with a role.

        Arguments:
            role: what they are for.
            seed: by which all but the training instances are shuffled.
            size: how many, at most; all that the role has by default. Posterior problems may take in the held-out ones,
                where a plan joins the two.
        """
        roles, own = list(SHARES), Role.named(role)
        if own not in roles:
            raise ValueError(f"no instances of a log are set aside as {own.text} problems: log further ones.")
        begins = sum(self.sizes[each.text] for each in roles[: roles.index(own)])
        available = self.sizes[own.text] + (self.sizes[Role.held_out.text] if own is Role.posterior else 0)
        count = self.sizes[own.text] if size is None else min(size, available)
        return self._arranged(seed)[begins : begins + count]

    def of(self, role: Role, seed: int, size: int | None = None) -> Any:
        """The problems with a role, a stack; arguments as for `indices`."""
        return self.instances[self.indices(role, seed, size)]

    def roles(self, seed: int) -> np.ndarray:
        """The role of each instance, as text; empty for those that have none."""
        found = np.full(len(self.instances), "", dtype="<U10")
        for role in SHARES:
            found[self.indices(role, seed)] = role.text
        return found

    @cached_property
    def training(self) -> Any:
        """The training problems, which do not depend on a seed."""
        return self.of(Role.training, seed=0)

    def _arranged(self, seed: int) -> np.ndarray:
        """The instances in the order in which roles are given to them."""
        everything = np.arange(len(self.instances))
        if self.order == "time":
            return everything
        mixed = _shuffled(everything, jax.random.key(0))
        count = self.sizes[Role.training.text]
        return np.concatenate(
            [mixed[:count], _shuffled(mixed[count:], jax.random.fold_in(jax.random.key(seed), 0x106))]
        )


def _shuffled(places: np.ndarray, key: Any) -> np.ndarray:
    return places[np.asarray(jax.random.permutation(key, len(places)))]


def _sizes(total: int, given: Mapping[str, int]) -> dict[str, int]:
    """The number of instances with each role: what is given, and of the rest the shares; training takes remainders."""
    fixed = {
        Role.named(role).text: whole_number(f"the number of {role} instances in sizes", size)
        for role, size in given.items()
    }
    rest, shares = total - sum(fixed.values()), {role: SHARES[role] for role in SHARES if role.text not in fixed}
    if total < FEWEST:
        raise ValueError(
            f"there are {total} instances, but at least {FEWEST} are needed: each is used once, to learn, to choose, "
            "to certify or to test."
        )
    if rest < 0 or (shares and rest < len(shares)):
        raise ValueError(
            f"`sizes` asks for {sum(fixed.values())} of {total} instances, which leaves too few for "
            f"{', '.join(role.text for role in shares) or 'what it asks for'}: each instance is used once."
        )
    whole = sum(shares.values())
    found = {role.text: max(1, int(rest * share / whole)) for role, share in shares.items()}
    if shares:
        takes = Role.training.text if Role.training in shares else next(iter(found))
        found[takes] += rest - sum(found.values())
    return {role.text: (fixed | found)[role.text] for role in SHARES}
