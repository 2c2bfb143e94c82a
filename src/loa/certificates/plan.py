"""A plan that is frozen before the certificate data is touched: what will be certified, how, and on which draws."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

from .budget import Budget
from .certificate import Certificate
from .draws import Draw, check_disjoint
from .goals import Goal
from .inputs import failure_probability
from .posterior import PosteriorMean


@dataclasses.dataclass(frozen=True)
class Plan:
    """Functionals, caps, thresholds, λ and confidence, fixed beforehand; its fingerprint goes into every certificate.

    Arguments:
        goals: what to certify of the deployed algorithm on held-out problems, by name; a goal carries its cap, level or
            threshold.
        posterior_goals: what to certify of the posterior on posterior problems, by name; a goal carries its cap and λ.
        confidence: with which everything is to hold together.
        parts: proportions of the budget by name; equal parts if not given.
        draws: the draws used so far; later ones must be disjoint from them.

    >>> import numpy as np
    >>> from loa.certificates import Mean, Probability
    >>> plan = Plan({"time": Mean("stopping_time", cap=500.0), "success": Probability("solved")}, confidence=0.95)
    >>> held_out = Draw.of(np.arange(1000.0), "held-out")
    >>> values = {"stopping_time": np.tile([100.0, 300.0], 500), "solved": np.ones(1000)}
    >>> for certificate in plan.certify(values, held_out):
    ...     print(certificate)
    With 97.5 % confidence, at most 205.8 iterations on average, over problems drawn like these 1000.
    With 97.5 % confidence, at least 99.63 % are solved, over problems drawn like these 1000.
    """

    goals: Mapping[str, Goal]
    posterior_goals: Mapping[str, PosteriorMean] = dataclasses.field(default_factory=dict)
    confidence: float = dataclasses.field(default=0.95, kw_only=True)
    parts: Mapping[str, float] = dataclasses.field(default_factory=dict, kw_only=True)
    draws: tuple[Draw, ...] = dataclasses.field(default=(), kw_only=True)

    def __post_init__(self):
        failure_probability(self.confidence)
        names = [*self.goals, *self.posterior_goals]
        if not names or len(set(names)) < len(names):
            raise ValueError("a plan needs at least one goal, each under a name of its own.")
        if self.parts and set(self.parts) != set(names):
            raise ValueError(f"parts must have an entry for every goal and no other: {', '.join(names)}.")
        check_disjoint(*self.draws)
        for field in ("goals", "posterior_goals", "parts"):
            object.__setattr__(self, field, _Frozen(getattr(self, field)))

    @property
    def fingerprint(self) -> str:
        """A hash of all that was fixed: two plans with the same fingerprint promise the same."""
        goals = {**self.goals, **self.posterior_goals}
        content = {
            "goals": {name: [type(goal).__name__, dataclasses.asdict(goal)] for name, goal in goals.items()},
            "confidence": self.confidence,
            "parts": self.parts,
            "draws": [[draw.role, draw.fingerprint] for draw in self.draws],
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]

    def budget(self) -> Budget:
        """The budget that the plan declares."""
        return Budget(self.confidence, self.parts or dict.fromkeys([*self.goals, *self.posterior_goals], 1.0))

    def with_draw(self, draw: Draw) -> Plan:
        """The plan with one more draw, if that does not overlap with the others."""
        return dataclasses.replace(self, draws=(*self.draws, draw))

    def certify(
        self, values: Mapping[str, Any], held_out: Draw, *, budget: Budget | None = None
    ) -> tuple[Certificate, ...]:
        """All goals for the deployed algorithm, from values by functional on the held-out problems.

        They hold together with each other and with those of `certify_posterior`. With one `budget()` for all calls,
        none can be made twice.
        """
        spend, draws = self._begin(self.goals, values, held_out, "held-out", budget)
        return tuple(
            goal.certify(values[goal.functional], spend(name), draws=draws) for name, goal in self.goals.items()
        )

    def certify_posterior(
        self, values: Mapping[str, Any], posterior: Any, prior: Any, draw: Draw, *, budget: Budget | None = None
    ) -> tuple[Certificate, ...]:
        """All goals for the posterior, from values (problem, candidate) by functional on the posterior problems."""
        spend, draws = self._begin(self.posterior_goals, values, draw, "posterior", budget)
        return tuple(
            goal.certify(values[goal.functional], posterior, prior, spend(name), draws=draws)
            for name, goal in self.posterior_goals.items()
        )

    def _begin(
        self, goals: Mapping[str, Any], values: Mapping[str, Any], draw: Draw, role: str, budget: Budget | None
    ) -> tuple[Callable[[str], float], dict[str, str]]:
        """Check that the draw and the values are what the goals need."""
        if draw.role != role:
            raise ValueError(f"these goals are certified on a {role} draw, got one with the role {draw.role}.")
        known = self if draw in self.draws else self.with_draw(draw)
        for name, goal in goals.items():
            if goal.functional not in values:
                raise ValueError(f"the goal {name!r} needs {goal.functional!r}; there are {', '.join(values)}.")
            count = len(values[goal.functional])
            if count != len(draw):
                raise ValueError(
                    f"{goal.functional!r} has values for {count} problems, but the {role} draw has {len(draw)}: "
                    "every problem counts, none may be dropped."
                )
        draws = {draw.role: draw.fingerprint for draw in known.draws} | {"plan": self.fingerprint}
        return (budget or self.budget()).spend, draws


class _Frozen(dict):
    """A dictionary that cannot be changed."""

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise TypeError("a plan is frozen: make a new one, before the data is touched.")

    __setitem__ = __delitem__ = __ior__ = update = pop = popitem = clear = setdefault = _refuse  # pyright: ignore

    def __reduce__(self) -> Any:
        return _Frozen, (dict(self),)
