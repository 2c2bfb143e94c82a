"""A plan that is frozen before the certificate data is seen: what will be certified, how, and on which draws."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..algorithms.weights import as_distribution
from ..messages.arguments import check_type, shown
from ..problems.problem_class import whole_number
from .bounds.inputs import failure_probability
from .budget import Budget
from .certificate import Certificate
from .draws import ROLES, Draw, check_disjoint
from .goal import Goal, of_stream, with_compared_draws
from .posterior import PosteriorGoal, held_out_is_better
from .reference import references_of

MAPPINGS = ("goals", "posterior_goals", "parts", "sizes", "paper_lam")
"""The fields of a plan that are dictionaries."""


@dataclasses.dataclass(frozen=True)
class Plan:
    """What will be certified, fixed before the data is seen.

    Functionals, caps, thresholds, λ, confidence and splits are all part of the plan, and its fingerprint is part of
    every certificate.

    Arguments:
        goals: what to certify of the deployed algorithm, by name; a goal carries its cap, level or threshold.
        posterior_goals: what to certify of the posterior on posterior problems, by name; a goal carries its cap and λ.
        confidence: with which everything is to hold together.
        parts: proportions of the budget by name; equal by default.
        sizes: how many problems a draw in each role has, as "posterior" and "held-out"; others are refused.
        deployed_on: where the deployed algorithm is certified: on "held-out" problems, or by Occam on the "posterior"
            problems that it was chosen on. `decided` applies the rule.
        paper_lam: λ of the paper's theorems by functional, chosen on prior problems; for `references`.
        draws: the draws used before the plan was fixed; they belong to its fingerprint.
        later_draws: the draws used since, by `with_draw`; the fingerprint stays that of the plan as it was fixed. All
            draws must be disjoint.

    >>> from loa.certificates import Mean, Probability
    >>> plan = Plan({"time": Mean("stopping_time", cap=500.0), "success": Probability("solved")}, confidence=0.95)
    >>> held_out = Draw.of(np.arange(1000.0), "held-out")
    >>> values = {"stopping_time": np.tile([100.0, 300.0], 500), "solved": np.ones(1000)}
    >>> for certificate in plan.certify(values, held_out):
    ...     print(certificate.claim(), certificate.confidence)
    The algorithm needs at most 205.8 iterations on average on new problems drawn like these 1000. 0.975
    The algorithm solves at least 99.63% of new problems drawn like these 1000. 0.975
    """

    goals: Mapping[str, Goal]
    posterior_goals: Mapping[str, PosteriorGoal] = dataclasses.field(default_factory=dict)
    confidence: float = dataclasses.field(default=0.95, kw_only=True)
    parts: Mapping[str, float] = dataclasses.field(default_factory=dict, kw_only=True)
    sizes: Mapping[str, int] = dataclasses.field(default_factory=dict, kw_only=True)
    deployed_on: str = dataclasses.field(default="held-out", kw_only=True)
    paper_lam: Mapping[str, float] = dataclasses.field(default_factory=dict, kw_only=True)
    draws: tuple[Draw, ...] = dataclasses.field(default=(), kw_only=True)
    later_draws: tuple[Draw, ...] = dataclasses.field(default=(), kw_only=True)

    def __post_init__(self):
        failure_probability(self.confidence)
        self._check_types()
        names = [*self.goals, *self.posterior_goals]
        if not names or len(set(names)) < len(names):
            raise ValueError("a plan needs at least one goal, each under a name of its own.")
        if self.parts and set(self.parts) != set(names):
            raise ValueError(f"parts must have an entry for every goal and no other: {', '.join(names)}.")
        if self.deployed_on not in ("held-out", "posterior"):
            raise ValueError(f"deployed_on must be 'held-out' or 'posterior', got {self.deployed_on!r}.")
        check_disjoint(*self.all_draws)
        for draw in self.all_draws:
            self._check_size(draw)
        for field in MAPPINGS:
            object.__setattr__(self, field, _Frozen(getattr(self, field)))

    def _check_types(self) -> None:
        for field in MAPPINGS:
            check_type(field, getattr(self, field), Mapping, "a dict by name")
        for field in ("draws", "later_draws"):
            check_type(field, getattr(self, field), tuple | list, "a tuple of draws")
        for field, kind in (("goals", Goal), ("posterior_goals", PosteriorGoal)):
            for goal in getattr(self, field).values():
                check_type(f"each of the {field}", goal, kind, f"an instance of a loa.certificates.{kind.__name__}")
        for role, size in self.sizes.items():
            if role not in ROLES:
                raise ValueError(f"sizes are those of draws in the roles {', '.join(ROLES)}, got {shown(role)}.")
            whole_number(f"the size of the {role} draw", size)

    @property
    def all_draws(self) -> tuple[Draw, ...]:
        """The draws used before the plan was fixed, and since."""
        return (*self.draws, *self.later_draws)

    @property
    def fingerprint(self) -> str:
        """A hash of all that was fixed: two plans with the same fingerprint promise the same."""
        return hashlib.sha256(json.dumps(self.to_dict(), sort_keys=True, default=float).encode()).hexdigest()[:32]

    def to_dict(self) -> dict[str, Any]:
        """All that was fixed, as plain values for JSON; draws by their fingerprints."""

        def described(goals: Mapping[str, Any]) -> dict[str, Any]:
            return {name: {"goal": type(goal).__name__, **dataclasses.asdict(goal)} for name, goal in goals.items()}

        return {
            "goals": described(self.goals),
            "posterior_goals": described(self.posterior_goals),
            "confidence": self.confidence,
            "parts": dict(self.parts),
            "sizes": dict(self.sizes),
            "deployed_on": self.deployed_on,
            "paper_lam": dict(self.paper_lam),
            "draws": [[draw.role, draw.fingerprint] for draw in self.draws],
        }

    def decided(self, prior: Any) -> Plan:
        r"""The plan with the rule applied for where to certify the deployed algorithm, before any data is seen.

        Held-out problems stay if they are better than Occam on all problems after the prior ones, by
        `held_out_is_better` with the prior's typical mass \(\exp\sum_h\pi(h)\log\pi(h)\) and the confidence of an
        average goal. Otherwise they join the posterior problems. Needs the `sizes` of both.

        Arguments:
            prior: one probability per candidate.

        >>> from loa.certificates import Mean
        >>> plan = Plan({"time": Mean("stopping_time", cap=500.0)}, sizes={"posterior": 700, "held-out": 300})
        >>> plan.decided(np.full(100, 0.01)).deployed_on, dict(plan.decided(np.full(10, 0.1)).sizes)
        ('held-out', {'posterior': 1000})
        """
        weights = as_distribution(prior, name="prior")
        posterior, held_out = self.sizes.get("posterior", 0), self.sizes.get("held-out", 0)
        if posterior + held_out == 0:
            raise ValueError("the rule needs sizes={'posterior': …, 'held-out': …}, the numbers of problems.")
        typical = float(np.exp(np.sum(weights * np.log(np.where(weights > 0, weights, 1.0)))))
        delta = failure_probability(self.confidence) / (len(self.goals) + len(self.posterior_goals))
        share = held_out / (posterior + held_out)
        alone = typical == 1.0  # Occam costs nothing where there is only one candidate
        if share == 1 or (share > 0 and not alone and held_out_is_better(share, typical, delta)):
            return dataclasses.replace(self, deployed_on="held-out")
        others = {role: size for role, size in self.sizes.items() if role not in ("posterior", "held-out")}
        return dataclasses.replace(self, deployed_on="posterior", sizes={**others, "posterior": posterior + held_out})

    def budget(self) -> Budget:
        """The budget that the plan declares."""
        return Budget(self.confidence, self.parts or dict.fromkeys([*self.goals, *self.posterior_goals], 1.0))

    def with_draw(self, draw: Draw) -> Plan:
        """The same plan, with the same fingerprint, and one more draw, if that does not overlap with the others."""
        return dataclasses.replace(self, later_draws=(*self.later_draws, draw))

    def certify(
        self,
        values: Mapping[str, Any],
        draw: Draw,
        *,
        prior_mass: float | None = None,
        budget: Budget | None = None,
    ) -> tuple[Certificate, ...]:
        """All goals for the deployed algorithm, in their order, from values by functional on the problems of a draw.

        They hold together with each other and with those of `certify_posterior`. With one `budget()` for all calls,
        none can be made twice.

        Arguments:
            draw: held-out problems; or the posterior problems, if the plan is `deployed_on` these.
            prior_mass: of the algorithm that was chosen on the posterior problems, then.
        """
        if (prior_mass is None) != (self.deployed_on == "held-out"):
            raise ValueError(
                "give the prior_mass of the algorithm if, and only if, the plan certifies it on the posterior problems "
                f"it was chosen on; this plan does so on {self.deployed_on} problems."
            )
        spend, draws = self._begin(self.goals, values, draw, self.deployed_on, budget)
        return tuple(
            with_compared_draws(
                goal.certify(values[goal.functional], spend(name), draws=draws, prior_mass=prior_mass), draw.logged
            )
            for name, goal in self.goals.items()
        )

    def certify_posterior(
        self, values: Mapping[str, Any], posterior: Any, prior: Any, draw: Draw, *, budget: Budget | None = None
    ) -> tuple[Certificate, ...]:
        """All goals for the posterior, from values (problem, candidate) by functional on the posterior problems."""
        spend, draws = self._begin(self.posterior_goals, values, draw, "posterior", budget)
        return tuple(
            with_compared_draws(
                goal.certify(values[goal.functional], posterior, prior, spend(name), draws=draws), draw.logged
            )
            for name, goal in self.posterior_goals.items()
        )

    def references(self, values: Mapping[str, Any], posterior: Any, prior: Any, draw: Draw) -> tuple[Certificate, ...]:
        """The paper's and the classical bounds for the posterior goals, on the same data.

        Each has the whole confidence to itself and belongs to no budget: they are to be compared with, not reported
        together. The paper's theorems are bounds for the posterior at which they are smallest, with the λ of the plan.
        """
        _, draws = self._begin(self.posterior_goals, values, draw, "posterior", None)
        return tuple(
            of_stream(certificate) if draw.logged else certificate
            for goal in self.posterior_goals.values()
            for certificate in references_of(
                goal,
                values[goal.functional],
                posterior,
                prior,
                self.confidence,
                lam=self.paper_lam.get(goal.functional),
                draws=draws,
            )
        )

    def _begin(
        self, goals: Mapping[str, Any], values: Mapping[str, Any], draw: Draw, role: str, budget: Budget | None
    ) -> tuple[Callable[[str], float], dict[str, str]]:
        """Check that the draw and the values are what the goals need."""
        check_type("draw", draw, Draw, "made by loa.certificates.Draw.of(problems, role)")
        check_type("values", values, Mapping, "a dict of values by functional")
        if draw.role != role:
            raise ValueError(f"these goals are certified on a {role} draw, got one with the role {draw.role}.")
        known = self if draw in self.all_draws else self.with_draw(draw)
        for name, goal in goals.items():
            if goal.functional not in values:
                raise ValueError(f"the goal {name!r} needs {goal.functional!r}; there are {', '.join(values)}.")
            count = len(values[goal.functional])
            if count != len(draw):
                raise ValueError(
                    f"{goal.functional!r} has values for {count} problems, but the {role} draw has {len(draw)}: "
                    "every problem counts, none may be dropped."
                )
        draws = {draw.role: draw.fingerprint for draw in known.all_draws} | {"plan": self.fingerprint}
        return (budget or self.budget()).spend, draws

    def _check_size(self, draw: Draw) -> None:
        if len(draw) != self.sizes.get(draw.role, len(draw)):
            raise ValueError(
                f"the plan has {self.sizes[draw.role]} {draw.role} problems, but the draw has {len(draw)}: their "
                "number is fixed beforehand (use certify_until to keep drawing)."
            )


class _Frozen(dict):
    """A dictionary that cannot be changed."""

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise TypeError("a plan is frozen: make a new one before the data is seen.")

    __setitem__ = __delitem__ = __ior__ = update = pop = popitem = clear = setdefault = _refuse  # pyright: ignore

    def __reduce__(self) -> Any:
        return _Frozen, (dict(self),)
