"""A certificate: a bound with everything that is needed to read it, to keep it and to check it later."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..storage.files import write_whole
from .verdict import Verdict, verify

UNITS = {"stopping_time": "iterations", "oracle_calls": "oracle calls"}
MEASURES = ("mean", "probability", "tail", "quantile", "cvar", "distribution")
LEVELS = (0.5, 0.9, 0.99)
"""Of a whole distribution function, the levels that the sentence reads out."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Certificate:
    """What is certified, with which confidence, from what, by which method and under which assumptions.

    Fields:
        functional: name of the functional.
        measure: "mean", "probability" (at least so many have the property), "tail" (at most so many are above the
            threshold), "quantile", "cvar" or "distribution" (at least so many are at most so large, for every value).
        target: "deployed" (one algorithm) or "posterior" (its average).
        kind: the method of the bound.
        bound: the certified number; an upper bound but for "probability". For "distribution", the certified median.
        empirical: the same measure on the sample.
        confidence: of this certificate alone; several hold together only as far as a `Budget` says.
        n: the number of problems it rests on.
        cap: the largest value there can be, if the method needs one.
        at_cap: the share of the sample at the cap, where a truncated functional hides something.
        level, threshold: of a quantile, a tail or a CVaR, as fixed beforehand.
        band: for "distribution", pairs (value, share): at least that share of all problems is at most that large.
        kl, lam, lam_origin: the divergence of posterior from prior, the parameter λ and how it was chosen.
        posterior: weights of the candidates, for the target "posterior".
        draws: fingerprint of the draw of problems in each role.
        data: fingerprint of the values it was made from.
        assumptions: what it rests on beyond what was checked.
        unit: of the functional, for the sentence.
    """

    functional: str
    measure: str
    kind: str
    bound: float
    empirical: float
    confidence: float
    n: int
    target: str = "deployed"
    cap: float | None = None
    at_cap: float | None = None
    level: float | None = None
    threshold: float | None = None
    band: tuple[tuple[float, float], ...] | None = None
    kl: float | None = None
    lam: float | None = None
    lam_origin: str = ""
    posterior: tuple[float, ...] | None = None
    draws: Mapping[str, str] = dataclasses.field(default_factory=dict)
    data: str = ""
    assumptions: tuple[str, ...] = ()
    unit: str = ""

    def __post_init__(self):
        if self.measure not in MEASURES:
            raise ValueError(f"measure must be one of {', '.join(MEASURES)}, got {self.measure!r}.")

    @property
    def vacuous(self) -> bool:
        """Whether it says nothing that was not known beforehand."""
        if self.measure == "probability":
            return self.bound <= 0
        if self.measure == "distribution":
            return not any(share > 0 for _, share in self.band or ())
        return self.bound >= (1.0 if self.measure == "tail" else float("inf") if self.cap is None else self.cap)

    def sentence(self) -> str:
        """In plain words, rounded so that what is read is never better than what is certified.

        >>> Certificate(functional="stopping_time", measure="mean", kind="betting", bound=111.93, empirical=105.0,
        ...             confidence=0.95, n=250, cap=500.0).sentence()
        'With 95 % confidence, at most 112 iterations on average, over problems drawn like these 250.'
        """
        return f"With {_percent(self.confidence, -1)} confidence, {self._statement()}"

    __str__ = sentence

    def claim(self) -> str:
        """The sentence without the confidence, with a capital letter."""
        statement = self._statement()
        return statement[:1].upper() + statement[1:]

    def _statement(self) -> str:
        if self.vacuous:
            name = self.functional.replace("_", " ")
            reason = "more of them are needed"
            if self.at_cap and self.measure in ("quantile", "distribution"):
                reason = f"{_percent(self.at_cap, 1)} of them reached {_number(self.cap)}, up to which is counted"
            return f"nothing can be said about the {self.measure} of {name} from these {self.n} problems: {reason}."
        where = f"over problems drawn like these {self.n}"
        if self.target == "posterior":
            where += " and over the posterior"
        if self.at_cap and self.measure != "tail":
            where += f" (counted up to {_number(self.cap)}, which {_percent(self.at_cap, 1)} of them reached)"
        return f"{self._claim()}, {where}."

    def _claim(self) -> str:
        name = self.functional.replace("_", " ")
        unit = self.unit or UNITS.get(self.functional, "")
        need = "need" if unit else "have"

        def amount(number: float | None, sense: str, up: bool = True) -> str:
            shown = _number(number, up)
            return f"{sense} {shown} {unit}" if unit else f"a {name} {'of ' if sense else ''}{sense} {shown}"

        if self.measure == "mean":
            return f"{amount(self.bound, 'at most')} on average"
        if self.measure == "probability":
            return f"at least {_percent(self.bound, -1)} are {name}"
        if self.measure == "tail":
            return f"at most {_percent(self.bound, 1)} {need} {amount(self.threshold, 'more than', up=False)}"
        if self.measure == "quantile":
            return f"{_percent(self.level or 0.0, 0)} {need} {amount(self.bound, 'at most')}"
        if self.measure == "distribution":
            return self._levels(need, amount)
        return f"the worst {_percent(1 - (self.level or 0.0), 0)} {need} {amount(self.bound, 'at most')} on average"

    def at(self, value: float) -> float:
        """Of a distribution, the share of problems that are certified to have at most this value.

        >>> from loa.certificates import Distribution
        >>> round(Distribution("stopping_time").certify(np.arange(100.0), 0.95).at(89.0), 3)
        0.788
        """
        if self.band is None:
            raise ValueError(
                f"only the certificate of a distribution has a share for every value, not of a {self.measure}."
            )
        return max((share for at_most, share in self.band if at_most <= value), default=0.0)

    def _levels(self, need: str, amount: Callable[..., str]) -> str:
        """The values that a few levels reach; the largest share there is, if they reach none."""
        band: tuple[tuple[float, float], ...] = self.band or ((0.0, 0.0),)
        first = [(level, next((value for value, share in band if share >= level), None)) for level in LEVELS]
        reached = [(level, value) for level, value in first if value is not None]
        if not reached:
            value, share = band[-1]
            return f"at least {_percent(share, -1)} {need} {amount(value, 'at most')}"
        parts = [f"{_percent(level, 0)} at most {_number(value)}" for level, value in reached[1:]]
        level, value = reached[0]
        if unit := self.unit or UNITS.get(self.functional, ""):
            head = f"{_percent(level, 0)} {need} at most {_number(value)}"
            return ", ".join([head, *parts]) + f" {unit}, at once"
        return ", ".join([f"{_percent(level, 0)} {need} {amount(value, 'at most')}", *parts]) + ", at once"

    def verify(self, values: Any, *, error_rate: float = 0.01) -> Verdict:
        """Confront it with values on fresh problems, drawn after it was issued.

        If the certificate is true, the verdict is "contradicted" with a probability of at most `error_rate`.

        Arguments:
            values: (problem,) or (problem, replicate); for the target "posterior" (problem, candidate).

        >>> from loa.certificates import certify
        >>> certificate = certify(np.tile([100.0, 300.0], 500), cap=500.0)
        >>> certificate.verify(np.tile([150.0, 350.0], 500)).contradicted
        True
        """
        return verify(self, values, error_rate)

    def to_dict(self) -> dict[str, Any]:
        """Plain values that JSON can hold; infinity is the string "Infinity"."""
        return {field.name: _encoded(getattr(self, field.name)) for field in dataclasses.fields(self)}

    def to_json(self) -> str:
        """As JSON text that any reader accepts."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False, ensure_ascii=False) + "\n"

    def save(self, path: str | Path) -> None:
        """Write the JSON text to a file, whole or not at all."""
        text = self.to_json()
        write_whole(Path(path), lambda temporary: temporary.write_text(text, encoding="utf-8"))

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """The inverse of `to_json`."""
        try:
            return cls.from_dict(json.loads(text))
        except json.JSONDecodeError as error:
            raise ValueError(f"this is not a certificate, not even JSON: {error}.") from error

    @classmethod
    def from_dict(cls, content: Any) -> Certificate:
        """The inverse of `to_dict`."""
        known = {field.name for field in dataclasses.fields(cls)}
        if not isinstance(content, dict) or not {"functional", "measure", "bound"} <= set(content) <= known:
            raise ValueError(
                "this is not a certificate: it needs a functional, a measure, a bound and known fields only."
            )
        return cls(**{name: _decoded(value) for name, value in content.items()})

    @classmethod
    def load(cls, path: str | Path) -> Certificate:
        """Read a certificate that was saved."""
        return cls.from_json(Path(path).read_text(encoding="utf-8"))


def _encoded(value: Any) -> Any:
    if isinstance(value, float) and np.isinf(value):
        return "Infinity"
    if isinstance(value, tuple):
        return [_encoded(part) for part in value]
    return dict(value) if isinstance(value, Mapping) else value


def _decoded(value: Any) -> Any:
    if value == "Infinity":
        return float("inf")
    return tuple(_decoded(part) for part in value) if isinstance(value, list) else value


def _number(number: float | None, up: bool = True) -> str:
    """Four digits, rounded up or down."""
    if number is None or number == 0 or not np.isfinite(number):
        return str(number)
    unit = 10.0 ** (np.floor(np.log10(abs(number))) - 3)
    rounded = (np.ceil if up else np.floor)(np.round(number / unit, 6)) * unit
    return f"{rounded:.12g}"


def _percent(share: float, direction: int) -> str:
    """A percentage of at most two decimals, rounded up (1), down (-1) or to the nearest (0)."""
    rounding = {1: np.ceil, -1: np.floor, 0: np.round}[direction]
    return f"{rounding(np.round(share * 1e4, 6)) / 100:.12g} %"
