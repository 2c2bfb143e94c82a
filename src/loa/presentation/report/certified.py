"""The certificates as sentences with what they rest on, and other bounds for the same data beside them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...certificates import Certificate
from ...certificates.budget import joint_confidence
from ...results.run_results import Results
from ...statistics import measures
from .markup import Markup, definitions, items, markup, section, table, tag
from .numbers import NONE, bound, change, number, percent, real, words

KINDS = {
    "betting": "betting on held-out problems",
    "clopper-pearson": "exact binomial bound (Clopper and Pearson)",
    "order statistics": "order statistics",
    "product": "product bound",
    "paper": "theorem of the paper",
    "paper with sharp constant": "theorem of the paper, sharp constant",
    "pac-bayes-kl": "PAC-Bayes-kl",
}


def certificates(results: Results) -> Markup:
    """The section on certificates."""
    together = list(results.certificates.values())
    if not together:
        return section("certificates", "Certificates", tag("p", "Nothing was certified in this run."))
    joint = percent(joint_confidence(together), -1)
    lead = (
        f"All {len(together)} statements hold together with {joint} confidence: each was given its part of the failure "
        "probability before the data was seen, and the parts add up. The confidence in a sentence is that of the "
        "sentence alone."
    )
    assumptions = list(dict.fromkeys(text for each in together for text in each.assumptions))
    letters = {text: chr(ord("a") + k) for k, text in enumerate(assumptions)}
    parts = [tag("p", lead if len(together) > 1 else "One statement was certified.")]
    parts.append(tag("ol", *(_certificate(each, letters, results) for each in together), class_="certificates"))
    if assumptions:
        parts += [
            tag("h3", "Assumptions"),
            items([text[:1].upper() + text[1:] + "." for text in assumptions], "ol", type="a"),
        ]
    return section("certificates", "Certificates", *parts, *_beside(results))


def _certificate(certificate: Certificate, letters: dict[str, str], results: Results) -> Markup:
    """Its sentence, its method and its assumptions (by letter), and the rest on request."""
    method = KINDS.get(certificate.kind, certificate.kind)
    assumed = words([f"({letters[text]})" for text in certificate.assumptions])
    rests = f"By {method}." + (f" It assumes {assumed}." if assumed else "")
    details = tag("details", tag("summary", "Details"), definitions(_facts(certificate, results)), open=False)
    sentence = tag("p", certificate.sentence(), class_="sentence")
    return tag("li", sentence, tag("p", rests, class_="assumed"), details)


def _facts(certificate: Certificate, results: Results) -> list[tuple[str, str]]:
    show = percent if certificate.measure in ("probability", "tail") else number
    about = "the algorithm that is deployed" if certificate.target == "deployed" else "the average over the posterior"
    facts = [
        ("about", f"{certificate.measure} of {certificate.functional.replace('_', ' ')}, of {about}"),
        ("method", KINDS.get(certificate.kind, certificate.kind)),
        ("bound", _bound(certificate)),
        ("on its own problems", f"{show(certificate.empirical)} on {number(certificate.n)} problems"),
        ("on the test problems", show(_test(certificate, results))),
        ("excess over the test", change(certificate.bound, _test(certificate, results))),
        ("confidence alone", percent(certificate.confidence, -1)),
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
    facts += [(f"draw of {role} problems", name) for role, name in certificate.draws.items()]
    return [(term, text) for term, text in facts if text != NONE]


def _test(certificate: Certificate, results: Results) -> float:
    """The same measure on the test problems, where the summary has it."""
    sentence = certificate.sentence()
    for entry in results.summary.get("certificates", []):
        if entry.get("sentence") == sentence and entry.get("kind") == certificate.kind:
            if entry.get("test") is not None:
                return real(entry["test"])
            break
    if certificate.measure == "probability" and certificate.functional == "solved":
        return real(results.summary["learned"].get("solved"))
    if certificate.target != "deployed" or certificate.functional not in results.performance:
        return math.nan
    values = np.asarray(results.performance[certificate.functional].values[0], float)
    if certificate.measure == "tail" and certificate.threshold is not None:
        return float((values > certificate.threshold).mean())
    if certificate.level is None or np.isnan(values).any():
        return math.nan
    measure = {"quantile": measures.quantile, "cvar": measures.cvar}[certificate.measure]
    return float(measure(values, certificate.level))


def _bound(certificate: Certificate) -> str:
    """Rounded outward."""
    if certificate.measure in ("probability", "tail"):
        return percent(certificate.bound, -1 if certificate.measure == "probability" else 1)
    return bound(certificate.bound)


def _beside(results: Results) -> list[Markup]:
    """Bounds of means by functional: ours, the paper's and the classical one, with their excess over the test mean."""
    everything = [*results.certificates.values(), *results.references]
    means = [each for each in everything if each.measure == "mean"]
    if not results.references:
        return []
    parts = [
        tag("h3", "Other bounds for the same data"),
        tag(
            "p",
            "The bounds of the paper and the classical one, for the posterior and its problems. Each of these has the "
            "whole confidence for itself; they do not hold together with the statements above or with each other. A "
            "bound at or above the cap says nothing.",
        ),
    ]
    alone = {id(each) for each in results.references}
    for functional in dict.fromkeys(each.functional for each in means):
        name = functional.replace("_", " ")
        rows = [_row(each, id(each) in alone, results) for each in means if each.functional == functional]
        header = ["bound", "about", "mean at most", "test mean", "excess over test", "confidence", "problems", "holds"]
        parts.append(table(f"Bounds of the mean {name}", header, rows))
    references = [tag("span", f"{KINDS.get(each.kind, each.kind)}: {each.sentence()}") for each in results.references]
    parts.append(tag("details", tag("summary", "These bounds as sentences"), items(references)))
    return parts


def _row(certificate: Certificate, alone: bool, results: Results) -> list[str]:
    test = _test(certificate, results)
    limit = _bound(certificate)
    return [
        KINDS.get(certificate.kind, certificate.kind),
        certificate.target,
        markup(limit, tag("small", "says nothing")) if certificate.vacuous else limit,
        number(test),
        change(certificate.bound, test),
        percent(certificate.confidence, -1),
        number(certificate.n),
        "alone" if alone else "together",
    ]
