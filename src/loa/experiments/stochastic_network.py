"""Training a network of 351 parameters on random polynomials, mini-batches of five (section 6.5)."""

from __future__ import annotations

from ..algorithms import SGD, Adam
from ..functionals import ContractionFactor, OracleCalls, StoppingTime
from ..problems import StochasticNetworkTraining
from ..problems.criterion import loss_below
from .experiment import Experiment


def experiment() -> Experiment:
    return Experiment(
        name="stochastic-network",
        problem_class=StochasticNetworkTraining(),
        criterion=loss_below(0.75),
        horizon=2500,
        functionals=(StoppingTime(), ContractionFactor(cap=1.0), OracleCalls()),
        baselines={
            "Adam": Adam(0.02, stochastic=True),
            "Adam, published rate": Adam(0.004, stochastic=True),
            "SGD": SGD(0.001),
        },
        sizes={"prior": 500, "posterior": 1000, "test": 250, "validation": 250},
    )
