"""The prior of a run: sampled around the learned algorithm on prior problems, or shipped with loa."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Key
from scipy import special

from ..algorithms.algorithm import Algorithm, Stack
from ..certificates.bounds.paper import catoni_bound, catoni_lambda
from ..certificates.bounds.paper_posterior import choose_paper_lambda
from ..experiments.experiment import Experiment
from ..learning import Weighted, lambda_on, langevin_support, posterior_on, prior_on
from ..learning.cost import STEPS, Cost
from ..learning.prior import ANTICIPATED_DIVERGENCE
from ..storage.saved_algorithms import load, provenance, save
from ..trajectory.evaluation import Performance
from ..trajectory.functionals import Functional
from .certification import CONFIDENCE, OF_POSTERIOR, STOPPING, caps_of, certified, posterior_share, reach_of
from .directory import RunDirectory
from .tails import tail_numbers


class WeightedPrior(NamedTuple):
    """Candidates with their prior weights, and for each functional the λ that its certificate will have.

    Fields:
        stack: the candidates.
        lam: λ by functional.
        weighed_by: the λ by which candidates are weighed by their cost.
        knee: of the cost, fixed on the prior problems (`Cost.knee`).
        reach: for few problems, up to where stopping times are counted in a certificate (`certification.reach_of`).
        paper_lam: by functional, the λ that the paper's theorems will have.
        thresholds: where the cost is a quantile, the values among which its bound will be found.
    """

    stack: Stack
    lam: Mapping[str, float]
    weighed_by: float
    knee: float | None = None
    reach: float | None = None
    paper_lam: Mapping[str, float] = {}
    thresholds: tuple[float, ...] = ()

    @property
    def weights(self) -> np.ndarray:
        return np.asarray(self.stack.weights)

    def posterior(self, cost: Cost, values: Mapping[str, np.ndarray], caps: Mapping[str, float]) -> Weighted:
        """The candidates, weighed again by their cost on the posterior problems."""
        losses, cap = _losses(cost, values, caps, self.knee)
        return posterior_on(Weighted(self.stack, self.weighed_by), losses, cap=cap)

    def save(self, path: Path, origin: Mapping[str, Any] | None = None) -> None:
        numbers = {"lam": dict(self.lam), "weighed_by": self.weighed_by, "knee": self.knee, "reach": self.reach}
        save(path, self.stack, {**(origin or {}), **numbers, **self._more()})

    def _more(self) -> dict[str, Any]:
        return {"paper_lam": dict(self.paper_lam), "thresholds": list(self.thresholds)}

    @staticmethod
    def load(path: Path | str, classes: Iterable[type] = ()) -> WeightedPrior:
        noted = provenance(path)
        weighed_by = noted.get("weighed_by", noted["lam"][STOPPING])
        return WeightedPrior(
            load(path, classes=classes), noted["lam"], weighed_by, noted.get("knee"), noted.get("reach"),
            noted.get("paper_lam", {}), tuple(noted.get("thresholds", ())),
        )  # fmt: skip


def sample_prior(
    experiment: Experiment,
    learned: Algorithm,
    cost: Cost,
    problems: Any,
    key: Key[Array, ""],
    place: RunDirectory | None = None,
    *,
    unchanged: bool = False,
) -> WeightedPrior:
    """Sample candidates around the learned algorithm and weigh them by their costs on the prior problems.

    A classical method that was chosen stays unchanged: it is the only candidate.
    """
    functionals = certified(experiment)
    support, performance = langevin_support(
        learned,
        experiment.problem_class,
        problems,
        criterion=experiment.criterion,
        horizon=experiment.horizon,
        key=key,
        **experiment.recipe.prior.around(learned, unchanged=unchanged),
        functionals=functionals,
        executor=None if place is None else place.executor,
        checkpoints=None if place is None else place.evaluations,
    )
    caps = caps_of(experiment)
    _check_ranges(performance, caps)
    size, share = experiment.sizes["posterior"], posterior_share(functionals)
    knee = cost.knee(performance[_functional(cost, caps)])
    losses, cap = _losses(cost, performance.values, caps, knee)
    weighed = prior_on(support, losses, cap=cap, num_posterior=size, failure_probability=share)
    of_means = {
        name: lambda_on(weighed.stack, performance[name], cap=caps[name], num_posterior=size, failure_probability=share)
        for name in OF_POSTERIOR
        if name in caps
    }
    if cost in (STEPS, Cost("seconds")):
        of_means[STOPPING] = weighed.lam
    of_means["solved"] = lambda_of_success(performance.outcome != "solved", weighed.stack.weights, size, functionals)
    few = experiment.recipe.log is not None and len(weighed.stack) == 1
    reach = reach_of(performance[STOPPING], experiment.horizon) if few else None
    of_paper = _paper_lambdas(performance, weighed.stack.weights, caps, size)
    thresholds = ()
    if knee is not None and cost.weighed_by in caps:
        values, cap = performance[cost.weighed_by], caps[cost.weighed_by]
        lam, thresholds = tail_numbers(cost, values, knee, cap, weighed.stack, size, share)
        of_means |= {} if lam is None else {str(cost): lam}
    return WeightedPrior(weighed.stack, of_means, weighed.lam, knee, reach, of_paper, thresholds)


def _paper_lambdas(performance: Performance, weights: Any, caps: Mapping[str, float], size: int) -> dict[str, float]:
    """The λ of the paper's theorems, each at its best if the posterior problems look like the prior problems."""
    delta = 1 - CONFIDENCE
    tables = {name: performance[name].mean(axis=-1).T for name in OF_POSTERIOR if name in caps}
    found = {name: choose_paper_lambda(table, size, delta, caps[name], weights) for name, table in tables.items()}
    failed = np.asarray(weights) @ (performance.outcome != "solved").mean(axis=(1, 2))
    expected = (failed * performance.outcome.shape[1] + 0.5) / (performance.outcome.shape[1] + 1)
    return found | {"solved": catoni_lambda(float(expected), ANTICIPATED_DIVERGENCE, size, delta)}


def lambda_of_success(failed: np.ndarray, weights: Any, size: int, functionals: tuple[Functional, ...]) -> float:
    """The λ at which the bound on the probability of failure is best on average, by what the prior problems show.

    The average is that of the logarithm of the bound, over the failure rates that these problems leave possible (with
    Jeffreys' prior for them): a λ that is best without failures would be poor if there are some.

    Arguments:
        failed: (candidate, problem, replicate), on the prior problems.
        weights: of the candidates.
        size: the number of posterior problems.
        functionals: those that are certified, with which the failure probability is shared.

    >>> lambda_of_success(np.zeros((1, 250, 1), bool), [1.0], 500, ()) > 500
    True
    """
    count = failed.shape[1]
    failures = count * float(np.tensordot(np.asarray(weights), failed.mean(axis=(1, 2)), axes=1))
    rates = special.betaincinv(failures + 0.5, count - failures + 0.5, (np.arange(16) + 0.5) / 16)
    lams = size * np.geomspace(1e-3, 20.0, 60)
    share = posterior_share(functionals, part=1.0)
    bounds = catoni_bound(rates[:, None], ANTICIPATED_DIVERGENCE, size, lams, share)
    return float(lams[np.argmin(np.log(bounds).mean(axis=0))])


def _functional(cost: Cost, caps: Mapping[str, float]) -> str:
    """The functional that the cost is of; steps, if that has no largest value to weigh by."""
    return cost.weighed_by if cost.weighed_by in caps else STOPPING


def _losses(
    cost: Cost, values: Mapping[str, np.ndarray], caps: Mapping[str, float], knee: float | None
) -> tuple[np.ndarray, float]:
    """The numbers that candidates are weighed by, and the largest that there can be."""
    name = _functional(cost, caps)
    return cost.losses(values[name], knee), float(cost.losses(caps[name], knee)) or 1.0


def shipped_prior(name: str) -> WeightedPrior | None:
    """The prior that ships with loa beside the learned algorithm of that name, if there is one.

    Its file holds only what varies; what the candidates have in common is in the file of the algorithm.
    """
    try:
        shipped = WeightedPrior.load(f"priors/{name}")
    except FileNotFoundError:
        return None
    own = shipped.stack
    common = jax.tree.map(
        lambda varied, leaf: leaf if varied is None else None, own.algorithms, load(name), is_leaf=lambda x: x is None
    )
    return shipped._replace(stack=Stack(own.algorithms, own.weights, common))


def _check_ranges(performance: Performance, caps: Mapping[str, float]) -> None:
    """Refuse a functional that leaves its range now, rather than when its certificate is due."""
    for name, cap in caps.items():
        values = np.asarray(performance[name], float)
        outside = values[~((values >= 0) & (values <= cap))]
        if outside.size:
            raise ValueError(
                f"{name} is certified as a functional with values in [0, {cap:g}], but on a prior problem it is "
                f"{outside[0]:g}: make its `largest` infinite, and it is measured without a certificate."
            )
