"""Certify an algorithm that was fixed beforehand: from what `loa.evaluate` returned, or from numbers of any origin."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ..messages.arguments import array_of_numbers, check_type
from ..messages.warning import warn
from ..trajectory.evaluation import Performance
from ..trajectory.subject import LOGGED, copies_among
from .bounds.inputs import failure_probability, warn_of_truncation
from .bounds.rounding import number_exact
from .certificate import Certificate
from .goal import BEFOREHAND, HELD_OUT, INDEPENDENT, OTHER_PROBLEMS, Goal, of_sequences, of_stream
from .goals import Mean
from .misuse import check_sample
from .names import SEQUENCE, UNNAMED


def certify(
    values: Any,
    functional: str | Goal | None = None,
    *,
    cap: float | None = None,
    confidence: float = 0.95,
    unit: str = "",
    diverged: Any = None,
    prior_values: Any = None,
) -> Certificate:
    """Certify the performance of an algorithm from its values on held-out problems.

    The result of `loa.evaluate` is best: it knows where its functionals are truncated and how each run ended, so that
    runs that diverged or reached the horizon count as the cap.

    Arguments:
        values: what `loa.evaluate` returned; or numbers as (problem,) or (problem, replicate), within [0, cap].
            Booleans are indicators.
        functional: whose mean to certify, by name; "stopping_time" of an evaluation by default. Or a goal, such as
            `Quantile("stopping_time", 0.9, cap=500)`.
        cap: the largest possible value, declared beforehand: the horizon, for a stopping time. Needed for numbers, and
            for an evaluated functional that has none.
        confidence: in (0, 1).
        unit: what the values count, for the sentence.
        diverged: True where a run diverged; its value is ignored and counts as the cap.
        prior_values: values on prior problems; they make the bound slightly better.

    Returns:
        A `Certificate`, which prints as one sentence.

    >>> certificate = certify(np.tile([100.0, 300.0], 500), cap=500.0)
    >>> round(certificate.bound, 1)
    204.6
    """
    check_type("functional", functional, str | Goal | None, "the name of a functional, or a goal")
    if isinstance(values, Performance):
        if diverged is not None:
            raise ValueError("an evaluation knows which runs diverged: leave out diverged.")
        return _of_performance(values, functional or "stopping_time", cap, confidence, unit, prior_values)
    if isinstance(functional, Goal):
        raise ValueError("a goal certifies numbers by its own method, goal.certify(values, confidence).")
    goal = Mean(functional or UNNAMED, cap, unit)  # pyright: ignore[reportArgumentType] (refuses None)
    values = array_of_numbers("values", values) if diverged is None else _diverged_at_cap(values, diverged, goal.cap)
    certificate = _mean(goal, values, confidence, prior_values)
    if values.dtype != bool:
        warn_of_truncation(values, goal.cap)
    return certificate


def _mean(goal: Mean, values: Any, confidence: float, prior_values: Any) -> Certificate:
    """The certificate of a mean, whose first bets may be improved by values on prior problems."""
    assumptions = (INDEPENDENT, HELD_OUT, BEFOREHAND) + (() if prior_values is None else (OTHER_PROBLEMS,))
    check_sample(values, goal.cap)
    found = goal.find(values, failure_probability(confidence), prior_values)
    return goal.record(values, found, confidence, assumptions=assumptions)


def _of_performance(
    performance: Performance, what: str | Goal, cap: float | None, confidence: float, unit: str, prior_values: Any
) -> Certificate:
    """Certify a functional or a goal, with the cap and the unit of the functional as it was evaluated."""
    if isinstance(what, Goal):
        if cap is not None or unit or prior_values is not None:
            raise ValueError("a goal carries its cap and unit: leave out cap, unit and prior_values.")
        return _about(what.certify(_values(performance, what), confidence), performance)
    known = performance.caps.get(what, np.inf)
    if cap is None and not np.isfinite(known):
        _ = performance[what]  # a name that was misspelled is said to be unknown
        raise ValueError(
            f"{what} has no largest value, which its mean needs: declare one beforehand, best by evaluating the "
            "functional with cap=…."
        )
    goal = Mean(what, float(known if cap is None else cap), unit or performance.units.get(what, ""))
    certificate = _about(_mean(goal, _values(performance, goal), confidence, prior_values), performance)
    return of_sequences(certificate) if SEQUENCE in performance.about else certificate


def _about(certificate: Certificate, performance: Performance) -> Certificate:
    """The certificate with what it is about: of logged instances, the stream that they come from."""
    if copies := copies_among(performance.about, certificate.n):
        warn(f"{copies} the certificate is false; give each problem once.")
    certificate = certificate.naming(performance.about)
    return of_stream(certificate) if LOGGED in performance.about else certificate


def _values(performance: Performance, goal: Goal) -> np.ndarray:
    """What a goal is certified from: runs that diverged count as the cap, and so do infinite values."""
    if performance.outcome.ndim != 2:
        raise ValueError(
            "these are the values of several candidates: certify one of them, performance.of_candidates(index), or "
            "their posterior by certify_posterior."
        )
    if SEQUENCE in performance.about and not isinstance(goal, Mean):
        raise ValueError(
            "problems of one sequence depend on each other, so that only a mean along sequences is certified here: "
            f"give {type(goal).__name__}(…).certify(values, confidence) one number per sequence, such as the largest."
        )
    if goal.functional == "solved" and "solved" not in performance.values:
        return performance.outcome == "solved"
    values, known = performance[goal.functional], performance.caps.get(goal.functional, np.inf)
    if "cap" not in {field.name for field in dataclasses.fields(goal)}:
        return values
    cap: float | None = getattr(goal, "cap", None)
    if np.isfinite(known) and cap != known:
        raise ValueError(
            f"{goal.functional} was evaluated with the largest value {number_exact(known)}, beyond which nothing was "
            f"seen: the cap must be {number_exact(known)}, got {cap}."
        )
    if cap is None:
        return performance.at_most(goal.functional, np.inf)
    ended_badly = np.isin(performance.outcome, ("diverged", "failed", "timed out"))
    worst = ended_badly | ((performance.outcome != "solved") & np.isinf(values))
    return _diverged_at_cap(performance.at_most(goal.functional, cap), worst, cap)


def _diverged_at_cap(values: Any, diverged: Any, cap: float) -> np.ndarray:
    """Values with the cap in place of those whose runs diverged."""
    values = array_of_numbers("values", values)
    if np.shape(diverged) != values.shape:
        raise ValueError(
            f"diverged must say for every value whether its run diverged, but it has the shape {np.shape(diverged)} "
            f"and values have {values.shape}."
        )
    return np.where(np.asarray(diverged, bool), np.asarray(cap, values.dtype), values)
