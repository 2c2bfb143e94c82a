"""A certificate: a bound with everything that is needed to read it, to keep it and to check it later."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..messages.arguments import any_number, as_path, check_type
from ..storage.files import write_whole
from ..storage.plain_json import CHECKSUM, decoded, digest, encoded
from .content_checks import check_content
from .recomputed import check
from .sentences import claim_of, sentence_of
from .verification import Verdict, verify


@dataclasses.dataclass(frozen=True, kw_only=True)
class Certificate:
    """What is certified, with which confidence, from what, by which method and under which assumptions.

    Content that no bound can have produced, such as a confidence of 1.5, is refused.

    Fields:
        functional: name of the functional.
        measure: "mean", "probability" (a lower bound on how often a property holds), "tail" (an upper bound on how
            often values are above the threshold), "quantile", "cvar", or "distribution" (for every value, a lower
            bound on the share of problems that do not exceed it).
        kind: the method of the bound.
        bound: the certified number; an upper bound except for "probability". For "distribution", the certified median.
        empirical: the same measure on the sample.
        confidence: of this certificate alone; several hold together only as far as a `Budget` says.
        n: the number of problems it rests on.
        target: "deployed" (one algorithm) or "posterior" (its average).
        cap: the largest possible value; None if the method needs none and the values were declared to have none.
        at_cap: the share of the sample at the cap, where a truncated functional hides something.
        level, threshold: of a quantile, a tail or a CVaR, as fixed beforehand.
        beyond: for a mean up to a cap, an upper bound on how often the cap is reached, which holds jointly with it.
        moment, power: for a mean under a declared moment, what the mean of values to that power is at most; the
            threshold is then the level of truncation.
        band: for "distribution", pairs (value, share): at least that share of all problems has at most that value.
        kl, lam, lam_origin: the divergence of posterior from prior, the parameter λ and how it was chosen.
        posterior: weights of the candidates, for the target "posterior".
        draws: fingerprint of the draw of problems in each role.
        data: fingerprint of the values it was made from.
        assumptions: what it rests on and the code cannot check.
        checked: what it rests on and the code has checked.
        unit: of the functional, for the sentence.
        about: what it speaks of, in words or fingerprints: "algorithm", "problem class", "criterion", "horizon",
            "seed", "version". The fingerprint of the plan is in `draws`.
        memory: hashes of the sample, by which it is recognized if it comes back as fresh.
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
    checked: tuple[str, ...] = ()
    unit: str = ""
    about: Mapping[str, str] = dataclasses.field(default_factory=dict)
    beyond: float | None = None
    moment: float | None = None
    power: float | None = None
    memory: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict, repr=False)

    def __post_init__(self):
        check_content(self)

    @property
    def vacuous(self) -> bool:
        """Whether it says nothing that was not known beforehand."""
        if self.measure == "probability":
            return self.bound <= 0
        if self.measure == "distribution":
            return not any(share > 0 for _, share in self.band or ())
        if self.moment is not None and self.power is not None:
            return self.bound >= self.moment ** (1 / self.power)
        return self.bound >= (1.0 if self.measure == "tail" else float("inf") if self.cap is None else self.cap)

    def sentence(self) -> str:
        """The certificate in plain words, rounded so that nothing reads better than what is certified.

        Bounds are rounded outward to four digits and the confidence is rounded down; thresholds, levels and caps are
        printed in full.

        >>> Certificate(functional="stopping_time", measure="mean", kind="betting", bound=111.93, empirical=105.0,
        ...             confidence=0.95, n=250, cap=500.0).sentence()  # doctest: +NORMALIZE_WHITESPACE
        'With 95% confidence, the algorithm needs at most 112 iterations on average on new problems drawn like these
        250.'
        """
        return sentence_of(self)

    def claim(self) -> str:
        """The sentence without its confidence, for lists in which that is stated once.

        >>> Certificate(functional="solved", measure="probability", kind="clopper-pearson", bound=0.98955,
        ...             empirical=0.995, confidence=0.95, n=1000).claim()
        'The algorithm solves at least 98.95% of new problems drawn like these 1000.'
        """
        return claim_of(self)

    __str__ = sentence

    def at(self, value: float) -> float:
        """The share of problems that are certified to have at most this value, for a distribution.

        >>> from loa.certificates import Distribution
        >>> round(Distribution("stopping_time", cap=None).certify([float(k) for k in range(100)], 0.95).at(89.0), 3)
        0.788
        """
        if self.band is None:
            raise ValueError(
                f"only the certificate of a distribution has a share for every value, not that of a {self.measure}."
            )
        value = any_number("value", value)
        return max((share for at_most, share in self.band if at_most <= value), default=0.0)

    def verify(self, values: Any, *, error_rate: float = 0.01) -> Verdict:
        """Test the certificate on fresh problems, drawn after it was issued.

        If the certificate is true, the verdict is "contradicted" with a probability of at most `error_rate`.

        Arguments:
            values: (problem,) or (problem, replicate); for the target "posterior" (problem, candidate).

        >>> from loa.certificates import certify
        >>> certificate = certify([100.0, 300.0] * 500, cap=500.0)
        >>> certificate.verify([150.0, 350.0] * 500).contradicted
        True
        """
        return verify(self, values, error_rate)

    def check(self, values: Any, *, prior_values: Any = None) -> None:
        """Recompute the bound from the values that the certificate was made from.

        A certificate that they do not give is refused with a `ValueError`: other values, another method, an edited
        number.

        Arguments:
            values: all of them, in their order; for the target "posterior" (problem, candidate).
            prior_values: those that improved the first bets, if there were any.

        >>> from loa.certificates import certify
        >>> values = [100.0, 300.0] * 500
        >>> certificate = certify(values, cap=500.0)
        >>> certificate.check(values)
        >>> dataclasses.replace(certificate, bound=200.0).check(values)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        ValueError: the certificate says 200.0, but its values give 204.6...
        """
        check(self, values, prior_values)

    def naming(self, about: Mapping[str, str]) -> Certificate:
        """The same certificate, which also says what it is about."""
        return dataclasses.replace(self, about={**self.about, **about})

    @property
    def checksum(self) -> str:
        """A digest of the content, by which an edited file is recognized."""
        return digest(self._content())

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, with the checksum; infinity is the string "Infinity"."""
        content = self._content()
        return {**content, CHECKSUM: digest(content)}

    def _content(self) -> dict[str, Any]:
        return {field.name: encoded(getattr(self, field.name)) for field in dataclasses.fields(self)}

    def to_json(self) -> str:
        """As JSON text that any reader accepts."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False, ensure_ascii=False) + "\n"

    def save(self, path: str | Path) -> None:
        """Write the JSON text to a file, whole or not at all."""
        text = self.to_json()
        write_whole(Path(path), lambda temporary: temporary.write_text(text, encoding="utf-8"))

    @classmethod
    def from_json(cls, text: str | bytes) -> Certificate:
        """The inverse of `to_json`, which refuses a text that was edited."""
        check_type("the text of a certificate", text, str | bytes, "JSON")
        try:
            content = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"this is not a certificate, because it is not JSON: {error}.") from error
        return cls.from_dict(content)

    @classmethod
    def from_dict(cls, content: Any) -> Certificate:
        """The inverse of `to_dict`, which refuses content that was edited or that no certificate can have.

        >>> content = Certificate(functional="x", measure="mean", kind="betting", bound=1.5, empirical=1.0,
        ...                       confidence=0.95, n=9).to_dict()
        >>> Certificate.from_dict({**content, "bound": 1.4})  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        ValueError: this certificate was edited after it was made: its content does not match its checksum.
        """
        fields = dataclasses.fields(cls)
        required = {field.name for field in fields if field.default is field.default_factory} | {CHECKSUM}
        if not isinstance(content, dict) or not required <= set(content) <= {field.name for field in fields} | required:
            raise ValueError(
                f"this is not a certificate: it must have {', '.join(sorted(required))}, and no unknown fields."
            )
        values = {name: value for name, value in content.items() if name != CHECKSUM}
        certificate = cls(**{name: _frozen(decoded(value)) for name, value in values.items()})
        if digest(values) != content[CHECKSUM]:  # of what is there: earlier versions had fewer fields
            raise ValueError("this certificate was edited after it was made: its content does not match its checksum.")
        return certificate

    @classmethod
    def load(cls, path: str | Path) -> Certificate:
        """Read a certificate that was saved."""
        try:
            return cls.from_json(as_path("path", path).read_bytes())
        except FileNotFoundError as error:
            raise FileNotFoundError(f"there is no certificate {path}.") from error


def _frozen(value: Any) -> Any:
    """With tuples in place of lists."""
    if isinstance(value, dict):
        return {name: _frozen(part) for name, part in value.items()}
    return tuple(_frozen(part) for part in value) if isinstance(value, list) else value
