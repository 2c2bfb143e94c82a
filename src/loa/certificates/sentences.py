"""Certificates in plain words: one sentence each, in which nothing is better than what is certified."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..trajectory.subject import DIFFERENT
from ..trajectory.units import unit_of
from .bounds.rounding import number_exact, number_up, percent_down, percent_exact, percent_rest, percent_up
from .names import SEQUENCE, UNNAMED

if TYPE_CHECKING:
    from .certificate import Certificate

LEVELS = (0.5, 0.9, 0.99)
"""The levels of a distribution function that the sentence reads out."""
EXCHANGEABLE = (
    "logged and later instances are exchangeable: no trend, and which ones were logged did not depend on what they are"
)
"""The assumption of a certificate that speaks of the stream from which instances were logged."""
FROM_POSTERIOR = "an algorithm drawn from the posterior for each problem"


def sentence_of(certificate: Certificate) -> str:
    """The claim with its confidence, as one sentence."""
    return f"With {percent_down(certificate.confidence)} confidence, {_words(certificate)}."


def claim_of(certificate: Certificate) -> str:
    """The claim without its confidence, as one sentence."""
    words = _words(certificate)
    return f"{words[0].upper()}{words[1:]}."


def _words(certificate: Certificate) -> str:
    if certificate.vacuous:
        return _nothing(certificate)
    if not certificate.at_cap or certificate.measure == "tail" or certificate.beyond is not None:
        return _statement(certificate)
    reached = f"{percent_up(certificate.at_cap)} of the sample reached the cap"
    return f"{_statement(certificate)} (values are capped at {number_exact(certificate.cap or 0.0)}; {reached})"


def _statement(certificate: Certificate) -> str:
    """What is certified, by measure."""
    new, bound, level = _new_problems(certificate), certificate.bound, certificate.level or 0.0
    if _is_indicator(certificate):
        return f"{_holds(certificate)} on at most {percent_up(bound)} of {new}"
    if certificate.measure == "mean" and certificate.beyond is not None:
        return _up_to_cap(certificate)
    if certificate.measure == "mean" and certificate.moment is not None:
        power, moment = number_exact(certificate.power or 0.0), number_exact(certificate.moment)
        amount = f"{_amount(certificate, 'at most', number_up(bound))} on average on {new}"
        return f"{amount}, if the mean of their power {power} is at most {moment}"
    if certificate.measure == "mean":
        return f"{_amount(certificate, 'at most', number_up(bound))} on average on {new}"
    if certificate.measure == "probability" and certificate.functional == "solved":
        return f"{_who(certificate)} solves at least {percent_down(bound)} of {new}"
    if certificate.measure == "probability":
        return f"{_holds(certificate)} on at least {percent_down(bound)} of {new}"
    if certificate.measure == "tail":
        amount = _amount(certificate, "more than", number_exact(certificate.threshold or 0.0))
        return f"{amount} on at most {percent_up(bound)} of {new}"
    if certificate.measure == "quantile":
        return f"{_amount(certificate, 'at most', number_up(bound))} on at least {percent_exact(level)} of {new}"
    if certificate.measure == "cvar":
        amount = _amount(certificate, "at most", number_up(bound))
        return f"{amount} on average on the worst {percent_rest(level)} of {new}"
    return _several_levels(certificate)


def _up_to_cap(certificate: Certificate) -> str:
    """The mean up to a cap, and how often that is reached."""
    amount = f"{_amount(certificate, 'at most', number_up(certificate.bound))} on average"
    cap, share = number_exact(certificate.cap or 0.0), percent_up(certificate.beyond or 0.0)
    counted = (
        f"counting at most {cap} of them" if certificate.unit or unit_of(certificate.functional) else f"up to {cap}"
    )
    return f"{amount}, {counted}, and reaches {cap} on at most {share} of {_new_problems(certificate)}"


def _several_levels(certificate: Certificate) -> str:
    """The values that a few levels reach; the largest share there is, if they reach none."""
    new, band = _new_problems(certificate), certificate.band or ((0.0, 0.0),)
    first = [(level, next((value for value, share in band if share >= level), None)) for level in LEVELS]
    highest = {value: level for level, value in first if value is not None}
    reached = [(percent_exact(level), value) for value, level in highest.items()]
    share, value = reached[0] if reached else (percent_down(band[-1][1]), band[-1][0])
    parts = [f"{_amount(certificate, 'at most', number_up(value))} on at least {share}"]
    parts += [f"at most {number_up(value)} on at least {share}" for share, value in reached[1:]]
    if len(parts) == 1:
        return f"{parts[0]} of {new}"
    return f"{', '.join(parts[:-1])} and {parts[-1]} of {new}, all simultaneously"


def _nothing(certificate: Certificate) -> str:
    """That nothing can be said, and why."""
    never = certificate.measure == "probability" and certificate.empirical == 0
    reason = "none of them has it" if never else "more problems are needed"
    if certificate.at_cap == 1 or (certificate.at_cap and certificate.measure in ("quantile", "distribution")):
        reason = f"{percent_up(certificate.at_cap)} of them reached the cap of {number_exact(certificate.cap or 0.0)}"
    problems = "this one problem" if certificate.n == 1 else f"these {certificate.n} problems"
    return f"nothing can be said about {_quantity(certificate)} from {problems}: {reason}"


def _quantity(certificate: Certificate) -> str:
    name, level = _name(certificate), certificate.level or 0.0
    whose = f" of {FROM_POSTERIOR}" if certificate.target == "posterior" else ""
    return {
        "mean": f"the mean {name}{whose}",
        "probability": f'the probability of the property "{name}"{whose and whose.replace("of", "for", 1)}',
        "tail": f"the probability that the {name}{whose} exceeds {number_exact(certificate.threshold or 0.0)}",
        "quantile": f"the {percent_exact(level)} quantile of the {name}{whose}",
        "cvar": f"the mean {name}{whose} on the worst {percent_rest(level)} of problems",
        "distribution": f"the distribution of the {name}{whose}",
    }[certificate.measure]


def _amount(certificate: Certificate, sense: str, number: str) -> str:
    """Such as "the algorithm needs at most 112 iterations"; with its name if its unit does not say what is counted."""
    usual = unit_of(certificate.functional)
    unit = certificate.unit or usual
    counted, _, within = unit.partition(" (")
    counted = counted.removesuffix("s") if number == "1" else counted
    amount = f"{sense} {number} {counted}{within and ' (' + within}".rstrip()
    if unit and (unit.partition(" (")[0] == usual or certificate.functional == UNNAMED):
        return f"{_who(certificate)} needs {amount}"
    if certificate.target == "posterior":
        return f"the {_name(certificate)} of {FROM_POSTERIOR} is {amount}"
    return f"the algorithm's {_name(certificate)} is {amount}"


def _holds(certificate: Certificate) -> str:
    who = f" for {FROM_POSTERIOR}" if certificate.target == "posterior" else ""
    return f'the property "{_name(certificate)}" holds{who}'


def _is_indicator(certificate: Certificate) -> bool:
    """Whether a mean is that of a property: of such values no share at the cap is recorded."""
    return certificate.measure == "mean" and certificate.cap == 1 and certificate.at_cap is None


def _who(certificate: Certificate) -> str:
    return FROM_POSTERIOR if certificate.target == "posterior" else "the algorithm"


def _name(certificate: Certificate) -> str:
    return certificate.functional.replace("_", " ")


def _new_problems(certificate: Certificate) -> str:
    if length := certificate.about.get(SEQUENCE):
        these = "this one" if certificate.n == 1 else f"these {certificate.n}"
        return f"the problems of new sequences of {length} that begin like {these}"
    if EXCHANGEABLE in certificate.assumptions:
        come = " comes" if certificate.n == 1 else " come"
        return f"new instances of the stream that {_these(certificate, come)} from"
    return f"new problems drawn like {_these(certificate)}"


def _these(certificate: Certificate, come: str = "") -> str:
    """The problems that a certificate rests on, and how many of them are different where some are copies."""
    if certificate.n == 1:
        return f"this one{come}"
    number = certificate.about.get(DIFFERENT)
    if number is None:
        return f"these {certificate.n}{come}"
    return f"these {certificate.n}, {number} of them different{come and ','}{come}"
