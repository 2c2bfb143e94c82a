"""The prior of a run: sampled around the learned algorithm on prior problems, or shipped with loa."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Key

from ..algorithms.algorithm import Algorithm, Stack
from ..experiments.experiment import Experiment
from ..learning import Weighted, lambda_on, langevin_support, prior_on
from ..storage.saved_algorithms import load, provenance, save
from ..trajectory.evaluation import Performance
from .certification import OF_POSTERIOR, WEIGHED_BY, caps_of, certified, posterior_share


class WeightedPrior(NamedTuple):
    """Candidates with their prior weights, and for each functional the λ that its certificate will have."""

    stack: Stack
    lam: Mapping[str, float]

    @property
    def weights(self) -> np.ndarray:
        return np.asarray(self.stack.weights)

    @property
    def weighed(self) -> Weighted:
        """The prior with the λ by which it, and the posterior, weigh the candidates."""
        return Weighted(self.stack, self.lam[WEIGHED_BY])

    def save(self, path: Path, origin: Mapping[str, Any] | None = None) -> None:
        save(path, self.stack, {**(origin or {}), "lam": dict(self.lam)})

    @staticmethod
    def load(path: Path | str, classes: Iterable[type] = ()) -> WeightedPrior:
        return WeightedPrior(load(path, classes=classes), provenance(path)["lam"])


def sample_prior(
    experiment: Experiment, learned: Algorithm, problems: Any, key: Key[Array, ""], checkpoints: Path | None = None
) -> WeightedPrior:
    """Sample candidates around the learned algorithm and weigh them by their stopping times on the prior problems."""
    functionals = certified(experiment)
    support, performance = langevin_support(
        learned,
        experiment.problem_class,
        problems,
        criterion=experiment.criterion,
        horizon=experiment.horizon,
        key=key,
        **experiment.recipe.prior.around(learned),
        functionals=functionals,
        checkpoints=checkpoints,
    )
    caps = caps_of(experiment)
    _check_ranges(performance, caps)
    size, share = experiment.sizes["posterior"], posterior_share(functionals)
    weighed = prior_on(
        support, performance[WEIGHED_BY], cap=caps[WEIGHED_BY], num_posterior=size, failure_probability=share
    )
    others = {
        name: lambda_on(weighed.stack, performance[name], cap=caps[name], num_posterior=size, failure_probability=share)
        for name in OF_POSTERIOR
        if name in caps and name != WEIGHED_BY
    }
    return WeightedPrior(weighed.stack, {WEIGHED_BY: weighed.lam, **others})


def shipped_prior(name: str) -> WeightedPrior | None:
    """The prior that ships with loa beside the learned algorithm of that name, if there is one.

    Its file holds only what varies; what the candidates have in common is in the file of the algorithm.
    """
    try:
        own, lam = WeightedPrior.load(f"priors/{name}")
    except FileNotFoundError:
        return None
    common = jax.tree.map(
        lambda varied, leaf: leaf if varied is None else None, own.algorithms, load(name), is_leaf=lambda x: x is None
    )
    return WeightedPrior(Stack(own.algorithms, own.weights, common), lam)


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
