"""What a run leaves in its directory: numbers, certificates and data from which figures and report are made."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..certificates.certificate import Certificate
from ..messages.extras import require
from ..storage.files import write_json, write_whole
from .certificate_summary import COPIED, CertificateSummary
from .summary import RunSummary

if TYPE_CHECKING:
    import xarray

SUMMARY, CERTIFICATES, PERFORMANCE, PICTURES = "summary.json", "certificates.json", "performance.nc", "pictures.nc"


@dataclass(frozen=True)
class Results:
    """Everything that figures and report are drawn from.

    Fields:
        summary: the numbers, as in `summary.json`.
        certificates: those that hold together, by name.
        references: the paper's and the classical bounds on the same data; each has the confidence to itself.
        performance: values on the test problems by (algorithm, problem, replicate), the evolution of the gap by
            (algorithm, time, statistic), and the certified band of the stopping time.
        pictures: examples to look at, for problems that can be seen: restored images, fitted curves.
    """

    summary: RunSummary
    certificates: Mapping[str, Certificate]
    references: tuple[Certificate, ...]
    performance: xarray.Dataset
    pictures: xarray.Dataset | None = None

    def certificate(self, entry: CertificateSummary) -> Certificate:
        """The certificate that an entry of the summary is about."""
        return self.certificates[entry.name] if entry.together else self.references[int(entry.name)]

    def save(self, directory: Path) -> None:
        """Write all of it; the summary comes last, so that a directory with a summary is complete."""
        certificates = {
            "confidence": self.summary.confidence,
            "together": {name: certificate.to_dict() for name, certificate in self.certificates.items()},
            "alone": [certificate.to_dict() for certificate in self.references],
        }
        write_json(directory / CERTIFICATES, certificates)
        write_data(directory / PERFORMANCE, self.performance)
        if self.pictures is not None:
            write_data(directory / PICTURES, self.pictures)
        write_json(directory / SUMMARY, self.summary.to_json())

    @classmethod
    def load(cls, directory: Path) -> Results:
        """Read what `save` wrote; files that are damaged, or of another version of loa, get one sentence."""
        if not (directory / SUMMARY).is_file():
            raise FileNotFoundError(f"{directory} does not hold a finished run: there is no {SUMMARY} in it.")
        summary = _read(directory, SUMMARY, lambda path: RunSummary.from_json(_read_json(path)))
        together, alone = _read(directory, CERTIFICATES, lambda path: _read_certificates(path, summary.confidence))
        performance = _read(directory, PERFORMANCE, read_data)
        pictures = _read(directory, PICTURES, read_data) if (directory / PICTURES).is_file() else None
        results = cls(summary, together, alone, performance, pictures)
        results._check(directory)
        return results

    def _check(self, directory: Path) -> None:
        """Refuse files that do not belong together."""
        expected = {"outcome", *(each.name for each in self.summary.functionals)}
        expected |= set() if self.summary.clocked else {"gap"}
        names = [name for name in expected if name not in self.performance]
        for entry in self.summary.certificates:
            known = self.certificates if entry.together else map(str, range(len(self.references)))
            names += [] if entry.name in known else [f"certificate {entry.name!r}"]
        if list(self.summary.algorithms) != [str(name) for name in self.performance["algorithm"].values]:
            names += ["all of the algorithms"]
        names += [
            f"the {field} of certificate {entry.name!r}"
            for entry in self.summary.certificates
            if not names
            for field in COPIED
            if getattr(entry, field) != getattr(self.certificate(entry), field)
        ]
        if names:
            raise ValueError(
                f"the files of the run in {directory} do not belong together: {SUMMARY} speaks of {names[0]}, which "
                "the others do not have; run it again."
            )


def _read(directory: Path, name: str, read: Callable[[Path], Any]) -> Any:
    """The content of a file of a run, or one sentence on what is wrong with it."""
    try:
        return read(directory / name)
    except FileNotFoundError as error:
        raise ValueError(f"the run in {directory} is not complete: there is no {name} in it; run it again.") from error
    except Exception as error:  # the readers raise all kinds of errors on files that are damaged
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ValueError(f"{directory / name} is damaged, or not from a run of this version: {reason[:250]}") from error


def _read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _read_certificates(path: Path, confidence: float) -> tuple[dict[str, Certificate], tuple[Certificate, ...]]:
    content = _read_json(path)
    if content["confidence"] is True or content["confidence"] != confidence:
        raise ValueError(f"its confidence is not that of {SUMMARY}, {confidence}.")
    together = {name: Certificate.from_dict(each) for name, each in content["together"].items()}
    return together, tuple(Certificate.from_dict(each) for each in content["alone"])


def read_data(path: Path) -> xarray.Dataset:
    """A data set from a file; nothing of it stays open."""
    require("xarray")
    import xarray

    with xarray.open_dataset(io.BytesIO(path.read_bytes()), engine="scipy") as data:
        return data.load()


def write_data(path: Path, data: xarray.Dataset) -> None:
    """Write a data set to a file, as a whole or not at all."""
    write_whole(path, lambda temporary: data.to_netcdf(temporary, engine="scipy"))
