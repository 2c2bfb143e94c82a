"""What a run leaves in its directory: numbers, certificates and data from which figures and report are made."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..certificates.certificate import Certificate
from ..storage.files import write_json, write_whole

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

    summary: dict[str, Any]
    certificates: Mapping[str, Certificate]
    references: tuple[Certificate, ...]
    performance: xarray.Dataset
    pictures: xarray.Dataset | None = field(default=None)

    def save(self, directory: Path) -> None:
        """Write all of it; the summary comes last, so that a directory with a summary is complete."""
        certificates = {
            "confidence": self.summary["confidence"],
            "together": {name: certificate.to_dict() for name, certificate in self.certificates.items()},
            "alone": [certificate.to_dict() for certificate in self.references],
        }
        write_json(directory / CERTIFICATES, certificates)
        _write_data(directory / PERFORMANCE, self.performance)
        if self.pictures is not None:
            _write_data(directory / PICTURES, self.pictures)
        write_json(directory / SUMMARY, self.summary)

    @classmethod
    def load(cls, directory: Path) -> Results:
        """Read what `save` wrote."""
        if not (directory / SUMMARY).is_file():
            raise FileNotFoundError(f"{directory} does not hold a finished run: there is no {SUMMARY} in it.")
        try:
            summary = json.loads((directory / SUMMARY).read_text())
            certificates = json.loads((directory / CERTIFICATES).read_text())
            performance = _read_data(directory / PERFORMANCE)
            pictures = _read_data(directory / PICTURES) if (directory / PICTURES).is_file() else None
        except (OSError, ValueError, TypeError) as error:
            raise ValueError(f"the run in {directory} cannot be read: {error}") from error
        together = {name: Certificate.from_dict(each) for name, each in certificates["together"].items()}
        alone = tuple(Certificate.from_dict(each) for each in certificates["alone"])
        return cls(summary, together, alone, performance, pictures)


def _write_data(path: Path, data: xarray.Dataset) -> None:
    write_whole(path, lambda temporary: data.to_netcdf(temporary, engine="scipy"))


def _read_data(path: Path) -> xarray.Dataset:
    import xarray

    with xarray.open_dataset(path, engine="scipy") as data:
        return data.load()
