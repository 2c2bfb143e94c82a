"""The certificates as sentences with what they rest on, and other bounds for the same data beside them."""

from __future__ import annotations

from typing import Any

from ...certificates import Certificate
from ...certificates.budget import joint_confidence
from ...certificates.names import CERTIFIED, TARGETS, kind
from ...results.certificate_summary import CertificateSummary
from ...results.run_results import Results
from .markup import Markup, definitions, items, markup, section, table, tag
from .numbers import NONE, bound, change, number, percent, words

SHARES = ("probability", "tail")
"""Measures that are shares of problems."""


def certificates(results: Results) -> Markup:
    """The section on certificates."""
    together = [each for each in results.summary.certificates if each.together]
    if not together:
        return section("certificates", "Certificates", tag("p", "Nothing was certified in this run."))
    joint = percent(joint_confidence(results.certificates.values()), -1)
    lead = (
        f"All {len(together)} statements hold together with {joint} confidence: each was given its part of the failure "
        "probability before the data was seen, and the parts add up. The confidence in a sentence is that of the "
        "sentence alone."
    )
    assumptions = list(dict.fromkeys(text for each in results.certificates.values() for text in each.assumptions))
    letters = {text: chr(ord("a") + k) for k, text in enumerate(assumptions)}
    parts = [tag("p", lead if len(together) > 1 else "One statement was certified.")]
    parts.append(tag("ol", *(_certificate(each, letters, results) for each in together), class_="certificates"))
    if assumptions:
        parts += [
            tag("h3", "Assumptions"),
            items([text[:1].upper() + text[1:] + "." for text in assumptions], "ol", type="a"),
        ]
    return section("certificates", "Certificates", *parts, *_beside(results))


def _certificate(entry: CertificateSummary, letters: dict[str, str], results: Results) -> Markup:
    """Its sentence, its method and its assumptions (by letter), and the rest on request."""
    certificate = results.certificate(entry)
    assumed = words([f"({letters[text]})" for text in certificate.assumptions])
    rests = f"By {kind(entry.kind)}." + (f" It assumes {assumed}." if assumed else "")
    facts = definitions(_facts(entry, certificate, results))
    details = tag("details", tag("summary", "Details"), facts, open=False)
    sentence = tag("p", certificate.sentence(), class_="sentence")
    return tag("li", sentence, tag("p", rests, class_="assumed"), details)


def _facts(entry: CertificateSummary, certificate: Certificate, results: Results) -> list[tuple[str, str]]:
    show = percent if entry.measure in SHARES else number
    functional = results.summary.functional(entry.functional).noun
    facts = [
        ("about", f"{CERTIFIED[entry.measure]} of {functional}, of {TARGETS[entry.target]}"),
        ("method", kind(entry.kind)),
        ("bound", _bound(entry)),
        ("on its own problems", f"{show(entry.empirical)} on {number(entry.n)} problems"),
        ("on the test problems", show(entry.test)),
        ("excess over the test", change(entry.bound, entry.test)),
        ("confidence alone", percent(entry.confidence, -1)),
    ]
    optional: list[tuple[str, Any, Any]] = [
        ("cap", certificate.cap, number),
        ("share at the cap", certificate.at_cap, percent),
        ("level", certificate.level, percent),
        ("threshold", certificate.threshold, number),
        ("divergence of posterior from prior", certificate.kl, number),
        ("λ", certificate.lam, number),
    ]
    facts += [(name, shown(value)) for name, value, shown in optional if value is not None]
    facts += [("how λ was chosen", certificate.lam_origin)] if certificate.lam_origin else []
    facts += list(certificate.about.items())
    facts += [(f"draw of {role} problems", name) for role, name in certificate.draws.items()]
    return [(term, text) for term, text in facts if text != NONE]


def _bound(entry: CertificateSummary) -> str:
    """Rounded outward."""
    if entry.measure in SHARES:
        return percent(entry.bound, -1 if entry.measure == "probability" else 1)
    return bound(entry.bound)


def _beside(results: Results) -> list[Markup]:
    """Bounds of means by functional: ours, the paper's and the classical one, with their excess over the test mean."""
    references = [each for each in results.summary.certificates if not each.together]
    means = [each for each in results.summary.certificates if each.measure == "mean"]
    if not references:
        return []
    parts = [
        tag("h3", "Other bounds for the same data"),
        tag(
            "p",
            "The bounds of the paper and the classical one, for the posterior and its problems. Each of these has the "
            "whole confidence to itself; they do not hold together with the statements above or with each other. A "
            "bound at or above the cap says nothing.",
        ),
    ]
    header = ["bound", "about", "mean at most", "test mean", "excess over test", "confidence", "problems", "holds"]
    for functional in dict.fromkeys(each.functional for each in means):
        name = results.summary.functional(functional).noun
        rows = [_row(each) for each in means if each.functional == functional]
        parts.append(table(f"Bounds of the mean {name}", header, rows))
    told = [tag("span", f"By {kind(each.kind)}: {results.certificate(each).sentence()}") for each in references]
    parts.append(tag("details", tag("summary", "These bounds as sentences"), items(told)))
    return parts


def _row(entry: CertificateSummary) -> list[str]:
    limit = _bound(entry)
    return [
        kind(entry.kind),
        entry.target,
        markup(limit, tag("small", "says nothing")) if entry.vacuous else limit,
        number(entry.test),
        change(entry.bound, entry.test),
        percent(entry.confidence, -1),
        number(entry.n),
        "together" if entry.together else "alone",
    ]
