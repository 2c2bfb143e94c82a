"""Measure a shipped algorithm and the baselines again, one after the other, and write the numbers into its file.

    python measure_weights.py lasso

For when the code has become faster since it was learned. Run it with nothing else on the machine.
"""

import os
import sys
from pathlib import Path

import jax

import loa
from loa.experiments import DIVIDED
from loa.run.training import measure
from loa.storage.provenance import commit
from loa.storage.saved_algorithms import SUFFIX, provenance


def main(name: str) -> None:
    origin = provenance(name)
    if origin["experiment"] in DIVIDED:
        jax.config.update("jax_num_cpu_devices", os.cpu_count() or 1)
    experiment, algorithm = loa.experiments.get(origin["experiment"]), loa.load(name)
    measured = measure(experiment, {"learned": algorithm, **experiment.baselines}, origin["seed"])
    path = Path(loa.__file__).parent / "weights" / f"{name}{SUFFIX}"
    loa.save(path, algorithm, origin | {"test": measured, "measured at": commit()})
    for each, numbers in measured.items():
        print(f"{name}, {each}: {numbers['mean']:.1f} steps, {1e3 * numbers['seconds_per_problem']:.3f} ms", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
