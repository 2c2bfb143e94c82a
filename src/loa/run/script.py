"""A run, from top to bottom: learn, prior, plan, posterior, certify, test, write."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Key
from rich.console import Console

from ..algorithms.algorithm import Algorithm, Stack
from ..certificates import Draw
from ..experiments.experiment import Experiment, Learn, Lesson
from ..learning import mode, posterior_on
from ..presentation.figures import draw_all
from ..presentation.report import write_report
from ..problems.role import Role
from ..results.run_results import Results
from ..storage.saved_algorithms import SUFFIX, load, save
from ..trajectory.evaluation import evaluate
from .certification import WEIGHED_BY, caps_of, certified, plan_for
from .directory import RunDirectory
from .examination import examine
from .prior import WeightedPrior, sample_prior, shipped_prior
from .summary import Certified, summarize


@dataclass(frozen=True)
class Order:
    """What is to be run: an experiment, at the sizes of a preset, with a seed.

    Fields:
        experiment: with the sizes of the preset, from `experiment.at(preset)`.
        preset: its name; with "pretrained" the run begins with the weights that ship with loa.
        seed: the same seed gives the same numbers.
        command: what was typed, for the provenance.
        how: which of the experiment's recipes for learning to follow: "loa" is ours.
    """

    experiment: Experiment
    preset: str = "quick"
    seed: int = 0
    command: str = ""
    how: str = "loa"

    @property
    def pretrained(self) -> bool:
        """Whether the weights that ship with loa are used instead of learning some."""
        return self.preset == "pretrained"

    @property
    def weights(self) -> str:
        """The name under which the weights learned in this way ship, if they do."""
        return self.experiment.name if self.how == "loa" else f"{self.experiment.name}-{self.how}"

    def identity(self) -> dict[str, Any]:
        """What determines the result, to recognize the run when it is resumed."""
        return {
            "experiment": self.experiment.name,
            "preset": self.preset,
            "seed": self.seed,
            "how": self.how,
            "sizes": dict(self.experiment.sizes),
            "candidates": self.experiment.recipe.prior.candidates,
        }


def carry_out(
    order: Order, directory: Path, console: Console, *, resume: bool = False, overwrite: bool = False
) -> Results:
    """Run an experiment and leave figures, report, certificates and numbers in a directory.

    The problems of different roles are drawn independently. Candidates, prior, λ and everything that will be certified
    are fixed on the prior problems and written to `plan.json`. Only then are the posterior and held-out problems drawn,
    each once. Every certificate carries the fingerprint of that plan.

    Arguments:
        order: what to run.
        directory: where the results go. Finished stages are kept there until the run is complete.
        console: for progress.
        resume: continue an interrupted run of the same order, to the same results.
        overwrite: replace a run that is in the directory.

    Returns:
        The results, as saved in the directory.
    """
    experiment, seed = order.experiment, order.seed
    place = RunDirectory(directory, console)
    place.open(order.identity(), resume=resume, overwrite=overwrite)

    # Learn, from training problems: an algorithm, and the best parameters of some baselines.
    learned = (
        load(order.weights) if order.pretrained else _learn(order, "learn", experiment.recipe.learned[order.how], place)
    )
    tuned = {name: _learn(order, f"tuning of {name}", tune, place) for name, tune in experiment.recipe.tuned.items()}

    # Prior: candidates around the learned algorithm with their weights, and λ, from prior problems.
    shipped = shipped_prior(order.weights) if order.pretrained else None
    prior_problems = None if shipped else experiment.draw(Role.prior, seed, optimal_losses=True)
    prior = shipped or place.kept(
        "prior",
        SUFFIX,
        lambda: sample_prior(experiment, learned, prior_problems, _key(seed, 2), place.evaluations),
        WeightedPrior.save,
        WeightedPrior.load,
    )

    # Plan: what will be certified, how, and on how many problems. From here on it is fixed.
    prior_draws = () if shipped else (_draw_of(experiment, prior_problems, Role.prior),)
    plan = plan_for(experiment, prior.weights, prior.lam, prior_draws)
    place.fix(plan)

    # Posterior: all candidates on posterior problems. The most probable one is deployed.
    posterior_problems = experiment.draw(Role.posterior, seed, plan.sizes["posterior"], optimal_losses=True)
    on_posterior = place.arrays(
        "posterior", lambda: _measure(order, prior.stack, posterior_problems, Role.posterior, place)
    )
    posterior = posterior_on(prior.weighed, on_posterior[WEIGHED_BY], cap=caps_of(experiment)[WEIGHED_BY])
    index, deployed = mode(posterior.stack)

    # Certify: the posterior on its problems; the deployed algorithm on held-out problems or, if the plan says so, by
    # Occam on the problems that it was chosen on.
    budget, weights = plan.budget(), (np.asarray(posterior.stack.weights), prior.weights)
    tables = {name: values.mean(axis=-1).T for name, values in on_posterior.items()}
    posterior_draw = _draw_of(experiment, posterior_problems, Role.posterior)
    of_posterior = plan.certify_posterior(tables, *weights, posterior_draw, budget=budget)
    if plan.deployed_on == "posterior":
        chosen, mass = {name: table[:, index] for name, table in tables.items()}, float(prior.weights[index])
        of_deployed = plan.certify(chosen, posterior_draw, prior_mass=mass, budget=budget)
    else:
        held_out_problems = experiment.draw(Role.held_out, seed, plan.sizes["held-out"], optimal_losses=True)
        held_out_draw = _draw_of(experiment, held_out_problems, Role.held_out)
        on_held_out = place.arrays(
            "certify", lambda: _measure(order, deployed, held_out_problems, Role.held_out, place)
        )
        of_deployed = plan.with_draw(posterior_draw).certify(on_held_out, held_out_draw, budget=budget)
    together = {**dict(zip(plan.posterior_goals, of_posterior, strict=True)),
                **dict(zip(plan.goals, of_deployed, strict=True))}  # fmt: skip
    references = plan.references(tables, *weights, posterior_draw)
    certificates = Certified(together, references, len(prior.stack))

    # Test: the deployed algorithm and the baselines, on problems that nothing else has seen.
    algorithms = {"learned": deployed, **experiment.baselines, **tuned}
    examined = examine(experiment, algorithms, seed, place)

    # Write: the summary comes last, so that a directory with a summary is complete.
    results = summarize(order, deployed, certificates, examined, place.seconds)
    origin = results.summary["provenance"]
    save(directory / f"algorithm{SUFFIX}", deployed, origin)
    prior.save(directory / f"prior{SUFFIX}", origin)
    draw_all(results, directory)
    write_report(results, directory)
    results.save(directory)
    place.close()
    return results


def _learn(order: Order, stage: str, learn: Learn, place: RunDirectory) -> Algorithm:
    """An algorithm that is learned or tuned, in a stage of its own."""
    effort, checkpoint = order.experiment.recipe.effort, place.file(stage, ".checkpoint")
    lesson = Lesson(order.experiment, order.seed, effort, checkpoint, progress=True)
    return place.algorithm(stage, lambda: learn(lesson))


def _measure(
    order: Order, algorithm: Algorithm | Stack, problems: Any, role: Role, place: RunDirectory
) -> dict[str, Any]:
    """Values by functional on the problems of a role, and whether these were solved.

    Every role has its own randomness, so that what was chosen on one is independent of what happens on another.
    """
    performance = evaluate(
        algorithm,
        order.experiment.problem_class,
        problems,
        criterion=order.experiment.criterion,
        horizon=order.experiment.horizon,
        key=jax.random.fold_in(_key(order.seed, 1), int(role)),
        functionals=certified(order.experiment),
        checkpoints=place.evaluations,
        progress=True,
    )
    return {**performance.values, "solved": performance.outcome == "solved"}


def _draw_of(experiment: Experiment, problems: Any, role: Role) -> Draw:
    """What the plan and the certificates remember of the problems of a role."""
    return Draw.of(problems, role.text, finite=experiment.problem_class.finite)


def _key(seed: int, purpose: int) -> Key[Array, ""]:
    """A random key that no draw of problems has."""
    return jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), 0x2BAD), purpose)
