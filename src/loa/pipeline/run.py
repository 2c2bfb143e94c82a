"""The stages of a run: learn, prior, posterior, certify, test, and write it all down."""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Key
from rich.console import Console

from ..algorithms.algorithm import Algorithm, Stack
from ..certificates import Budget, Certificate, Draw, reference_certificates, tight_band
from ..certificates.product import gibbs_posterior
from ..evaluation import evaluate
from ..experiments.experiment import Experiment, Lesson
from ..figures import draw_all
from ..learning import langevin_support
from ..report import write_report
from ..results import Results
from ..saving import load, save
from .certification import Terms, certified, declare
from .directory import RunDirectory
from .examination import examine
from .summary import summarize


@dataclass(frozen=True)
class Order:
    """What is to be run: an experiment, at a preset, with a seed, learned anew or from the shipped weights."""

    experiment: Experiment
    preset: str = "quick"
    seed: int = 0
    pretrained: bool = False
    command: str = ""

    def identity(self) -> dict[str, Any]:
        """What determines the result, to recognize the run when it goes on."""
        return {
            "experiment": self.experiment.name,
            "preset": self.preset,
            "seed": self.seed,
            "pretrained": self.pretrained,
            "sizes": dict(self.experiment.sizes),
            "candidates": self.experiment.prior.candidates,
        }


def carry_out(
    order: Order, directory: Path, console: Console, *, resume: bool = False, overwrite: bool = False
) -> Results:
    """Do what was ordered and leave figures, report, certificates and numbers in the directory.

    The problems of every role are drawn independently. Candidates, prior, λ and everything that is to be certified are
    fixed on the prior problems; then the posterior and held-out problems are looked at, each once.
    """
    place = RunDirectory(directory, console)
    place.open(order.identity(), resume=resume, overwrite=overwrite)
    run = _Run(order, place)
    results = run.results()
    origin = results.summary["provenance"]
    save(directory / "algorithm.eqx", run.deployed, origin)
    save(directory / "prior.eqx", run.support.weighted(run.terms.prior), origin | {"lam": dict(run.terms.lam)})
    draw_all(results, directory)
    write_report(results, directory)
    results.save(directory)
    place.close()
    return results


class _Run:
    """The stages, each of which asks for those before it."""

    def __init__(self, order: Order, place: RunDirectory):
        self.order, self.place = order, place
        self.experiment = order.experiment
        self.started = time.perf_counter()

    def key(self, purpose: int) -> Key[Array, ""]:
        return jax.random.fold_in(jax.random.fold_in(jax.random.key(self.order.seed), 0x2BAD), purpose)

    def lesson(self, checkpoint: Path | None = None) -> Lesson:
        progress = self.place.console.is_terminal
        return Lesson(self.experiment, self.order.seed, self.experiment.effort, checkpoint, progress=progress)

    def problems(self, role: str) -> Any:
        return self.experiment.draw(role, self.order.seed, optimal_losses=True)

    def measured(self, algorithm: Algorithm | Stack, role: str) -> dict[str, Any]:
        """Values by functional on the problems of a role, and whether these were solved."""
        performance = evaluate(
            algorithm,
            self.experiment.problem_class,
            self.problems(role),
            criterion=self.experiment.criterion,
            horizon=self.experiment.horizon,
            key=self.key(1),
            functionals=certified(self.experiment),
            progress=self.place.console.is_terminal,
        )
        return {**performance.values, "solved": performance.outcome == "solved"}

    @cached_property
    def learned(self) -> Algorithm:
        """The algorithm before its neighbours are looked at."""
        if self.order.pretrained:
            return load(self.experiment.name)
        checkpoint = self.place.stages / "learn.checkpoint"
        lesson = self.lesson(checkpoint)
        return self.place.algorithm("learn", lambda: self.experiment.learned["loa"](lesson))

    @cached_property
    def tuned(self) -> dict[str, Algorithm]:
        """Baselines with their best parameters."""
        return {
            name: self.place.algorithm(f"tuning of {name}", lambda tune=tune: tune(self.lesson()))
            for name, tune in self.experiment.tuned.items()
        }

    @cached_property
    def support(self) -> Stack:
        """Candidates around the learned algorithm. Their values on the prior problems are kept as well."""
        return self._prior()[0]

    @cached_property
    def prior_values(self) -> dict[str, np.ndarray]:
        return self._prior()[1]

    def _prior(self) -> tuple[Stack, dict[str, np.ndarray]]:
        recipe, experiment, learned = self.experiment.prior, self.experiment, self.learned
        found: dict[str, Any] = {}

        def sample() -> Stack:
            support, performance = langevin_support(
                learned,
                experiment.problem_class,
                self.problems("prior"),
                criterion=experiment.criterion,
                horizon=experiment.horizon,
                key=self.key(2),
                size=recipe.candidates,
                chains=recipe.chains,
                thinning=recipe.thinning,
                step_size=recipe.step_size,
                batch=recipe.batch,
                at_least=recipe.at_least,
                free=recipe.free,
                functionals=certified(experiment),
            )
            found.update(performance.values)
            return support

        support = self.place.algorithm("prior", sample)
        values = self.place.arrays("prior-values", lambda: found or self.measured(support, "prior"))
        return support, values

    @cached_property
    def terms(self) -> Terms:
        """What will be certified: fixed here, on the prior problems alone."""
        return declare(self.experiment, self.prior_values)

    @cached_property
    def posterior_values(self) -> dict[str, np.ndarray]:
        """All candidates on all posterior problems, (problem, candidate)."""
        values = self.place.arrays("posterior", lambda: self.measured(self.support, "posterior"))
        return {name: value.mean(axis=-1).T for name, value in values.items()}

    @cached_property
    def posterior(self) -> np.ndarray:
        times = self.posterior_values["stopping_time"]
        terms = self.terms
        return gibbs_posterior(times, terms.prior, terms.lam["stopping_time"], terms.caps["stopping_time"])

    @cached_property
    def deployed(self) -> Algorithm:
        """The mode of the posterior."""
        return self.support[int(np.argmax(self.posterior))]

    @cached_property
    def held_out_values(self) -> dict[str, np.ndarray]:
        return self.place.arrays("certify", lambda: self.measured(self.deployed, "held-out"))

    def certificates(self) -> tuple[dict[str, Certificate], tuple[Certificate, ...], Any]:
        """Those that hold together, the references, and the certified band of the stopping time."""
        terms = self.terms
        held_out = Draw.of(self.problems("held-out"), "held-out")
        posterior = Draw.of(self.problems("posterior"), "posterior")
        plan = dataclasses.replace(terms.plan, draws=(Draw.of(self.problems("prior"), "prior"), posterior))
        budget: Budget = plan.budget()
        of_posterior = plan.certify_posterior(
            self.posterior_values, self.posterior, terms.prior, posterior, budget=budget
        )
        of_deployed = plan.certify(self.held_out_values, held_out, budget=budget)
        names = [*plan.posterior_goals, *plan.goals]
        together = dict(zip(names, [*of_posterior, *of_deployed], strict=True))
        references: tuple[Certificate, ...] = ()
        for functional in ("stopping_time", "contraction_factor"):
            references += reference_certificates(
                self.posterior_values[functional], self.posterior, terms.prior, cap=terms.caps[functional],
                confidence=plan.confidence, functional=functional,
            )  # fmt: skip
        band = tight_band(self.held_out_values["stopping_time"][:, 0], 1 - plan.confidence)
        return together, references, band

    def results(self) -> Results:
        together, references, band = self.certificates()
        algorithms = {"learned": self.deployed, **self.experiment.baselines, **self.tuned}
        examined = examine(self.experiment, algorithms, self.order.seed, self.place)
        return summarize(
            self.order, self.deployed, self.terms, together, references, band, examined, self.place.seconds
        )
