"""Keep drawing problems until a certificate is tight enough; it is valid whenever one stops."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from ..messages.arguments import any_number, array_of_numbers, check_type, shown
from ..problems.problem_class import whole_number
from .bounds.anytime import DEFAULT_GRID, log_products, mean_from_products
from .bounds.inputs import check_positive, failure_probability
from .certificate import Certificate
from .draws import BY_CHANCE, Draw, OverlapError, check_disjoint, log_probability
from .goal import ANY_TIME, HELD_OUT, INDEPENDENT, Found, Goal, with_compared_draws
from .misuse import check_sample


class AnytimeCertificate:
    """A certificate that grows with the problems it is given and is valid at any time.

    The bounds after all batches hold together with the confidence asked for (Ville's inequality), so that any rule for
    when to stop is allowed. The price, compared to a number of problems fixed beforehand, is a bound whose distance
    from the mean is about half as large again.

    Arguments:
        goal: a `Mean`, `Probability`, `Tail`, `CVaR`, `Quantile` or `Distribution`, fixed beforehand.
        used: draws of problems in other roles, with which later ones must not overlap.

    >>> from loa.certificates import Mean
    >>> growing = AnytimeCertificate(Mean("stopping_time", cap=500.0))
    >>> for batch in np.random.default_rng(0).permuted(np.tile([100.0, 300.0], (5, 50)), axis=1):
    ...     growing.add(batch)
    >>> print(growing)
    500 problems: 200 on the sample, 214 certified
    >>> print(growing.certificate())
    With 95% confidence, the algorithm needs at most 214 iterations on average on new problems drawn like these 500.
    """

    def __init__(self, goal: Goal, confidence: float = 0.95, *, used: Iterable[Draw] = ()):
        check_type("goal", goal, Goal, "a goal such as Mean('stopping_time', cap=500.0)")
        check_type("used", used, Iterable, "a list of draws")
        self.goal, self.confidence = goal, confidence
        self._delta = failure_probability(confidence)
        self._values: list[np.ndarray] = []
        self._sums, self._total, self.n = np.zeros(len(DEFAULT_GRID)), 0.0, 0
        self._upper = 1.0
        self._found = Found(math.inf, math.inf, "any-time") if goal.ranked else None
        self._used, self._drawn = tuple(used), Draw("held-out", ())
        check_disjoint(*self._used)

    def add(self, values: Any, problems: Any = None, *, finite: bool = False) -> None:
        """Add the values on one more batch of problems, all of them, in the order in which they were drawn.

        Arguments:
            values: as for the goal.
            problems: the stack of problems; if given, none of them may have been used before.
            finite: as in `Draw`.
        """
        values = array_of_numbers("values", values)
        check_sample(values, getattr(self.goal, "cap", 1.0))
        shares = np.zeros(len(values)) if self.goal.ranked else self.goal.shares(values)
        self._refuse_twice(values)
        if problems is not None:
            self._take_in(Draw.of(problems, "held-out", finite=finite), len(shares))
        self._values.append(values)
        if self.goal.ranked:
            self.n += len(values)
            self._ranks()
            return
        self._sums = self._sums + log_products(shares).sum(axis=0)
        self._total, self.n = self._total + float(shares.sum()), self.n + len(shares)
        upper = mean_from_products(self._sums[None], np.array([self.n]), self._delta)
        self._upper = min(self._upper, float(upper[0]))

    @property
    def bound(self) -> float:
        """The bound that is certified so far; for a distribution, the certified median."""
        if self._found is not None:
            return self._found.bound
        return self.goal.from_share(self._upper)

    @property
    def empirical(self) -> float:
        """The same on the sample so far."""
        if self._found is not None:
            return self._found.empirical
        return self.goal.from_share(self._total / max(self.n, 1))

    def is_within(self, share: float) -> bool:
        """Whether the distance between bound and sample is at most this share of the latter."""
        return self.n > 0 and abs(self.bound - self.empirical) <= share * abs(self.empirical)

    def reaches(self, bound: float) -> bool:
        """Whether what is certified is at least as good as this."""
        return self.bound >= bound if self.goal.measure == "probability" else self.bound <= bound

    def certificate(self, *, draws: Mapping[str, str] | None = None) -> Certificate:
        """The certificate for the problems added so far."""
        if self.n == 0:
            raise ValueError("nothing can be certified yet: add values first.")
        fingerprints = {draw.role: draw.fingerprint for draw in self._used}
        if len(self._drawn):
            fingerprints["held-out"] = self._drawn.fingerprint
        certificate = self.goal.record(
            np.concatenate(self._values),
            self._found or Found(self.bound, self.empirical, "any-time"),
            self.confidence,
            draws={**fingerprints, **(draws or {})},
            assumptions=(INDEPENDENT, HELD_OUT, ANY_TIME),
        )
        return with_compared_draws(certificate) if len(self._drawn) else certificate

    def __str__(self) -> str:
        return f"{self.n} problems: {self.empirical:.4g} on the sample, {self.bound:.4g} certified"

    def _ranks(self) -> None:
        """The bound of a quantile or a distribution; as all times hold together, a quantile keeps the best so far."""
        found = self.goal.so_far(np.concatenate(self._values), self._delta)
        if self._found is not None and found.band is None:
            found = found._replace(bound=min(found.bound, self._found.bound))
        self._found = found

    def _refuse_twice(self, values: np.ndarray) -> None:
        """Refuse a batch that was added before, if it is not one that comes again by chance."""
        row = np.asarray(values, float).reshape(len(values), -1)
        again = any(np.array_equal(row, before.reshape(len(before), -1)) for before in self._values)
        if again and log_probability([each.tobytes() for each in row]) < math.log(BY_CHANCE):
            raise OverlapError("these values were added before: every batch must come from new problems.")

    def _take_in(self, draw: Draw, count: int) -> None:
        if len(draw) != count:
            raise ValueError(f"there are values for {count} of {len(draw)} problems: give a value for every problem.")
        check_disjoint(*self._used, draw)
        twice = set(draw.fingerprints) & set(self._drawn.fingerprints)
        if twice and not draw.finite:
            raise OverlapError(
                f"{len(twice)} problems of this batch were in an earlier one: draw each batch with a key of its own, "
                "such as jax.random.fold_in(key, number)."
            )
        self._drawn = Draw("held-out", self._drawn.fingerprints + draw.fingerprints, draw.finite)


def certify_until(
    goal: Goal,
    batches: Iterable[tuple[Any, Any]],
    *,
    within: float | None = None,
    reaching: float | None = None,
    largest: int = 100_000,
    confidence: float = 0.95,
    used: Iterable[Draw] = (),
    finite: bool = False,
    progress: bool | Callable[[AnytimeCertificate], None] = False,
) -> Certificate:
    """Draw batches of fresh problems until the certificate is tight enough, or good enough.

    The certificate is valid whatever ended the loop: it is also returned if `largest` was reached or the batches ran
    out first.

    Arguments:
        goal: a `Mean`, `Probability`, `Tail`, `CVaR`, `Quantile` or `Distribution`, fixed beforehand.
        batches: pairs (problems, values) of freshly drawn problems and the algorithm's values on them, as a generator
            that draws when asked. The algorithm was fixed without them.
        within: stop when the distance between bound and sample is at most this share of the latter (such as 0.05).
        reaching: stop when the bound is at least as good as this.
        largest: stop after this number of problems.
        confidence: in (0, 1).
        used: draws of problems in other roles, which must not overlap with these.
        finite: whether the class has finitely many problems, so that some may be drawn twice.
        progress: whether to print a line per batch, or a function to call.

    Returns:
        The certificate.

    >>> from loa.certificates import Mean
    >>> rng = np.random.default_rng(0)
    >>> def batches():
    ...     while True:
    ...         problems = rng.random(100)
    ...         yield problems, 300 * problems
    >>> print(certify_until(Mean("stopping_time", cap=500.0), batches(), within=0.1))
    With 95% confidence, the algorithm needs at most 176.9 iterations on average on new problems drawn like these 300.
    """
    if within is None and reaching is None:
        raise ValueError("say when to stop: within=0.05 for a bound at most 5% above the sample, or reaching=….")
    check_positive("within", 1.0 if within is None else within)
    whole_number("largest", largest)
    any_number("reaching", 0.0 if reaching is None else reaching)
    check_type("batches", batches, Iterable, "an iterable of pairs (problems, values)")
    growing = AnytimeCertificate(goal, confidence, used=used)
    report = progress if callable(progress) else print if progress else lambda _: None
    for batch in batches:
        if not (isinstance(batch, tuple | list) and len(batch) == 2):
            raise TypeError(f"batches must consist of pairs (problems, values), got {shown(batch)}.")
        problems, values = batch
        growing.add(values, problems, finite=finite)
        report(growing)
        tight = within is not None and growing.is_within(within)
        good = reaching is not None and growing.reaches(reaching)
        if tight or good or growing.n >= largest:
            break
    return growing.certificate()
