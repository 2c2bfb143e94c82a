"""A run, from top to bottom: learn, choose, guard, prior, plan, posterior, certify, test, write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Key
from rich.console import Console

from ..algorithms.algorithm import Algorithm, Stack
from ..certificates import Certificate, Draw, Plan
from ..experiments.experiment import Experiment, Learn, LearningSetup
from ..learning import mode
from ..learning.cost import STEPS, Cost
from ..presentation.figures import draw_all, figure_files
from ..presentation.report import REPORT, write_report
from ..problems.role import Role, own_key
from ..results.choice import Choice
from ..results.run_results import CERTIFICATES, PERFORMANCE, PICTURES, SUMMARY, Results
from ..storage.checkpoint import fingerprint
from ..storage.saved_algorithms import SUFFIX, load, provenance, save
from ..trajectory.evaluation import evaluate
from .certification import caps_of, certified, plan_for, with_truncated
from .choice import LEARNED, chosen
from .directory import RunDirectory
from .examination import examine
from .forecast import announced
from .guard import guard_for, with_guard
from .identity import identity_of
from .prior import WeightedPrior, sample_prior, shipped_prior
from .small_samples import out_of_reach
from .summary import Certified, summarize
from .tails import tail_goals


@dataclass(frozen=True)
class Order:
    """What is to be run: an experiment, at the sizes of a preset, with a seed.

    Fields:
        experiment: with the sizes of the preset, from `experiment.at(preset)`.
        preset: its name; with "pretrained" the run begins with the weights that ship with loa.
        seed: the same seed gives the same numbers.
        command: what was typed, for the provenance.
        how: which of the experiment's recipes for learning to follow: "loa" is ours.
        file: the file that defines the experiment, if it is a user's own.
        cost: what is to be small on new problems.
    """

    experiment: Experiment
    preset: str = "quick"
    seed: int = 0
    command: str = ""
    how: str = "loa"
    file: Path | None = None
    cost: Cost = STEPS

    @property
    def pretrained(self) -> bool:
        """Whether the weights that ship with loa are used instead of learning some."""
        return self.preset == "pretrained"

    @property
    def weights(self) -> str:
        """The name under which the weights learned in this way ship, if they do."""
        return self.experiment.name if self.how == "loa" else f"{self.experiment.name}-{self.how}"

    def identity(self) -> dict[str, Any]:
        """What determines the results, to recognize the run when it is resumed."""
        own = {"preset": self.preset, "seed": self.seed, "how": self.how, "minimize": str(self.cost)}
        return own | identity_of(self.experiment, self.file)


def carry_out(
    order: Order,
    directory: Path,
    console: Console,
    *,
    resume: bool = False,
    overwrite: bool = False,
    executor: Any = None,
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
        executor: whose workers evaluate prior candidates, posterior, certificates and tests, as in `loa.evaluate`.

    Returns:
        The results, as saved in the directory.
    """
    place = RunDirectory(directory, console, order.experiment.recipe.classes, executor)
    identity, files = order.identity(), files_of(order.experiment)
    with place.opened(identity, files, resume=resume, overwrite=overwrite):
        return _all_stages(order, place)


def _all_stages(order: Order, place: RunDirectory) -> Results:
    """The run itself, in a directory that is open."""
    experiment, recipe, directory = order.experiment, order.experiment.recipe, place.path

    # Say how long all of it will take, unless a part is done already.
    if not order.pretrained and not place.file("learn", SUFFIX).exists():
        sentence = announced(experiment, recipe.learned[order.how], order.seed)
        if sentence is not None:
            place.console.print(sentence)

    # Learn, from training problems: an algorithm, and the best parameters of some baselines.
    learned, facts = (
        shipped_weights(order.weights)
        if order.pretrained
        else _learned(order, "learn", recipe.learned[order.how], place)
    )
    tuned = {name: _learned(order, f"tuning of {name}", tune, place)[0] for name, tune in recipe.tuned.items()}
    classical = {**experiment.baselines, **tuned}

    # Choose, on validation problems: what was learned, or a classical algorithm if that one is better. Who asks for a
    # recipe by its name, such as the paper's, gets what it learns.
    rivals = classical if order.how == "loa" else {}
    choice, calls_per_step = chosen(experiment, {LEARNED: learned, **rivals}, order.cost, order.seed, facts, place)
    best = {LEARNED: learned, **classical}[choice.chosen]
    experiment = experiment.charging(calls_per_step)
    order = replace(order, experiment=experiment)

    # Guard what was learned by the best classical algorithm, as strictly as it allows on the validation problems.
    wanted = order.how == "loa"
    guarded = guard_for(experiment, best, classical, choice, order.cost, order.seed, place) if wanted else None

    # Prior, from prior problems: candidates around what was chosen, their weights, and λ.
    prior, prior_draws = _prior(order, best, choice, place)

    # Plan: what will be certified, how, and on how many problems. It is on disk before these are drawn.
    draws = (*_training_draw(facts), *prior_draws)
    tails = _tails(order.cost, caps_of(experiment), prior)
    plan = plan_for(experiment, prior.weights, prior.lam, draws, prior.reach, prior.paper_lam, tails)
    place.fix(plan)

    # Posterior, from posterior problems: all candidates are run on them, and the most probable one is deployed.
    values, posterior_draw = _measured(order, "posterior", prior.stack, Role.posterior, plan, place)
    posterior = prior.posterior(order.cost, values, caps_of(experiment))
    index, most_probable = mode(posterior.stack)
    deployed = with_guard(guarded, most_probable)

    # Certify the posterior on its problems, and the deployed algorithm on held-out problems or, if the plan says so, by
    # Occam on the problems that it was chosen on.
    budget, weights = plan.budget(), (posterior.stack.weights, prior.weights)
    tables = {name: each.mean(axis=-1).T for name, each in values.items()}
    of_posterior = plan.certify_posterior(tables, *weights, posterior_draw, budget=budget)
    if plan.deployed_on == Role.held_out.text:
        held_out, held_out_draw = _measured(order, "certify", deployed, Role.held_out, plan, place)
        seen = with_truncated(held_out, prior.reach)
        of_deployed = plan.with_draw(posterior_draw).certify(seen, held_out_draw, budget=budget)
    else:
        of_mode = {name: table[:, index] for name, table in tables.items()}
        if guarded is not None:  # fixed beforehand, so that Occam holds for the guarded candidates as well
            own, _ = _measured(order, "certify", deployed, Role.posterior, plan, place)
            of_mode = {name: each.mean(axis=-1) for name, each in own.items()}
        seen = with_truncated(of_mode, prior.reach)
        of_deployed = plan.certify(seen, posterior_draw, prior_mass=float(prior.weights[index]), budget=budget)
    together = dict(zip([*plan.posterior_goals, *plan.goals], [*of_posterior, *of_deployed], strict=True))
    together = {name: _naming(each, deployed, prior.stack, place) for name, each in together.items()}
    place.record.bounds(together)
    references = plan.references(tables, *weights, posterior_draw)
    references = tuple(_naming(each, deployed, prior.stack, place) for each in references)
    certificates = Certified(together, references, len(prior.stack))

    # Test: the deployed algorithm and the baselines, on problems that nothing else has seen.
    algorithms = {LEARNED: deployed, **classical}
    place.record.draw(Role.test.text, experiment.sizes[Role.test.text])
    examined = examine(experiment, algorithms, order.seed, place)

    # Write: the summary comes last, so that a directory with a summary is complete.
    results = summarize(
        order,
        deployed,
        certificates,
        examined,
        place.seconds,
        choice,
        plan=plan.fingerprint,
        looks=place.record.looks(),
        notes=() if experiment.recipe.log is None else out_of_reach(plan),
    )
    origin = dict(results.summary.provenance)
    save(directory / f"algorithm{SUFFIX}", deployed, origin)
    prior.save(directory / f"prior{SUFFIX}", origin)
    save(directory / f"posterior{SUFFIX}", posterior.stack, origin)
    draw_all(results, directory)
    write_report(results, directory)
    results.save(directory)
    place.finish(experiment.presentation.files)
    return results


def _tails(cost: Cost, caps: Mapping[str, float], prior: WeightedPrior) -> Any:
    """The goals of what is minimized, where that is no mean and the functional has a largest value."""
    if cost.functional not in caps:
        return {}, {}
    return tail_goals(cost, caps[cost.functional], prior.knee, prior.lam, prior.thresholds)


def files_of(experiment: Experiment) -> set[str]:
    """The names of all files that a run of this experiment may leave in its directory."""
    pictures = experiment.presentation.pictures is not None
    saved = {f"{name}{SUFFIX}" for name in ("algorithm", "prior", "posterior")}
    return {
        *saved,
        SUMMARY,
        CERTIFICATES,
        PERFORMANCE,
        *([PICTURES] * pictures),
        REPORT,
        *figure_files(pictures),
        *experiment.presentation.files,
    }


def _learned(order: Order, stage: str, learn: Learn, place: RunDirectory) -> tuple[Algorithm, dict[str, Any]]:
    """An algorithm that is learned, or a baseline that is tuned, in a stage of its own; and what was noted of it."""
    effort, checkpoint = order.experiment.recipe.effort, place.file(stage, ".checkpoint")
    setup = LearningSetup(order.experiment, order.seed, effort, checkpoint, progress=True, cost=order.cost)
    return place.algorithm(stage, lambda: learn(setup), setup.facts)


def shipped_weights(name: str) -> tuple[Algorithm, dict[str, Any]]:
    """An algorithm that ships with loa, and the draw that it was learned from, if there is one."""
    learning = provenance(name).get("learning", {})
    return load(name), {"draw": learning["draw"]} if "draw" in learning else {}


def _training_draw(facts: Mapping[str, Any]) -> tuple[Draw, ...]:
    """The draw that the algorithm was learned from, with which no later one may overlap."""
    return (Draw.from_dict(facts["draw"]),) if "draw" in facts else ()


def _prior(
    order: Order, best: Algorithm, choice: Choice, place: RunDirectory
) -> tuple[WeightedPrior, tuple[Draw, ...]]:
    """The prior, and the draws that it was made from; a prior that ships with loa needs none."""
    shipped = shipped_prior(order.weights) if order.pretrained and choice.chosen == LEARNED else None
    if shipped is not None:
        return shipped, ()
    problems = order.experiment.draw(Role.prior, order.seed, optimal_losses=True)

    def sample() -> WeightedPrior:
        key, unchanged = _key(order.seed, 2), choice.classical is not None
        return sample_prior(order.experiment, best, order.cost, problems, key, place, unchanged=unchanged)

    def read(path: Path) -> WeightedPrior:
        return WeightedPrior.load(path, place.classes)

    prior = place.kept("prior", SUFFIX, sample, WeightedPrior.save, read)
    return prior, (_draw_of(order, problems, Role.prior),)


def _measured(
    order: Order, stage: str, algorithm: Algorithm | Stack, role: Role, plan: Plan, place: RunDirectory
) -> tuple[dict[str, np.ndarray], Draw]:
    """Values by functional on the problems of a role, whether these were solved, and what is remembered of them.

    The problems are drawn here, as many as the plan says. Every role has its own randomness, so that what was chosen on
    one is independent of what happens on another.
    """
    experiment = order.experiment
    problems = experiment.draw(role, order.seed, plan.sizes[role.text], optimal_losses=True)

    def measure() -> dict[str, Any]:
        performance = evaluate(
            algorithm,
            experiment.problem_class,
            problems,
            criterion=experiment.criterion,
            horizon=experiment.horizon,
            key=jax.random.fold_in(_key(order.seed, 1), int(role)),
            functionals=certified(experiment),
            executor=place.executor,
            checkpoints=place.evaluations,
            progress=True,
        )
        return {**performance.values, "solved": performance.outcome == "solved"}

    draw = _draw_of(order, problems, role)
    place.record.draw(role.text, len(draw), draw)
    return place.arrays(stage, measure), draw


def _naming(certificate: Certificate, deployed: Algorithm, candidates: Stack, place: RunDirectory) -> Certificate:
    """The certificate with what it is about: the setting, and the algorithm or the candidates that it speaks of."""
    subject = deployed if certificate.target == "deployed" else candidates
    return certificate.naming({**place.record.about, "algorithm": fingerprint(type(subject).__name__, subject)})


def _draw_of(order: Order, problems: Any, role: Role) -> Draw:
    """What the plan and the certificates remember of the problems of a role."""
    experiment = order.experiment
    return Draw.of(problems, role.text, finite=experiment.finite, logged=experiment.recipe.log is not None)


def _key(seed: int, purpose: int) -> Key[Array, ""]:
    """A random key that no draw of problems has."""
    return jax.random.fold_in(own_key(seed, 0x2BAD), purpose)
