"""Certificates in numbers: what a summary repeats of each, and what was seen on the test problems."""

from __future__ import annotations

from dataclasses import dataclass

from ..certificates.certificate import Certificate

COPIED = ("functional", "kind", "target", "measure", "bound", "empirical", "confidence", "n", "cap")
"""What a summary repeats of each certificate."""


@dataclass(frozen=True)
class CertificateSummary:
    """A certificate beside what was seen on the test problems.

    Fields:
        name: under which the certificate stands in `certificates.json`, or for a reference its place there.
        test: the same measure on the test problems; None if it was not measured there.
        together: whether it holds together with the others; a reference has the whole confidence to itself.
    """

    name: str
    functional: str
    kind: str
    target: str
    measure: str
    bound: float
    empirical: float
    confidence: float
    n: int
    cap: float | None
    test: float | None
    together: bool
    vacuous: bool
    sentence: str

    @classmethod
    def of(cls, name: str, certificate: Certificate, *, test: float | None, together: bool) -> CertificateSummary:
        """The numbers of a certificate, beside the same measure on the test problems."""
        content = {field: getattr(certificate, field) for field in COPIED}
        vacuous = bool(certificate.vacuous)
        return cls(name, **content, test=test, together=together, vacuous=vacuous, sentence=certificate.sentence())
