"""A finished run with made-up values, from which the real builder makes the results that figures and report show."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import xarray
from classes import Bowls

import loa
from loa.certificates import (
    Certificate,
    Distribution,
    Mean,
    PosteriorMean,
    Probability,
    Quantile,
    reference_certificates,
)
from loa.experiments.experiment import Experiment, Presentation, Recipe, Task
from loa.results.choice import NONE
from loa.results.run_results import Results
from loa.run import Order
from loa.run.examination import Examined
from loa.run.summary import Certified, summarize

SPEEDS = {"learned": 60.0, "FISTA with restart": 220.0, "FISTA": 560.0, "a third method": 400.0}
"""Typical stopping times."""
HORIZON, SHOWN = 600, 120
TIME = np.arange(0, 601, 3)


class Energy(loa.Functional):
    """What a user might define: the length of the path, called energy, in joules."""

    cap: float = eqx.field(static=True, default=float("inf"))
    name: str = eqx.field(static=True, default="energy")

    @property
    def title(self):
        return "Energy spent"

    @property
    def unit(self):
        return "J"

    def init(self, record):
        return jnp.zeros(()), record.iterate

    def update(self, carry, record):
        return carry[0] + jnp.linalg.norm(record.iterate - carry[1]), record.iterate

    def result(self, carry, end):
        return jnp.minimum(jnp.where(end.diverged, jnp.inf, carry[0]), self.cap)


def experiment(functionals: tuple[loa.Functional, ...]) -> Experiment:
    sizes = {"prior": 250, "posterior": 300, "validation": 250, "held-out": 500, "test": 120}
    published = {
        "stopping_time": {"mean": 199, "median": 134, "bound": 295},
        "contraction_factor": {"mean": 0.789, "bound": 0.927},
    }
    notes = ("The matrix A was drawn once and belongs to the class: certificates are about problems with it.",)
    return Experiment(
        Task("lasso", Bowls(), loa.prox_residual_below(1e-6), HORIZON, functionals, {"FISTA": loa.FISTA()}),
        Recipe({}, sizes),
        Presentation("sparse recovery with an l1 penalty", shown=SHOWN, published=published, notes=notes),
    )


@dataclasses.dataclass(frozen=True)
class Run:
    """What a run has measured and certified, before it is summarized.

    Fields:
        values: by algorithm, the learned one first; arrays (problem, replicate), the gap and the milliseconds.
    """

    functionals: tuple[loa.Functional, ...]
    values: Mapping[str, Mapping[str, Any]]
    certificates: Mapping[str, Certificate]
    references: tuple[Certificate, ...]
    features: Mapping[str, np.ndarray]
    more_tests: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)

    def results(self) -> Results:
        order = Order(experiment(self.functionals), preset="quick", seed=0, command="loa run lasso")
        certified = Certified(self.certificates, self.references, 3)
        examined = Examined(self.values, TIME, self.features, self.more_tests, None, {"FISTA": "FISTA"})
        seconds = {"learn": 40.0, "prior": 10.0, "posterior": 12.0, "certify": 5.0, "test of learned": 20.0}
        return summarize(order, loa.GradientDescent(0.1), certified, examined, seconds, NONE)

    def changed(self, **variables: Any) -> "Run":
        """The same with other values, (algorithm, problem, replicate) or what broadcasts to it."""
        values = {}
        for place, (name, each) in enumerate(self.values.items()):
            values[name] = dict(each)
            for variable, new in variables.items():
                shape = (len(self.values), *np.shape(each[variable]))
                values[name][variable] = np.broadcast_to(new, shape)[place]
        return dataclasses.replace(self, values=values)

    def stacked(self, variable: str) -> np.ndarray:
        """A copy of all values, (algorithm, problem, replicate)."""
        return np.stack([each[variable] for each in self.values.values()])

    def renamed(self, names: list[str], places: list[int] | None = None) -> "Run":
        """The same with other names; with `places`, of algorithms in another order, or repeated."""
        columns = list(self.values.values())
        chosen = range(len(columns)) if places is None else places
        values = {name: columns[place] for name, place in zip(names, chosen, strict=True)}
        return dataclasses.replace(self, values=values)

    def certified(self, **changes: Certificate) -> "Run":
        """The same with other certificates; an underscore in a name is a space."""
        new = {name.replace("_", " "): each for name, each in changes.items()}
        return dataclasses.replace(self, certificates={**self.certificates, **new})


def made_up(num_problems: int = 120, seed: int = 0, functionals: tuple[loa.Functional, ...] = ()) -> Run:
    """Four algorithms on some problems; the learned one is the fastest. Further functionals grow with the time."""
    generator = np.random.default_rng(seed)
    values = {name: _column(generator, speed, num_problems) for name, speed in SPEEDS.items()}
    for functional in functionals:
        for each in values.values():
            each[functional.name] = 0.37 * each["stopping_time"]
    features = {"regularization": generator.uniform(5, 10, num_problems)}
    held_out = _values(generator, SPEEDS["learned"], 500)
    table = np.stack([_values(generator, speed, 300)["stopping_time"] for speed in (60.0, 62.0, 65.0)], axis=1)
    prior, posterior = np.full(3, 1 / 3), np.array([0.6, 0.3, 0.1])
    certificates = {
        "stopping time": Mean("stopping_time", 600.0).certify(held_out["stopping_time"], 0.99),
        "contraction factor": Mean("contraction_factor", 1.0).certify(held_out["contraction_factor"], 0.99),
        "success": Probability("solved").certify(held_out["stopping_time"] < 600, 0.99),
        "95% quantile": Quantile("stopping_time", 0.95, cap=600.0).certify(held_out["stopping_time"], 0.99),
        "distribution": Distribution("stopping_time", cap=600.0).certify(held_out["stopping_time"], 0.995),
        "posterior stopping time": PosteriorMean("stopping_time", 600.0, lam=0.3).certify(
            table, posterior, prior, 0.995
        ),
    }
    for functional in functionals:
        if np.isfinite(functional.largest(HORIZON)):
            goal = Mean(functional.name, functional.largest(HORIZON), functional.unit)
            certificates[functional.name] = goal.certify(0.37 * held_out["stopping_time"], 0.99)
    references = reference_certificates(table, posterior, prior, cap=600.0, functional="stopping_time")
    rates = np.minimum(0.8 + 0.1 * table / 600.0, 1.0)
    references += reference_certificates(rates, posterior, prior, cap=1.0, functional="contraction_factor")
    measured = (loa.StoppingTime(), loa.ContractionFactor(cap=1.0), loa.OracleCalls(), *functionals)
    return Run(measured, values, certificates, references, features)


def example(num_problems: int = 120, seed: int = 0) -> Results:
    """Results of the run with made-up values."""
    return made_up(num_problems, seed).results()


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


def _column(generator, speed, count):
    values = {name: each[:, None] for name, each in _values(generator, speed, count).items()}
    median = 1e4 * np.exp(-20.0 * TIME / speed)
    return {
        **values,
        "outcome": np.where(values["stopping_time"] < 600, "solved", "exhausted"),
        "gap": np.stack([1.5 * median, median, 0.2 * median, 5 * median], axis=-1),
        "milliseconds": np.array(0.5),
    }
