"""A finished run with made-up numbers: what figures and report are tested on."""

import dataclasses

import numpy as np
import xarray

from loa.certificates import Mean, PosteriorMean, Probability, Quantile, reference_certificates, tight_band
from loa.results.run_results import Results
from loa.statistics import measures

FUNCTIONALS = {"stopping_time": 600.0, "contraction_factor": 1.0, "oracle_calls": 1200.0}
SPEEDS = {"learned": 60.0, "FISTA with restart": 220.0, "FISTA": 560.0, "a third method": 400.0}
"""Typical stopping times."""


def example(num_problems: int = 120, seed: int = 0) -> Results:
    """Four algorithms on some problems; the learned one is the fastest."""
    generator = np.random.default_rng(seed)
    performance = _performance(generator, num_problems)
    held_out = _values(generator, SPEEDS["learned"], 500)
    table = np.stack([_values(generator, speed, 300)["stopping_time"] for speed in (60.0, 62.0, 65.0)], axis=1)
    prior, posterior = np.full(3, 1 / 3), np.array([0.6, 0.3, 0.1])
    certificates = {
        "stopping time": Mean("stopping_time", 600.0).certify(held_out["stopping_time"], 0.99),
        "contraction factor": Mean("contraction_factor", 1.0).certify(held_out["contraction_factor"], 0.99),
        "success": Probability("solved").certify(held_out["stopping_time"] < 600, 0.99),
        "95 % quantile": Quantile("stopping_time", 0.95, cap=600.0).certify(held_out["stopping_time"], 0.99),
        "posterior stopping time": PosteriorMean("stopping_time", 600.0, lam=0.3).certify(
            table, posterior, prior, 0.99
        ),
    }
    references = reference_certificates(table, posterior, prior, cap=600.0, functional="stopping_time")
    rates = np.minimum(0.8 + 0.1 * table / 600.0, 1.0)
    references += reference_certificates(rates, posterior, prior, cap=1.0, functional="contraction_factor")
    band = tight_band(held_out["stopping_time"], 0.01)
    performance = performance.assign(band_value=("band", band.values), band_share=("band", band.shares))
    return Results(_summary(performance, certificates, references), certificates, references, performance)


def with_images(results: Results) -> Results:
    """The same with pictures of restored images."""
    generator = np.random.default_rng(1)
    versions = ["observed", "learned, 30 steps", "L-BFGS, 30 steps", "solution"]
    images = generator.uniform(size=(3, len(versions), 40, 30)).cumsum(axis=-1) / 30
    pictures = xarray.Dataset(
        {"image": (("example", "version", "row", "column"), images)}, {"version": versions}, {"kind": "images"}
    )
    return dataclasses.replace(results, pictures=pictures)


def with_regressions(results: Results) -> Results:
    """The same with pictures of fitted curves."""
    generator = np.random.default_rng(2)
    versions = ["start", "learned, 40 steps", "Adam, 40 steps"]
    grid = np.linspace(-2, 2, 101)
    inputs = generator.uniform(-2, 2, size=(3, 50))
    coefficients = generator.uniform(-5, 5, size=(3, 4))
    true = np.stack([np.polyval(c, grid) for c in coefficients])
    targets = np.stack([np.polyval(c, x) for c, x in zip(coefficients, inputs, strict=True)])
    curves = np.stack([0.1 * true, true + 0.3, 0.7 * true], axis=1)
    pictures = xarray.Dataset(
        {
            "inputs": (("example", "point"), inputs),
            "targets": (("example", "point"), targets + generator.normal(size=targets.shape)),
            "curve": (("example", "version", "grid"), curves),
        },
        {"version": versions, "grid": grid},
        {"kind": "regressions"},
    )
    return dataclasses.replace(results, pictures=pictures)


def _values(generator, speed, count):
    times = np.minimum(np.round(generator.gamma(6.0, speed / 6.0, count)) + 1, 600.0)
    rates = np.minimum(np.exp(-20.0 / times), 1.0)
    return {"stopping_time": times, "contraction_factor": rates, "oracle_calls": 2.0 * times}


def _performance(generator, num_problems):
    columns = [_values(generator, speed, num_problems) for speed in SPEEDS.values()]
    dims = ("algorithm", "problem", "replicate")
    data = {name: (dims, np.stack([column[name] for column in columns])[..., None]) for name in FUNCTIONALS}
    outcome = np.where(data["stopping_time"][1] < 600, "solved", "exhausted")
    time = np.arange(0, 601, 3)
    median = np.stack([1e4 * np.exp(-20.0 * time / speed) for speed in SPEEDS.values()])
    gap = np.stack([1.5 * median, median, 0.2 * median, 5 * median], axis=-1)
    return xarray.Dataset(
        {
            **data,
            "outcome": (dims, outcome),
            "gap": (("algorithm", "time", "statistic"), gap),
            "features": (("problem", "feature"), generator.uniform(5, 10, (num_problems, 1))),
        },
        {
            "algorithm": list(SPEEDS),
            "time": time,
            "statistic": ["mean", "median", "low", "high"],
            "feature": ["regularization"],
        },
        {"horizon": 600, "gap_problems": 120},
    )


def _summary(performance, certificates, references):
    described = {name: _described(performance.sel(algorithm=name)) for name in SPEEDS}
    return {
        "experiment": "lasso",
        "title": "sparse recovery with an l1 penalty",
        "preset": "quick",
        "pretrained": False,
        "seed": 0,
        "t_max": 600,
        "criterion": "prox_residual < 1e-06",
        "dimension": 70,
        "algorithm": "LearnedProximalNewton",
        "sizes": {"prior": 250, "posterior": 300, "validation": 250, "held-out": 500, "test": 120},
        "confidence": 0.95,
        "learned": described["learned"],
        "baselines": {name: each for name, each in described.items() if name != "learned"},
        "certificates": [
            *(_certificate(each, performance, True) for each in certificates.values()),
            *(_certificate(each, performance, False) for each in references),
        ],
        "published": {
            "stopping_time": {"mean": 199, "median": 134, "bound": 295},
            "contraction_factor": {"mean": 0.789, "bound": 0.927},
        },
        "candidates": 3,
        "more_tests": {},
        "notes": ["The matrix A was drawn once and belongs to the class: certificates are about problems with it."],
        "seconds": {"train": 40.0, "prior": 10.0, "posterior": 12.0, "certify": 5.0, "evaluate": 20.0, "total": 95.0},
        "provenance": {
            "created": "2026-11-16T09:00:00+00:00",
            "command": "loa run lasso",
            "commit": "0f1a227",
            "versions": {"loa": "0.1.0", "jax": "0.10.2"},
            "machine": {"processor": "x86_64", "cores": 2, "python": "3.11.7"},
        },
    }  # fmt: skip


def _described(data):
    numbers = {}
    for name in FUNCTIONALS:
        found = measures.summary(data[name].values)._asdict()
        numbers[name] = {key: float(number) for key, number in found.items()}
        numbers[name]["intervals"] = {key: [number.low, number.high] for key, number in found.items()}
    solved = measures.probability(data["outcome"].values == "solved")
    return {**numbers, "solved": float(solved), "solved_interval": [solved.low, solved.high], "milliseconds": 0.5}


def _certificate(certificate, performance, together):
    learned = performance.sel(algorithm="learned")
    test = float(learned[certificate.functional].mean()) if certificate.measure == "mean" else None
    wanted = ("functional", "kind", "target", "measure", "bound", "empirical", "confidence", "n", "cap")
    entry = {name: getattr(certificate, name) for name in wanted}
    return entry | {
        "test": test, "together": together, "vacuous": bool(certificate.vacuous), "sentence": certificate.sentence()
    }  # fmt: skip
