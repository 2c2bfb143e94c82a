r"""Any-time tests of a certificate on a stream: it holds, it is contradicted, or neither is decided yet.

Each certificate says that the mean of a variable X in [0, 1] is at most m: X is a share of the cap for a mean, "was not
solved" for a probability, "is above the threshold" for a tail, and "is above the bound" for a quantile. By the mixture
of `certificates.bounds.anytime`, wealth against "the mean is at least m" shows that the certificate holds, and wealth
against "the mean is at most m", with 1 - X and 1 - m in the places of X and m, contradicts it. Each of the two is ever
wrong with a probability of at most δ.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...certificates.bounds.anytime import DEFAULT_GRID, log_target
from ...certificates.certificate import Certificate
from ...certificates.names import SEQUENCE
from ...messages.arguments import check_type

WATCHED = ("mean", "probability", "tail", "quantile")

_GRID = np.array(DEFAULT_GRID)
_LOG_SIZE = math.log(len(DEFAULT_GRID))


def check_certificates(certificates: Any) -> tuple[Certificate, ...]:
    """Refuse what is no list of certificates."""
    wanted = "a list of certificates such as loa.certify returns"
    check_type("certificates", None if isinstance(certificates, str) else certificates, Iterable, wanted)
    found: tuple[Any, ...] = tuple(certificates)
    for each in found:
        check_type("certificates", each, Certificate, wanted)
    return found


class Claim:
    """A certificate on trial.

    Arguments:
        certificate: of a mean, a probability, a tail or a quantile, of the deployed algorithm.
        delta: the probability with which either verdict may ever be wrong.

    >>> from loa.certificates import certify
    >>> claim = Claim(certify([100.0, 300.0] * 500, cap=500.0), 0.01)
    >>> claim.verdict
    'not decided'
    >>> for _ in range(100):
    ...     claim.add(450.0)
    >>> claim.verdict
    'contradicted'
    """

    def __init__(self, certificate: Certificate, delta: float):
        check_certificates([certificate])
        if certificate.measure not in WATCHED or certificate.target != "deployed":
            raise ValueError(
                f"only certificates of a {', '.join(WATCHED[:-1])} or {WATCHED[-1]} of the deployed algorithm can be "
                f"watched, not those of a {certificate.measure} of the {certificate.target}."
            )
        if certificate.beyond is not None or certificate.moment is not None:
            raise ValueError(
                "a certificate of a mean without a largest value cannot be watched: of values beyond its cap, or under "
                "a declared moment, a stream shows only a part. Watch a quantile, or a tail at the cap."
            )
        if SEQUENCE in certificate.about:
            raise ValueError(
                "a certificate about sequences cannot be watched problem by problem: those of one sequence depend on "
                "each other."
            )
        self.certificate, self.delta = certificate, delta
        self.mean, self._target = _largest_mean(certificate), log_target(delta, DEFAULT_GRID)
        self._expected = np.log1p(-np.outer([self.mean, 1 - self.mean], _GRID))
        self.sums, self.count = np.zeros((2, len(DEFAULT_GRID))), 0
        self.contradicted = False

    def check(self, value: float) -> None:
        """Refuse a value that the certified functional cannot have."""
        name, measure = self.certificate.functional, self.certificate.measure
        if measure == "mean" and value < 0:
            raise ValueError(f"{name} was certified as a functional that is never negative, got {value:g}.")
        if measure == "probability" and not (value in (0, 1) or math.isnan(value)):
            raise ValueError(f"{name} must be 0 or 1 (or False or True) in every observation, got {value:g}.")

    def add(self, value: float) -> None:
        """Take in the value on one more problem."""
        share = self._share(value)
        self.sums += np.log1p(np.array([[-share], [share - 1.0]]) * _GRID)
        self.count += 1
        self.contradicted = self.contradicted or self._rejects(1)

    @property
    def verdict(self) -> str:
        """Either "holds", "contradicted" or "not decided"."""
        if self.contradicted:
            return "contradicted"
        return "holds" if self._rejects(0) else "not decided"

    def _rejects(self, side: int) -> bool:
        """Whether the gambler has refuted that the mean of X (or, on the other side, of 1 - X) is so large."""
        gains = self.sums[side] - self.count * self._expected[side]
        largest = float(gains.max())
        if largest + _LOG_SIZE < self._target:
            return False
        return bool(largest + math.log(float(np.exp(gains - largest).sum())) >= self._target)

    def _share(self, value: float) -> float:
        """X of one value; one that is not a number is the worst there can be."""
        certificate = self.certificate
        if math.isnan(value):
            return 1.0
        if certificate.measure == "mean":
            return min(max(value / (certificate.cap or 1.0), 0.0), 1.0)
        if certificate.measure == "probability":
            return 1.0 - value
        limit = certificate.threshold if certificate.measure == "tail" else certificate.bound
        return float(value > (math.inf if limit is None else limit))


def _largest_mean(certificate: Certificate) -> float:
    """What the mean of X is at most, if the certificate is true."""
    bound, level, cap = certificate.bound, certificate.level, certificate.cap
    known = {"mean": bound / (cap or 1.0), "probability": 1 - bound, "tail": bound, "quantile": 1 - (level or 0.0)}
    return min(max(known[certificate.measure], 0.0), 1.0)
