"""The experiments, by name. This module is light: an experiment is imported when it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .experiment import Experiment

DESCRIPTIONS = {
    "quadratics": "strongly convex quadratics in dimension 200",
    "images": "deblurring and denoising of 200 × 150 photographs with smoothed total variation",
    "lasso": "sparse recovery with an l1 penalty",
    "network": "training a small network on random polynomials, full batch",
    "stochastic-network": "the same with mini-batches of five",
    "running-example": "one-dimensional quadratics, every claim of the paper checked against theory",
}

DIVIDED = ("quadratics", "images", "network", "stochastic-network")
"""Experiments whose problems are best divided among one device per core.

LASSO took as long on two devices as on one, and the running example is over in seconds.
"""


def names() -> tuple[str, ...]:
    """The names of all experiments."""
    return tuple(DESCRIPTIONS)


def get(name: str) -> Experiment:
    """Get one of loa's experiments by its name, and switch JAX to float64, which the experiments need.

    Arguments:
        name: one of `loa.experiments.names()`.

    Returns:
        An `Experiment`, with `problem_class`, `criterion`, `horizon`, `baselines` and `sizes`.

    >>> get("lasso").horizon
    600
    """
    if not isinstance(name, str) or name not in DESCRIPTIONS:
        raise ValueError(f"there is no experiment {name!r}; there are {', '.join(DESCRIPTIONS)}.")
    import jax

    jax.config.update("jax_enable_x64", True)
    from . import running_example
    from .paper import images, lasso, network, quadratics, stochastic_network

    modules = (quadratics, images, lasso, network, stochastic_network, running_example)
    return dict(zip(DESCRIPTIONS, modules, strict=True))[name].experiment()
