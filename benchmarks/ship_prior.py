"""Sample the priors that ship beside the weights, so that `loa run NAME --pretrained` need not do it.

    python ship_prior.py quadratics lasso network

Only what varies among the candidates is kept; what they have in common is in the file of the algorithm.
"""

import dataclasses
import sys
from pathlib import Path

import jax

import loa
from loa.algorithms.algorithm import Stack
from loa.experiments.experiment import Preset
from loa.learning.cost import STEPS
from loa.problems.role import Role
from loa.run.prior import sample_prior
from loa.storage.provenance import commit, versions
from loa.storage.saved_algorithms import SUFFIX

PRIORS = Path(loa.__file__).parent / "weights" / "priors"
CANDIDATES = 20
SEED = 0


def main() -> None:
    PRIORS.mkdir(exist_ok=True)
    for name in sys.argv[1:]:
        experiment = loa.experiments.get(name)
        few = Preset(candidates=min(CANDIDATES, experiment.recipe.prior.candidates))
        experiment = dataclasses.replace(experiment, recipe=experiment.recipe.at(few))
        problems = experiment.draw(Role.prior, SEED, optimal_losses=True)
        prior = sample_prior(experiment, loa.load(name), STEPS, problems, jax.random.key(SEED))
        varied = Stack(prior.stack.algorithms, prior.stack.weights)
        origin = {"experiment": name, "seed": SEED, "sizes": dict(experiment.sizes), "commit": commit()}
        path = PRIORS / f"{name}{SUFFIX}"
        prior._replace(stack=varied).save(path, origin | {"versions": versions()})
        print(f"wrote {len(varied)} candidates to {path}, {path.stat().st_size} bytes", flush=True)


if __name__ == "__main__":
    main()
