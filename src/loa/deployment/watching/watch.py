"""A watch over a solver at work: are new problems still like the certified ones, and do the certificates hold?"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...certificates.bounds.inputs import check_fraction
from ...certificates.certificate import Certificate
from ...messages.arguments import array_of_numbers, as_path, check_type, shown
from ...problems.problem_class import whole_number
from ...storage.files import write_whole
from .claims import Claim, check_certificates
from .evidence import Evidence
from .ranks import Ranks

FORMAT = 1
MOST_SHOWN = 2000
"""How many observations are remembered for the page; of longer streams, every second, fourth, … one."""


@dataclasses.dataclass(frozen=True)
class Alarm:
    """A quantity no longer looks like the calibration sample.

    Fields:
        quantity: the one that gave it away.
        time: the number of the observation, from 1 on.
        evidence: the wealth of the gambler at that time.
    """

    quantity: str
    time: int
    evidence: float

    def __str__(self) -> str:
        return (
            f"After {self.time} observations, {self.quantity} no longer looks like the calibration sample: "
            f"the evidence is {self.evidence:.3g}."
        )


class Watch:
    r"""Watches a stream of problems, and raises an alarm when they are not like those that were certified.

    For each quantity (steps, losses, gaps, features of a problem), a gambler bets on the ranks of new numbers among
    the calibration sample and all earlier numbers, as the module `evidence` states. There is an alarm when the
    wealth of one of the K gamblers reaches K/α. If new problems are exchangeable with those of the calibration sample,
    there is *ever* an alarm with a probability of at most α, for streams of any length. Numbers that are NaN count as
    larger than any other.

    The certificates are tested on the same stream: `verdicts` says of each of them whether it "holds", is
    "contradicted" or "not decided". Each of these answers is ever wrong with a probability of at most α over all
    certificates, if new problems are independent and like the certified ones.

    Arguments:
        calibration: for each quantity, its values on problems that are like the certified ones and that neither
            learning nor a choice has used, such as the held-out ones; one per problem, at least 1.
        certificates: certificates of a mean, probability, tail or quantile to test; each needs the values of its
            functional, under its name, in every observation.
        false_alarms: α, in (0, 1).
        seed: of the random numbers that break ties.

    >>> rng = np.random.default_rng(0)
    >>> watch = Watch({"steps": rng.poisson(20, 500), "noise": rng.normal(size=500)})
    >>> for _ in range(1000):
    ...     alarm = watch.see(steps=rng.poisson(20), noise=rng.normal())
    >>> watch.alarms
    ()
    >>> while not watch.alarms:
    ...     alarm = watch.see(steps=rng.poisson(20), noise=3 * rng.normal())
    >>> alarm.quantity, alarm.time < 1100
    ('noise', True)
    """

    def __init__(
        self,
        calibration: Mapping[str, Any],
        *,
        certificates: Iterable[Certificate] = (),
        false_alarms: float = 0.01,
        seed: int = 0,
    ):
        check_type("calibration", calibration, Mapping, "a dictionary such as {'steps': performance['stopping_time']}")
        if not calibration:
            raise ValueError("calibration must name at least one quantity, such as {'steps': [12, 15, 11]}.")
        check_fraction("false_alarms", false_alarms)
        self.false_alarms, self.time, self.alarms = float(false_alarms), 0, ()
        self._evidence = {name: Evidence(Ranks(_calibrated(name, values))) for name, values in calibration.items()}
        certificates = check_certificates(certificates)
        delta = self.false_alarms / max(len(certificates), 1)
        self._claims = [Claim(each, delta) for each in certificates]
        self._random = np.random.default_rng(whole_number("seed", seed, least=0))
        self._shown: dict[str, list[float]] = {name: [] for name in ("time", *self._columns())}
        self._stride, self._rich = 1, math.log(self.threshold)
        self._wanted = tuple(dict.fromkeys([*self._evidence, *(each.functional for each in certificates)]))

    def _columns(self) -> list[str]:
        return [f"{kind} {name}" for name in self._evidence for kind in ("value", "evidence")]

    @property
    def quantities(self) -> tuple[str, ...]:
        """The names of the quantities that are watched."""
        return tuple(self._evidence)

    @property
    def threshold(self) -> float:
        """The evidence at which there is an alarm: K/α."""
        return len(self._evidence) / self.false_alarms

    @property
    def evidence(self) -> dict[str, float]:
        """The wealth of each gambler now; it begins at 1, and large numbers speak against what is assumed."""
        return {name: math.exp(min(each.log_wealth, 700.0)) for name, each in self._evidence.items()}

    @property
    def verdicts(self) -> dict[str, str]:
        """What is known of each certificate, by its claim: "holds", "contradicted" or "not decided"."""
        return {each.certificate.claim(): each.verdict for each in self._claims}

    def see(self, **observation: Any) -> Alarm | None:
        """Take in one more solved problem.

        Arguments:
            observation: a number for each quantity, and for the functional of each certificate. Others are ignored.

        Returns:
            An alarm if this observation raised one (for each quantity there is at most one), None otherwise.
        """
        numbers = {name: _number(name, observation) for name in self._wanted}
        for claim in self._claims:
            claim.check(numbers[claim.certificate.functional])
        self.time += 1
        raised = []
        for name, evidence in self._evidence.items():
            value = numbers[name]
            evidence.add(math.inf if math.isnan(value) else value, self._random.random())
            if evidence.log_wealth >= self._rich and name not in {each.quantity for each in self.alarms}:
                raised.append(Alarm(name, self.time, math.exp(min(evidence.log_wealth, 700.0))))
        for claim in self._claims:
            claim.add(numbers[claim.certificate.functional])
        self.alarms += tuple(raised)
        if self.time % self._stride == 0:
            self._remember(numbers)
        return max(raised, key=lambda alarm: alarm.evidence, default=None)

    def _remember(self, numbers: Mapping[str, float]) -> None:
        self._shown["time"].append(float(self.time))
        for name, evidence in self._evidence.items():
            self._shown[f"value {name}"].append(numbers[name])
            self._shown[f"evidence {name}"].append(evidence.log_wealth / math.log(10))
        if len(self._shown["time"]) > MOST_SHOWN:
            self._shown, self._stride = {name: each[1::2] for name, each in self._shown.items()}, 2 * self._stride

    @property
    def history(self) -> dict[str, np.ndarray]:
        """What is remembered of the stream for a page.

        Returns:
            "time"; and for each quantity "value …", and "evidence …", the decimal logarithm of the wealth.
        """
        return {name: np.array(each, float) for name, each in self._shown.items()}

    def save(self, path: Path | str) -> None:
        """Write the whole state to a file (npz), or nothing; `Watch.load` continues from it as if nothing happened."""
        about = {
            "loa-watch": FORMAT,
            "false_alarms": self.false_alarms,
            "time": self.time,
            "stride": self._stride,
            "random": self._random.bit_generator.state,
            "alarms": [dataclasses.asdict(each) for each in self.alarms],
            "quantities": {name: [each.log_wealth, each.seen] for name, each in self._evidence.items()},
            "claims": [[each.certificate.to_dict(), each.count, each.contradicted] for each in self._claims],
        }
        arrays: dict[str, np.ndarray] = {"about": np.array(json.dumps(about)), "sums": self._sums()}
        for number, each in enumerate(self._evidence.values()):
            arrays[f"values-{number}"], arrays[f"counts-{number}"] = each.ranks.different()
            arrays[f"weights-{number}"] = each.weights
        arrays |= {f"shown-{number}": np.array(each) for number, each in enumerate(self._shown.values())}
        path = as_path("path", path)

        def write(temporary: Path) -> None:
            with temporary.open("wb") as file:
                np.savez(file, **arrays)  # pyright: ignore[reportArgumentType]

        write_whole(path, write)

    def _sums(self) -> np.ndarray:
        return np.array([each.sums for each in self._claims])

    @classmethod
    def load(cls, path: Path | str) -> Watch:
        """The watch that was saved, which continues as if it had never stopped."""
        try:
            with np.load(as_path("path", path), allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            about = json.loads(str(arrays["about"]))
            if about["loa-watch"] != FORMAT:
                raise ValueError(f"its format is {shown(about['loa-watch'])}, and this version of loa reads {FORMAT}")
            return cls._restored(about, arrays)
        except FileNotFoundError as error:
            raise FileNotFoundError(f"there is no file {path}.") from error
        except Exception as error:  # of zipfile, tokenize, zlib or json: whatever a damaged file leads to
            raise ValueError(f"{path} is not a watch saved by loa, or is damaged ({error}).") from error

    @classmethod
    def _restored(cls, about: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Watch:
        certificates = [Certificate.from_dict(each) for each, _, _ in about["claims"]]
        quantities = about["quantities"]
        watch = cls(dict.fromkeys(quantities, (0.0,)), certificates=certificates, false_alarms=about["false_alarms"])
        watch.time, watch._stride = int(about["time"]), int(about["stride"])
        watch.alarms = tuple(Alarm(**each) for each in about["alarms"])
        watch._random.bit_generator.state = about["random"]
        for number, (name, (log_wealth, seen)) in enumerate(quantities.items()):
            ranks = Ranks(arrays[f"values-{number}"], arrays[f"counts-{number}"].tolist())
            watch._evidence[name] = Evidence(ranks, arrays[f"weights-{number}"], float(log_wealth), int(seen))
        for claim, (_, count, contradicted), sums in zip(watch._claims, about["claims"], arrays["sums"], strict=True):
            claim.count, claim.contradicted, claim.sums = int(count), bool(contradicted), sums
        watch._shown = {name: arrays[f"shown-{number}"].tolist() for number, name in enumerate(watch._shown)}
        return watch

    def __repr__(self) -> str:
        alarms = f"; alarms: {', '.join(each.quantity for each in self.alarms)}" if self.alarms else "; no alarm"
        return f"Watch({', '.join(self.quantities)}; {self.time} observations{alarms})"


def _calibrated(name: str, values: Any) -> np.ndarray:
    """The values of a quantity on the calibration problems, one per problem, as numbers that can be ordered."""
    check_type("the name of a quantity", name, str, "a text such as 'steps'")
    numbers = np.asarray(array_of_numbers(f"the calibration values of {name}", values), float)
    if numbers.ndim == 2 and numbers.shape[1] == 1:
        numbers = numbers[:, 0]
    if numbers.ndim != 1 or numbers.size == 0:
        raise ValueError(
            f"the calibration values of {name} must be a list of numbers, one per problem, got shape {numbers.shape}."
        )
    return np.where(np.isnan(numbers), np.inf, numbers)


def _number(name: str, observation: Mapping[str, Any]) -> float:
    """One number of an observation, of Python, NumPy or JAX."""
    value: Any = observation.get(name)
    if type(value) in (float, int, bool):
        return float(value)
    try:
        return float(np.asarray([] if value is None else value, float).reshape(()))
    except (TypeError, ValueError):
        others = [each for each in observation if each != name]
        found = shown(value) if value is not None else f"only {', '.join(others)}" if others else "nothing"
        raise ValueError(f"each observation must have one number for {name}, such as {name}=12, got {found}.") from None
