"""The prior of a run: candidates around the learned algorithm, their masses, and λ, all from prior problems only."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Key

from ..algorithms.algorithm import Algorithm, Stack
from ..certificates.product import choose_lambda, gibbs_posterior
from ..experiments.experiment import Experiment
from ..learning import langevin_support
from ..storage.saved_algorithms import load, provenance, save
from .certification import POSTERIOR_SHARE, caps_of, certified

ANTICIPATED_KL = 0.5
"""For the choice of λ; the bounds are flat around their best λ, so that a guess is enough."""


class WeightedPrior(NamedTuple):
    """Candidates with their prior masses, and for each functional the λ that its certificate will have."""

    stack: Stack
    lam: Mapping[str, float]

    @property
    def weights(self) -> np.ndarray:
        return np.asarray(self.stack.weights)

    def save(self, path: Path, origin: Mapping[str, Any] | None = None) -> None:
        save(path, self.stack, {**(origin or {}), "lam": dict(self.lam)})

    @staticmethod
    def load(path: Path | str) -> WeightedPrior:
        return WeightedPrior(load(path), provenance(path)["lam"])


def sample_prior(
    experiment: Experiment, learned: Algorithm, problems: Any, key: Key[Array, ""], checkpoints: Path | None = None
) -> WeightedPrior:
    """Sample candidates and weigh them by how they do on the prior problems."""
    support, performance = langevin_support(
        learned,
        experiment.problem_class,
        problems,
        criterion=experiment.criterion,
        horizon=experiment.horizon,
        key=key,
        **experiment.prior.around(learned),
        functionals=certified(experiment),
        checkpoints=checkpoints,
    )
    caps, size = caps_of(experiment), experiment.sizes["posterior"]
    weights = np.full(len(support), 1.0 / len(support))
    lam = {}
    for name in ("stopping_time", "contraction_factor"):
        table = np.asarray(performance[name], float).mean(axis=-1).T
        lam[name] = choose_lambda(table, ANTICIPATED_KL, size, POSTERIOR_SHARE, caps[name], weights)
        if name == "stopping_time":
            weights = gibbs_posterior(table, weights, lam[name], caps[name])
    return WeightedPrior(support.weighted(weights), lam)


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
