"""Performance against generalization: the paper's network for network training, learned from few problems and many.

Each is trained, and chosen, on the problems it has seen. On others it is certified twice: alone, on held-out
problems; and as a posterior on a support around it, which the seen problems give a prior.

    python overfitting.py > results/overfitting.json
"""

import json
import sys
import time

import jax

import loa
from loa.architectures import LearnedNetworkTraining
from loa.experiments import get
from loa.learning import langevin_support, posterior_on, prior_on

SIZES = (3, 30, 1000)
STEPS = 3000
LOOKED_AT = 100
"""Of the problems seen, at most this many choose the best point and give the prior."""
HELD_OUT = POSTERIOR = 250
SUPPORT = 5
CONFIDENCE = 0.95

EXPERIMENT = get("network")
CLASS = EXPERIMENT.problem_class
SETTING = dict(criterion=EXPERIMENT.criterion, horizon=EXPERIMENT.horizon)
CAP = float(EXPERIMENT.horizon)


def key(number: int):
    return jax.random.fold_in(jax.random.key(0), number)


def evaluated(algorithm, problems) -> loa.Performance:
    return loa.evaluate(algorithm, CLASS, problems, key=key(0), **SETTING)


def described(performance: loa.Performance) -> dict:
    solved = performance.outcome == "solved"
    return {"mean": float(performance["stopping_time"].mean()), "solved": float(solved.mean())}


def posterior_certificate(algorithm, seen, solved: float):
    """Prior from the problems that were seen, posterior and certificate from others."""
    support, _ = langevin_support(
        algorithm, CLASS, seen, key=key(3), size=SUPPORT, at_least=min(0.95, 0.9 * solved), **SETTING
    )
    problems = EXPERIMENT.draw("posterior", 0, POSTERIOR)
    on_seen, on_others = (evaluated(support, some)["stopping_time"] for some in (seen, problems))
    prior = prior_on(support, on_seen, cap=CAP, num_posterior=on_others.shape[1], failure_probability=1 - CONFIDENCE)
    posterior = posterior_on(prior, on_others, cap=CAP)
    return loa.certificates.certify_posterior(
        on_others.mean(axis=-1).T,
        posterior.stack.weights,
        prior.stack.weights,
        cap=CAP,
        lam=posterior.lam,
        confidence=CONFIDENCE,
        functional="stopping_time",
    )


def learned_from(size: int, start) -> dict:
    started = time.perf_counter()
    problems = EXPERIMENT.draw("training", 0, size)
    seen = jax.tree.map(lambda leaf: leaf[:LOOKED_AT], problems)
    trained = loa.train(
        start,
        CLASS,
        key=key(2),
        problems=problems,
        validation=seen,
        steps=STEPS,
        checks=6,
        learning_rate=5e-4,
        **SETTING,
    )
    on_seen, on_new, on_held_out = (
        evaluated(trained.algorithm, some) for some in (seen, EXPERIMENT.draw("test", 0), CLASS.draw(key(5), HELD_OUT))
    )
    held_out = loa.certify(on_held_out["stopping_time"], cap=CAP, confidence=CONFIDENCE, functional="stopping_time")
    posterior = posterior_certificate(trained.algorithm, seen, described(on_seen)["solved"])
    print(f"{size} problems: {time.perf_counter() - started:.0f} s", file=sys.stderr)
    return {
        "problems": size,
        "seen": described(on_seen),
        "new": described(on_new),
        "held_out_certificate": held_out.bound,
        "posterior_certificate": posterior.bound,
        "sentence": held_out.sentence(),
    }


def main() -> None:
    start = loa.imitate(LearnedNetworkTraining(key=key(1)), loa.Adam(0.05), CLASS, key=key(4), steps=100, **SETTING)
    runs = [learned_from(size, start) for size in SIZES]
    about = {"steps": STEPS, "cap": CAP, "confidence": CONFIDENCE, "support": SUPPORT}
    print(json.dumps(about | {"held_out": HELD_OUT, "posterior": POSTERIOR, "runs": runs}, indent=1))


if __name__ == "__main__":
    main()
