"""The stages of a run: learn, prior, posterior, certify, test, and write it all down."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Key
from rich.console import Console

from ..algorithms.algorithm import Algorithm, Stack
from ..certificates import Budget, Certificate, Draw, Plan
from ..certificates.product import gibbs_posterior
from ..experiments.experiment import ROLES, Experiment, Learn, Lesson
from ..presentation.figures import draw_all
from ..presentation.report import write_report
from ..results.run_results import Results
from ..storage.saved_algorithms import load, save
from ..trajectory.evaluation import evaluate
from .certification import caps_of, certified, plan_for
from .directory import RunDirectory
from .examination import examine
from .prior import WeightedPrior, sample_prior, shipped_prior
from .summary import Certified, summarize


@dataclass(frozen=True)
class Order:
    """What is to be run: an experiment, at a preset, with a seed, learned anew or from the shipped weights.

    `how` names one of the ways of learning that the experiment has: "loa" is ours.
    """

    experiment: Experiment
    preset: str = "quick"
    seed: int = 0
    pretrained: bool = False
    command: str = ""
    how: str = "loa"

    @property
    def weights(self) -> str:
        """The name under which what is learned in this way ships, if it does."""
        return self.experiment.name if self.how == "loa" else f"{self.experiment.name}-{self.how}"

    def identity(self) -> dict[str, Any]:
        """What determines the result, to recognize the run when it goes on."""
        return {
            "experiment": self.experiment.name,
            "preset": self.preset,
            "seed": self.seed,
            "pretrained": self.pretrained,
            "how": self.how,
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
    origin = dict(results.summary.provenance)
    save(directory / "algorithm.eqx", run.deployed, origin)
    run.prior.save(directory / "prior.eqx", origin)
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

    def key(self, purpose: int) -> Key[Array, ""]:
        return jax.random.fold_in(jax.random.fold_in(jax.random.key(self.order.seed), 0x2BAD), purpose)

    def lesson(self, stage: str) -> Lesson:
        checkpoint = self.place.file(stage, ".checkpoint")
        return Lesson(self.experiment, self.order.seed, self.experiment.effort, checkpoint, progress=True)

    def problems(self, role: str) -> Any:
        """The problems of a role: as many as the plan says, or for what comes before it the experiment."""
        size = None if role == "prior" else self.plan.sizes[role]
        return self.experiment.draw(role, self.order.seed, size, optimal_losses=True)

    def drawn(self, role: str) -> Draw:
        """What the plan remembers of the problems of a role."""
        return Draw.of(self.problems(role), role, finite=self.experiment.problem_class.finite)

    def measured(self, algorithm: Algorithm | Stack, role: str) -> dict[str, Any]:
        """Values by functional on the problems of a role, and whether these were solved.

        Every role has its own randomness, so that what was chosen on one is independent of what happens on another.
        """
        performance = evaluate(
            algorithm,
            self.experiment.problem_class,
            self.problems(role),
            criterion=self.experiment.criterion,
            horizon=self.experiment.horizon,
            key=jax.random.fold_in(self.key(1), ROLES.index(role)),
            functionals=certified(self.experiment),
            checkpoints=self.place.evaluations,
            progress=True,
        )
        return {**performance.values, "solved": performance.outcome == "solved"}

    @cached_property
    def learned(self) -> Algorithm:
        """The algorithm before its neighbours are looked at."""
        if self.order.pretrained:
            return load(self.order.weights)
        return self.place.algorithm("learn", lambda: self.experiment.learned[self.order.how](self.lesson("learn")))

    @cached_property
    def tuned(self) -> dict[str, Algorithm]:
        """Baselines with their best parameters."""

        def tuned(stage: str, tune: Learn) -> Algorithm:
            return self.place.algorithm(stage, lambda: tune(self.lesson(stage)))

        return {name: tuned(f"tuning of {name}", tune) for name, tune in self.experiment.tuned.items()}

    @cached_property
    def shipped(self) -> WeightedPrior | None:
        """A prior that need not be sampled, because it came with the weights."""
        return shipped_prior(self.order.weights) if self.order.pretrained else None

    @cached_property
    def prior(self) -> WeightedPrior:
        """Candidates around the learned algorithm. All that is certified later is fixed with them."""
        learned = self.learned

        def sample() -> WeightedPrior:
            return sample_prior(self.experiment, learned, self.problems("prior"), self.key(2), self.place.evaluations)

        return self.shipped or self.place.kept("prior", ".eqx", sample, WeightedPrior.save, WeightedPrior.load)

    @cached_property
    def posterior_values(self) -> dict[str, np.ndarray]:
        """All candidates on all posterior problems, (problem, candidate)."""
        stack = self.prior.stack
        values = self.place.arrays("posterior", lambda: self.measured(stack, "posterior"))
        return {name: value.mean(axis=-1).T for name, value in values.items()}

    @cached_property
    def posterior(self) -> np.ndarray:
        """The Gibbs posterior in closed form."""
        times, lam = self.posterior_values["stopping_time"], self.prior.lam["stopping_time"]
        return gibbs_posterior(times, self.prior.weights, lam, caps_of(self.experiment)["stopping_time"])

    @cached_property
    def mode(self) -> int:
        return int(np.argmax(self.posterior))

    @cached_property
    def deployed(self) -> Algorithm:
        """The mode of the posterior."""
        return self.prior.stack[self.mode]

    @cached_property
    def plan(self) -> Plan:
        """All that will be certified, fixed when nothing but the prior problems has been seen."""
        draws = () if self.shipped else (self.drawn("prior"),)
        return plan_for(self.experiment, self.prior.weights, self.prior.lam, draws)

    def certificates(self) -> tuple[dict[str, Certificate], tuple[Certificate, ...]]:
        """Those that hold together; and the paper's and the classical bounds on the same data."""
        plan, budget = self.plan, self.plan.budget()
        values, distributions = self.posterior_values, (self.posterior, self.prior.weights)
        posterior = self.drawn("posterior")
        of_posterior = plan.certify_posterior(values, *distributions, posterior, budget=budget)
        together = dict(zip(plan.posterior_goals, of_posterior, strict=True))
        together |= zip(plan.goals, self._of_deployed(plan.with_draw(posterior), posterior, budget), strict=True)
        return together, plan.references(values, *distributions, posterior)

    def _of_deployed(self, plan: Plan, posterior: Draw, budget: Budget) -> tuple[Certificate, ...]:
        """On held-out problems or, if the plan says so, by Occam on the problems that it was chosen on."""
        deployed = self.deployed
        if plan.deployed_on == "posterior":
            values = {name: table[:, self.mode] for name, table in self.posterior_values.items()}
            return plan.certify(values, posterior, prior_mass=float(self.prior.weights[self.mode]), budget=budget)
        values = self.place.arrays("certify", lambda: self.measured(deployed, "held-out"))
        return plan.certify(values, self.drawn("held-out"), budget=budget)

    def results(self) -> Results:
        together, references = self.certificates()
        certified = Certified(together, references, len(self.prior.stack))
        algorithms = {"learned": self.deployed, **self.experiment.baselines, **self.tuned}
        examined = examine(self.experiment, algorithms, self.order.seed, self.place)
        return summarize(self.order, self.deployed, certified, examined, self.place.seconds)
