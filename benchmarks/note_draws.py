"""Note in the weights that ship with loa which problems they were learned from.

    python note_draws.py

They were learned before keys of roles had a constant of their own (`Role.former_key`). The numbers of training problems
are those of the recipes at the commits that the weights name. The problems are drawn once more; where an algorithm was
trained on fresh problems, which are not a draw with a role, there is nothing to note.
"""

from pathlib import Path

import loa
from loa.certificates import Draw
from loa.problems.role import Role
from loa.storage.provenance import commit
from loa.storage.saved_algorithms import SUFFIX

SIZES = {
    "images": 16, "images-compact": 64, "images-paper": 64, "lasso": 1000, "lasso-paper": 5000, "network": 300,
    "quadratics": 200, "stochastic-network": 500,
}  # fmt: skip


def main() -> None:
    for name in loa.shipped():
        origin, algorithm = loa.provenance(name), loa.load(name)
        origin["keys"] = "former"
        if name in SIZES:
            problem_class = loa.experiments.get(origin["experiment"]).problem_class
            problems = problem_class.draw(Role.training.former_key(origin["seed"]), SIZES[name])
            draw = Draw.of(problems, Role.training.text, finite=problem_class.finite)
            origin["learning"] = {**origin.get("learning", {}), "draw": draw.to_dict()}
            origin["draw noted at"] = commit()
            print(f"{name}: {draw}", flush=True)
        loa.save(Path(loa.__file__).parent / "weights" / f"{name}{SUFFIX}", algorithm, origin)


if __name__ == "__main__":
    main()
