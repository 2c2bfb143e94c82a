"""Ship the prior of a run that began with the shipped weights, so that `loa run NAME --pretrained` need not sample it.

    loa run NAME --pretrained --out runs/NAME && python ship_prior.py runs/NAME

Only what varies among the candidates is kept; what they have in common is in the file of the algorithm.
"""

import json
import sys
from pathlib import Path

import equinox as eqx
import jax

import loa
from loa.algorithms.algorithm import Stack
from loa.pipeline.prior import WeightedPrior

PRIORS = Path(loa.__file__).parent / "weights" / "priors"
CANDIDATES = 20


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    for run in map(Path, sys.argv[1:]):
        summary = json.loads((run / "summary.json").read_text())
        if not summary["pretrained"]:
            raise SystemExit(f"{run} did not begin with the shipped weights: run it with --pretrained.")
        stack, lam = WeightedPrior.load(run / "prior.eqx")
        count = min(CANDIDATES, len(stack))
        own = jax.tree.map(lambda leaf, count=count: leaf[:count] if eqx.is_array(leaf) else leaf, stack.algorithms)
        weights = stack.weights[:count] / stack.weights[:count].sum()
        path = PRIORS / f"{summary['experiment']}.eqx"
        path.parent.mkdir(exist_ok=True)
        WeightedPrior(Stack(own, weights), lam).save(path, summary["provenance"])
        print(f"wrote {count} candidates to {path}, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
