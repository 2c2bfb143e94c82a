"""A budget of confidence: declared once, spent by name, so that what is reported together holds together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..messages.arguments import check_type, positive_number
from .bounds.inputs import failure_probability
from .bounds.rounding import percent_down, percent_exact
from .certificate import Certificate


class OverspentError(ValueError):
    """More confidence was asked for than the budget has."""


class Budget:
    r"""A probability of failure, divided among names in given proportions.

    With \(\delta = 1 - \text{confidence}\) as the whole.

    Each name is spent once and gets the confidence for one certificate; by the union bound all of them hold together
    with the confidence declared.

    Arguments:
        confidence: with which everything is to hold together.
        parts: proportions by name, all of them positive.

    >>> budget = Budget(0.95, {"stopping_time": 2, "contraction": 2, "solved": 1})
    >>> budget.spend("stopping_time")
    0.98
    >>> budget.spend("stopping_time")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    loa.certificates.budget.OverspentError: 'stopping_time' has been spent: a second look needs its own part, ...
    >>> print(budget)
    With 95% confidence, all of these hold together: stopping_time (98%, spent), contraction (98%), solved (99%).
    """

    def __init__(self, confidence: float, parts: Mapping[str, float]):
        self._delta = failure_probability(confidence)
        check_type("parts", parts, Mapping, "proportions by name, such as {'stopping_time': 1}")
        if not parts:
            raise ValueError("a budget needs at least one name to spend it on.")
        parts = {name: positive_number(f"the part of {name!r}", part) for name, part in parts.items()}
        total = sum(parts.values())
        self._confidence = float(confidence)
        self._shares = {name: self._delta * part / total for name, part in parts.items()}
        self._spent: set[str] = set()

    @property
    def confidence(self) -> float:
        """With which everything holds together."""
        return self._confidence

    @property
    def shares(self) -> dict[str, float]:
        """The failure probability of each name."""
        return dict(self._shares)

    @property
    def unspent(self) -> tuple[str, ...]:
        """Names that are still to be spent."""
        return tuple(name for name in self._shares if name not in self._spent)

    def spend(self, name: str) -> float:
        """The confidence of the one certificate of this name."""
        if not isinstance(name, str) or name not in self._shares:
            raise OverspentError(
                f"{name!r} is not in the budget, which was declared for {', '.join(self._shares)}: declare everything "
                "that is reported together."
            )
        if name in self._spent:
            raise OverspentError(
                f"{name!r} has been spent: a second look needs its own part, declared before the data is seen."
            )
        self._spent.add(name)
        return round(1 - self._shares[name], 15)

    def report(self, certificates: Iterable[Certificate]) -> str:
        """What certificates say together, if they keep within the budget.

        >>> from loa.certificates import certify
        >>> budget = Budget(0.9, {"time": 1, "rate": 1})
        >>> time = certify([40.0, 60.0] * 50, cap=500.0, confidence=budget.spend("time"), functional="stopping_time")
        >>> print(budget.report([time]))
        With 90% confidence, all of the following hold together:
        - The algorithm needs at most 64.19 iterations on average on new problems drawn like these 100.
        """
        certificates = _checked(certificates)
        used = sum(failure_probability(certificate.confidence) for certificate in certificates)
        if used > self._delta * (1 + 1e-9) + 1e-14:
            raise OverspentError(
                f"these certificates hold together with only {percent_down(max(1 - used, 0.0))} confidence, but "
                f"{percent_exact(self._confidence)} was declared: give each the confidence that the budget has for it."
            )
        head = f"With {percent_down(self._confidence)} confidence, all of the following hold together:"
        return "\n".join([head, *(f"- {certificate.claim()}" for certificate in certificates)])

    def __str__(self) -> str:
        shown = [
            f"{name} ({percent_down(round(1 - share, 15))}{', spent' if name in self._spent else ''})"
            for name, share in self._shares.items()
        ]
        return f"With {percent_down(self._confidence)} confidence, all of these hold together: {', '.join(shown)}."


def joint_confidence(certificates: Iterable[Certificate]) -> float:
    """The confidence with which certificates hold together, whatever their dependence (the union bound).

    Arguments:
        certificates: any certificates.

    Returns:
        The confidence, at least 0.

    >>> from loa.certificates import certify
    >>> joint_confidence([certify([1.0], cap=2.0, confidence=0.95), certify([1.0], cap=2.0, confidence=0.99)])
    0.94
    """
    return max(
        0.0, round(1 - sum(failure_probability(certificate.confidence) for certificate in _checked(certificates)), 12)
    )


def _checked(certificates: Any) -> list[Certificate]:
    """Refuse what is not a list of certificates."""
    check_type("certificates", certificates, Iterable, "a list of certificates")
    found = list(certificates)
    for each in found:
        check_type("each of the certificates", each, Certificate, "a loa.certificates.Certificate")
    return found
