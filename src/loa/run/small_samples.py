"""What cannot be said from few problems, however well an algorithm does on them."""

from __future__ import annotations

import math

from ..certificates import Plan
from ..certificates.bounds.rounding import percent_down, percent_exact
from ..certificates.goals import Probability, Quantile


def out_of_reach(plan: Plan) -> tuple[str, ...]:
    """Which of a plan's promises its number of problems does not allow, in a sentence; none if all are possible.

    A quantile at level q needs n ≥ log δ / log q problems, and if all n of them are solved, the share of new problems
    that are solved is still only known to be at least δ^(1/n).
    """
    n, budget = plan.sizes.get(plan.deployed_on, 0), plan.budget()
    quantiles = {name: goal for name, goal in plan.goals.items() if isinstance(goal, Quantile)}
    shares = [name for name, goal in plan.goals.items() if isinstance(goal, Probability)]
    needed = {
        goal.level: math.ceil(math.log(1 - budget.spend(name)) / math.log(goal.level))
        for name, goal in quantiles.items()
    }
    missing = {level: count for level, count in needed.items() if n and n < count}
    if not missing:
        return ()
    level, count = max(missing.items(), key=lambda each: each[1])
    words = f"Certificates rest on {n} instances, too few for a {percent_exact(level)} quantile, which needs {count}"
    if shares:
        best = (1 - budget.spend(shares[0])) ** (1 / n)
        words += f", and even if all are solved, no more than {percent_down(best)} of new ones are certified to be"
    return (f"{words}.",)
