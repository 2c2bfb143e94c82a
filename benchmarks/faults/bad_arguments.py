"""The table of bad arguments to the public functions of loa: each row must end in a sentence of loa's own.

A row is a name, a call, and a pattern that the sentence must contain, usually the name of the argument. `verdict` tells
what is wrong with the way in which a row ended.
"""

from __future__ import annotations

import re
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

import loa
from loa import certificates as c
from loa import learning, measures
from loa.problems.role import Role

LONGEST = 400
"""The largest number of characters of a sentence."""

NAN, INF = float("nan"), float("inf")
NOT_COUNTS = (0, -1, 2.5, NAN, INF, "ten", None, 2**31, True, 1j, (1, 2))
NOT_POSITIVE = (0.0, -1.0, NAN, INF, "large", None, 1j, (1.0, 2.0))
NOT_FRACTIONS = (0, 1, 95, -0.5, NAN, "high", None, 1j, (0.5,), True)
NOT_VALUES = ([], [NAN], "text", None, [object()], [1j], np.ones((2, 2, 2)), [[1.0], [1.0, 2.0]], {"a": 1.0})
OUTSIDE_CAP = ([-1.0], [3.0], [INF])
NOT_WEIGHTS = ([0.5, 0.6], [1.5, -0.5], [NAN, 1.0], [1.0], [[0.5, 0.5]], "half", None, [0.5, 0.5j])


class Row(NamedTuple):
    """A bad input: what it is called, the call that it is given to, and what the answer must say."""

    name: str
    call: Callable[[], Any]
    says: str


def verdict(row: Row) -> str:
    """What is wrong with how a row ends; empty if it ends in a sentence of loa's own."""
    source = str(Path(loa.__file__).parent)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            row.call()
        except (ValueError, TypeError, KeyError, FileNotFoundError) as error:
            message = str(error.args[0] if isinstance(error, KeyError) else error)
            where = traceback.extract_tb(error.__traceback__)[-1]
            if not (where.filename.startswith(source) and (where.line or "").startswith("raise")):
                return f"{type(error).__name__} raised in {where.filename}:{where.lineno}: {message[:200]}"
            if not 0 < len(message) <= LONGEST:
                return f"the message has {len(message)} characters: {message[:200]}"
            return "" if re.search(row.says, message) else f"does not say {row.says!r}: {message}"
        except Exception as error:
            return f"{type(error).__name__}: {str(error)[:200]}"
    return "accepted"


@cache
def things() -> dict[str, Any]:
    """A tiny problem class with problems, made once."""
    example = loa.problems.RunningExample()
    problems = jnp.asarray([1.0, 2.0, 3.0])
    return dict(example=example, problems=problems, key=jax.random.key(0), stack=loa.stack([loa.GradientDescent(0.1)]))


def not_keys() -> tuple[Any, ...]:
    key = things()["key"]
    return 0, None, "key", jax.random.PRNGKey(0), jax.random.split(key), np.zeros(2, np.uint32), jax.random.key


def not_problems() -> tuple[Any, ...]:
    return None, [], {}, 3.0, "text", np.ones((0,)), {"a": np.ones(2), "b": np.ones(3)}, np.array([None, None]), [1.0, 2.0]  # fmt: skip


def setting(**changes: Any) -> dict[str, Any]:
    """Arguments that most functions share."""
    return dict(criterion=loa.gap_below(1e-6), horizon=5, key=things()["key"]) | changes


def evaluate(algorithm: Any = None, problem_class: Any = None, problems: Any = None, **changes: Any) -> Any:
    known = things()
    return loa.evaluate(
        loa.GradientDescent(0.1) if algorithm is None else algorithm,
        known["example"] if problem_class is None else problem_class,
        known["problems"] if problems is None else problems,
        **setting(**changes),
    )


def train(algorithm: Any = None, problem_class: Any = None, **changes: Any) -> Any:
    own = dict(steps=2, checks=1, batch=2, pool=2, validation=2)
    given = things()["example"] if problem_class is None else problem_class
    return loa.train(loa.GradientDescent(0.1) if algorithm is None else algorithm, given, **setting(**(own | changes)))


def imitate(algorithm: Any = None, teacher: Any = None, problem_class: Any = None, **changes: Any) -> Any:
    one, known = loa.GradientDescent(0.1), things()
    chosen = [one if each is None else each for each in (algorithm, teacher)]
    own = dict(steps=1, batch=2, pool=2)
    given = known["example"] if problem_class is None else problem_class
    return loa.imitate(*chosen, given, **setting(**(own | changes)))


def tune(factory: Any = loa.GradientDescent, space: Any = None, **changes: Any) -> Any:
    known, own = things(), dict(candidates=2, rounds=1)
    space = {"step_size": (0.1, 0.2)} if space is None else space
    return loa.tune(factory, space, known["example"], known["problems"], **setting(**(own | changes)))


def tune_by_gradient(factory: Any = loa.GradientDescent, space: Any = None, **changes: Any) -> Any:
    known, own = things(), dict(functional=loa.Gap(2), horizon=3, key=things()["key"], iterations=1)
    space = {"step_size": (0.1, 0.2)} if space is None else space
    return loa.tune_by_gradient(factory, space, known["example"], known["problems"], **(own | changes))


def langevin(algorithm: Any = None, **changes: Any) -> Any:
    known, own = things(), dict(size=1, chains=1, thinning=1, batch=2)
    algorithm = loa.GradientDescent(0.1) if algorithm is None else algorithm
    return learning.langevin_support(algorithm, known["example"], known["problems"], **setting(**(own | changes)))


def trajectories(algorithm: Any = None, problem_class: Any = None, problems: Any = None, **changes: Any) -> Any:
    known, own = things(), dict(horizon=3, key=things()["key"])
    return loa.trajectories(
        loa.GradientDescent(0.1) if algorithm is None else algorithm,
        known["example"] if problem_class is None else problem_class,
        known["problems"] if problems is None else problems,
        **(own | changes),
    )


def compare(algorithms: Any = None, **changes: Any) -> Any:
    known = things()
    algorithms = {"a": loa.GradientDescent(0.1)} if algorithms is None else algorithms
    return loa.compare(algorithms, known["example"], known["problems"], **setting(**changes))


def shown(value: Any) -> str:
    text = re.sub(r" at 0x\w+", "", " ".join(repr(value).split()))
    return f"{type(value).__name__} {text:.60}"


def each(name: str, call: Callable[[Any], Any], values: Any, says: str | None = None) -> Iterator[Row]:
    """A row for every value of one argument."""
    says = name.rsplit(" ", 1)[-1] if says is None else says
    for value in values:
        yield Row(f"{name}={shown(value)}", lambda value=value: call(value), says)


def evaluation_rows() -> Iterator[Row]:
    for function in (evaluate, trajectories, compare):
        name = function.__name__
        yield from each(f"{name} horizon", lambda v, f=function: f(horizon=v), NOT_COUNTS)
        yield from each(f"{name} replicates", lambda v, f=function: f(replicates=v), NOT_COUNTS)
        yield from each(f"{name} key", lambda v, f=function: f(key=v), not_keys())
    for function in (evaluate, trajectories):
        name = function.__name__
        yield from each(
            f"{name} problems", lambda v, f=function: f(problems=_given(v)), not_problems(), "problems|loss"
        )
        algorithms = (3.0, "sgd", loa.GradientDescent, jnp.sin, things()["example"])
        yield from each(f"{name} algorithm", lambda v, f=function: f(algorithm=v), algorithms)
        classes = (loa.problems.Lasso, "lasso", 3.0, loa.GradientDescent(0.1))
        yield from each(f"{name} problem_class", lambda v, f=function: f(problem_class=v), classes)
    yield Row("trajectories of a stack", lambda: trajectories(things()["stack"]), "stack")
    yield from each("evaluate criterion", lambda v: evaluate(criterion=v), (1e-6, None, loa.loss_below, "loss", [loa.loss_below(1.0)]))  # fmt: skip
    yield from each("evaluate width", lambda v: evaluate(width=v), (0, -1, 2.5, NAN, INF, "wide", 2**31, True))
    yield from each("evaluate devices", lambda v: evaluate(devices=v), ([], "cpu", 2, ["cpu"], [0]))
    functionals = (loa.StoppingTime(), None, 3, "stopping_time", ["stopping_time"], [loa.StoppingTime], [None])
    yield from each("evaluate functionals", lambda v: evaluate(functionals=v), functionals, "functional")
    yield from each("compare functionals", lambda v: compare(functionals=v), (None, 3, [], [None], "stopping_time"), "functional|StoppingTime")  # fmt: skip
    yield from each("evaluate checkpoints", lambda v: evaluate(checkpoints=v), (3, 1.5, ["a"]), "checkpoints")
    algorithms = (
        None,
        {},
        [],
        loa.GradientDescent(0.1),
        [loa.GradientDescent(0.1)],
        {"a": None},
        {"a": loa.SGD},
        {3: 4},
    )
    yield from each("compare algorithms", lambda v: loa.compare(v, things()["example"], things()["problems"], **setting()), algorithms, "algorithm")  # fmt: skip
    yield from each("evaluate problems of another class", lambda v: evaluate(problems=v), (np.ones((3, 4)), loa.problems.OutlierMixture().draw(things()["key"], 2)), "RunningExample")  # fmt: skip
    valleys = loa.problems.Rosenbrock(dimension=2)
    yield Row("evaluate problems of another class=Rosenbrock", lambda: evaluate(problem_class=valleys), "Rosenbrock")
    performance = evaluate()
    yield from each("performance functional", lambda v: performance[v], ("rate", "", None, 3), "functional")
    yield from each("loa.certify functional", lambda v: loa.certify(performance, v), ("rate", 3, loa.StoppingTime()), "functional")  # fmt: skip
    comparison = compare()
    yield from each("advantage algorithm", lambda v: comparison.advantage(v, over="a"), ("b", None), "algorithm")
    yield from each("faster algorithm", lambda v: comparison.faster("a", over=v), ("b", 3), "algorithm")


def _given(value: Any) -> Any:
    """None stands for a default in `evaluate` above, so that None itself is given in a list."""
    return [None] if value is None else value


def learning_rows() -> Iterator[Row]:
    for function, counts in (
        (train, ("horizon", "steps", "checks", "batch", "pool")),
        (imitate, ("horizon", "steps", "batch", "pool", "length")),
        (langevin, ("horizon", "size", "chains", "thinning", "batch")),
    ):
        name = function.__name__
        for argument in counts:
            yield from each(f"{name} {argument}", lambda v, f=function, a=argument: f(**{a: v}), NOT_COUNTS)
        yield from each(f"{name} key", lambda v, f=function: f(key=v), not_keys())
        yield from each(f"{name} criterion", lambda v, f=function: f(criterion=v), (1e-6, None, "loss"))
        yield from each(f"{name} algorithm", lambda v, f=function: f(v), (3.0, loa.GradientDescent, things()["stack"]))
    yield from each("train problem_class", lambda v: train(problem_class=v), (loa.problems.Lasso, 3.0))
    yield from each("imitate problem_class", lambda v: imitate(problem_class=v), (loa.problems.Lasso, 3.0))
    yield from each("imitate teacher", lambda v: imitate(teacher=v), (3.0, loa.GradientDescent, things()["stack"]))
    for function in (train, imitate):
        name = function.__name__
        yield from each(f"{name} learning_rate", lambda v, f=function: f(learning_rate=v), NOT_POSITIVE)
        yield from each(f"{name} problems", lambda v, f=function: f(problems=v), not_problems()[1:6], "problems")
    yield from each("langevin_support step_size", lambda v: langevin(step_size=v), NOT_POSITIVE)
    for argument in ("averaging", "at_least", "restart"):
        yield from each(f"train {argument}", lambda v, a=argument: train(**{a: v}), (-0.1, 1.1, NAN, "often", 1j))
    yield from each("langevin_support at_least", lambda v: langevin(at_least=v), (-0.1, 1.1, NAN, "often", None))
    yield from each("train objective", lambda v: train(objective=v), (3, "contraction", loa.StoppingTime))
    yield from each("train constraint", lambda v: train(constraint=v), (3, "solved", loa.StoppingTime))
    yield from each("train validation", lambda v: train(validation=v), (0, -1, 2.5, "many", None, [], True, 2**31), "validation")  # fmt: skip
    yield from each("train optimizer", lambda v: train(optimizer=v), (3, "adam", optax.adam), "optimizer")
    yield Row("train more checks than steps", lambda: train(steps=1, checks=2), "checks")
    known = things()
    curvature = dict(teacher=loa.GradientDescent(0.1), times=(0, 1), key=known["key"])
    for argument, values in (
        ("times", ((), (-1,), (0.5,), "soon", None, 3, (NAN,), (2**31,))),
        ("teacher", (3.0, loa.GradientDescent, None)),
        ("key", not_keys()),
    ):
        yield from each(f"average_curvature {argument}", lambda v, a=argument: learning.average_curvature(known["example"], known["problems"], **(curvature | {a: v})), values, "algorithm|teacher" if argument == "teacher" else argument)  # fmt: skip
    step = dict(teacher=loa.GradientDescent(0.1), steps=2, key=known["key"])
    for argument, values in (("steps", NOT_COUNTS), ("teacher", (3.0, loa.GradientDescent)), ("key", not_keys())):
        yield from each(f"first_step {argument}", lambda v, a=argument: learning.first_step(known["example"], known["problems"], **(step | {a: v})), values)  # fmt: skip
    yield from each("as_objective objective", learning.as_objective, (3, "contraction", loa.Gap))


def tuning_rows() -> Iterator[Row]:
    spaces = ({}, 3, None, [], {"step_size": 0.1}, {"step_size": (0.2, 0.1)}, {"step_size": (NAN, 1.0)},
              {"step_size": ("a", "b")}, {"step_size": (0.1, 0.2, 0.3, 0.4)}, {"step_size": (0.0, INF)},
              {"step_size": learning.Interval(-1.0, 1.0, logarithmic=True)}, {"step_size": (0.1j, 1.0)})  # fmt: skip
    for function in (tune, tune_by_gradient):
        name = function.__name__
        yield from each(
            f"{name} space", lambda v, f=function: f(space={3: 4} if v is None else v), spaces, "space|range"
        )
        yield from each(f"{name} unknown parameter", lambda v, f=function: f(space=v), ({"momentum": (0.1, 0.2)},), "algorithm_factory")  # fmt: skip
        yield from each(f"{name} start", lambda v, f=function: f(start=v), ({"step": 0.1}, {"step_size": 9.0}, {"step_size": "a"}, 3, {"step_size": NAN}))  # fmt: skip
        yield from each(f"{name} algorithm_factory", lambda v, f=function: f(v), (3, loa.GradientDescent(0.1), lambda step_size: step_size))  # fmt: skip
        yield from each(f"{name} horizon", lambda v, f=function: f(horizon=v), NOT_COUNTS)
        yield from each(f"{name} key", lambda v, f=function: f(key=v), not_keys())
    for argument in ("candidates", "rounds", "replicates"):
        yield from each(f"tune {argument}", lambda v, a=argument: tune(**{a: v}), NOT_COUNTS)
    yield from each("tune measure", lambda v: tune(measure=v), (3, "mean", None))
    yield from each("tune functional", lambda v: tune(functional=v), (3, "stopping_time", loa.StoppingTime))
    yield from each(
        "tune_by_gradient functional", lambda v: tune_by_gradient(functional=v), (3, None, loa.StoppingTime)
    )
    yield from each("tune_by_gradient iterations", lambda v: tune_by_gradient(iterations=v), NOT_COUNTS)
    yield Row("tune_by_gradient without a derivative", lambda: tune_by_gradient(functional=loa.StoppingTime()), "derivative")  # fmt: skip


def measure_rows() -> Iterator[Row]:
    for function in (measures.mean, measures.summary, measures.probability):
        name = function.__name__
        yield from each(f"measures.{name} values", function, NOT_VALUES)
        yield from each(f"measures.{name} confidence", lambda v, f=function: f([0.0, 1.0], confidence=v), NOT_FRACTIONS)
    for function in (measures.quantile, measures.cvar):
        name = function.__name__
        yield from each(f"measures.{name} values", lambda v, f=function: f(v, 0.5), NOT_VALUES)
        yield from each(f"measures.{name} level", lambda v, f=function: f([0.0, 1.0], v), NOT_FRACTIONS)
    yield from each("measures.tail_probability values", lambda v: measures.tail_probability(v, 1.0), NOT_VALUES)
    yield from each("measures.tail_probability threshold", lambda v: measures.tail_probability([1.0], v), (NAN, "a", None, 1j, (1.0, 2.0)))  # fmt: skip
    yield from each("measures.performance values", lambda v: measures.performance(v, [1.0]), ([], [1.0], "text", None, [[NAN]], [[1j]]))  # fmt: skip
    yield from each("measures.performance weights", lambda v: measures.performance(np.ones((2, 3)), v), NOT_WEIGHTS)


VALUE_BOUNDS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "betting_bound": lambda values, delta, cap: c.betting_bound(values, delta, cap),
    "lower_betting_bound": lambda values, delta, cap: c.lower_betting_bound(values, delta, cap),
    "anytime_bounds": lambda values, delta, cap: c.anytime_bounds(values, delta, cap),
    "cvar_bound": lambda values, delta, cap: c.cvar_bound(values, 0.5, 0.0, delta, cap),
}
FREE_BOUNDS: dict[str, Callable[[Any, Any], Any]] = {
    "tail_bound": lambda values, delta: c.tail_bound(values, 1.0, delta),
    "quantile_bound": lambda values, delta: c.quantile_bound(values, 0.5, delta),
    "lower_cvar_bound": lambda values, delta: c.lower_cvar_bound(values, 0.5, delta),
    "simple_band": c.simple_band,
    "tight_band": c.tight_band,
}


def bound_rows() -> Iterator[Row]:
    for name, bound in VALUE_BOUNDS.items():
        yield from each(f"{name} values", lambda v, b=bound: b(v, 0.05, 2.0), NOT_VALUES + OUTSIDE_CAP, "value")
        yield from each(f"{name} delta", lambda v, b=bound: b([1.0], v, 2.0), NOT_FRACTIONS)
        yield from each(f"{name} cap", lambda v, b=bound: b([1.0], 0.05, v), NOT_POSITIVE)
    for name, bound in FREE_BOUNDS.items():
        yield from each(f"{name} values", lambda v, b=bound: b(v, 0.05), NOT_VALUES, "value")
        yield from each(f"{name} delta", lambda v, b=bound: b([1.0], v), NOT_FRACTIONS)
    yield from each("tail_bound threshold", lambda v: c.tail_bound([1.0], v, 0.05), (NAN, "a", None, 1j))
    yield from each("quantile_bound level", lambda v: c.quantile_bound([1.0], v, 0.05), NOT_FRACTIONS)
    yield from each("cvar_bound threshold", lambda v: c.cvar_bound([1.0], 0.5, v, 0.05, 2.0), (-1, 2.0, NAN, "a", None))
    yield from each("cvar_threshold prior_values", lambda v: c.cvar_threshold(v, 0.5, 2.0), NOT_VALUES, "value")
    yield from each("cvar_threshold level", lambda v: c.cvar_threshold([1.0], v, 2.0), NOT_FRACTIONS)
    yield from each("betting_bound prior_values", lambda v: c.betting_bound([1.0], 0.05, 2.0, v), ([], [NAN], [3.0], "a"), "value")  # fmt: skip
    for bound in (c.clopper_pearson_lower, c.clopper_pearson_upper):
        name = bound.__name__
        yield from each(f"{name} successes", lambda v, b=bound: b(v, 10, 0.05), (-1, 11, 2.5, NAN, "all", None, 1j))
        yield from each(f"{name} trials", lambda v, b=bound: b(0, v, 0.05), (0, -1, 2.5, NAN, INF, "ten", None, 1j))
        yield from each(f"{name} delta", lambda v, b=bound: b(0, 10, v), NOT_FRACTIONS)
    for name, bound in {
        "paper_bound": lambda e, k, n, lam, d: c.paper_bound(e, k, n, lam, d, 1.0),
        "sharp_bound": lambda e, k, n, lam, d: c.sharp_bound(e, k, n, lam, d, 1.0),
        "catoni_bound": c.catoni_bound,
        "kl_bound": lambda e, k, n, lam, d: c.kl_bound(e, k, n, d),
    }.items():
        yield from each(f"{name} empirical", lambda v, b=bound: b(v, 0.0, 10, 1.0, 0.05), (-1.0, 2.0, NAN, "a", None, 1j))  # fmt: skip
        yield from each(f"{name} kl", lambda v, b=bound: b(0.5, v, 10, 1.0, 0.05), (-1.0, NAN, INF, "a", None, 1j))
        yield from each(f"{name} num_problems", lambda v, b=bound: b(0.5, 0.0, v, 1.0, 0.05), (0, -1, 2.5, NAN, "a", None))  # fmt: skip
        yield from each(f"{name} delta", lambda v, b=bound: b(0.5, 0.0, 10, 1.0, v), NOT_FRACTIONS)
        if name != "kl_bound":
            yield from each(
                f"{name} lam", lambda v, b=bound: b(0.5, 0.0, 10, v, 0.05), (0.0, -1.0, NAN, INF, "a", None)
            )
    yield from each("kl_inverse p", lambda v: c.kl_inverse(v, 0.1), (-0.1, 1.1, NAN, "a", None), "p must")
    yield from each("kl_inverse divergence", lambda v: c.kl_inverse(0.5, v), (-0.1, NAN, "a", None))
    for argument, values in (("low", NOT_POSITIVE), ("high", NOT_POSITIVE), ("count", NOT_COUNTS)):
        own = dict(low=0.1, high=0.5, count=3)
        yield from each(f"geometric_grid {argument}", lambda v, a=argument: c.geometric_grid(**(own | {a: v})), values)
        if argument != "count":
            yield from each(f"odds_grid {argument}", lambda v, a=argument: c.odds_grid(**(own | {a: v})), NOT_POSITIVE)
    yield from each("held_out_is_better share", lambda v: c.held_out_is_better(v, 0.5), NOT_FRACTIONS)
    yield from each("held_out_is_better prior_mass", lambda v: c.held_out_is_better(0.5, v), (0, -1, 2, NAN, "a", None))


def pair_rows() -> Iterator[Row]:
    for bound in (c.difference_bound, c.ratio_bound, c.anytime_difference_bounds, c.anytime_ratio_bound):
        name = bound.__name__
        yield from each(f"{name} values", lambda v, b=bound: b(v, [1.0], 0.05, 2.0), NOT_VALUES, "value")
        yield from each(f"{name} baseline", lambda v, b=bound: b([1.0], v, 0.05, 2.0), ([], [1.0, 1.0], [NAN], [3.0], "a", None), "value|baseline|pair")  # fmt: skip
        yield from each(f"{name} delta", lambda v, b=bound: b([1.0], [1.0], v, 2.0), NOT_FRACTIONS)
        yield from each(f"{name} cap", lambda v, b=bound: b([1.0], [1.0], 0.05, v), NOT_POSITIVE)
    yield from each("better_bound baseline", lambda v: c.better_bound([1.0], v, 0.05), ([], [1.0, 1.0], [NAN], "a"), "value|baseline|pair")  # fmt: skip


def posterior_rows() -> Iterator[Row]:
    table, half = np.ones((3, 2)), [0.5, 0.5]
    yield from each("product_bound values", lambda v: c.product_bound(v, half, 0.0, 0.5, 0.05, 2.0), NOT_VALUES + OUTSIDE_CAP + (np.ones((3, 5)),), "value")  # fmt: skip
    yield from each("product_bound posterior", lambda v: c.product_bound(table, v, 0.0, 0.5, 0.05, 2.0), NOT_WEIGHTS)
    yield from each("product_bound kl", lambda v: c.product_bound(table, half, v, 0.5, 0.05, 2.0), (-1.0, NAN, INF, "a", None, 1j))  # fmt: skip
    yield from each("product_bound lam", lambda v: c.product_bound(table, half, 0.0, v, 0.05, 2.0), NOT_FRACTIONS)
    yield from each("product_bound delta", lambda v: c.product_bound(table, half, 0.0, 0.5, v, 2.0), NOT_FRACTIONS)
    yield from each("product_bound cap", lambda v: c.product_bound(table, half, 0.0, 0.5, 0.05, v), NOT_POSITIVE)
    grids = ((), (0.0,), (1.5,), (NAN,), 3, None, "grid")
    yield from each("product_bound_on_grid grid", lambda v: c.product_bound_on_grid(table, half, 0.0, v, 0.05, 2.0), grids, "grid|lam|λ")  # fmt: skip
    yield from each("gibbs_posterior prior", lambda v: c.gibbs_posterior(table, v, 0.5, 2.0), NOT_WEIGHTS)
    yield from each("kl_divergence posterior", lambda v: c.kl_divergence(v, half), NOT_WEIGHTS)
    yield Row("kl_divergence infinite", lambda: c.kl_divergence([0.5, 0.5], [1.0, 0.0]), "KL is infinite")
    yield from each("choose_lambda num_problems", lambda v: c.choose_lambda(table, 0.0, v, 0.05, 2.0), NOT_COUNTS)
    certify = dict(cap=2.0, lam=0.5)
    for argument, values in (
        ("cap", NOT_POSITIVE),
        ("lam", (0.0, 1.5, NAN, "a", None, ())),
        ("confidence", NOT_FRACTIONS),
    ):
        yield from each(f"certify_posterior {argument}", lambda v, a=argument: c.certify_posterior(table, half, half, **(certify | {a: v})), values, "grid|lam|λ" if argument == "lam" else argument)  # fmt: skip
    yield from each("certify_occam prior_mass", lambda v: c.certify_occam([1.0], v, cap=2.0), (0.0, -1.0, 1.5, NAN, "a", 1j))  # fmt: skip
    stack = loa.stack([loa.GradientDescent(0.1), loa.GradientDescent(0.2)])
    values, prior = np.ones((2, 3, 1)), dict(cap=2.0, num_posterior=9)
    yield from each("prior_on values", lambda v: learning.prior_on(stack, v, **prior), NOT_VALUES[:6] + (np.ones(3), np.ones((3, 3, 1))), "value")  # fmt: skip
    yield from each("prior_on cap", lambda v: learning.prior_on(stack, values, **(prior | {"cap": v})), NOT_POSITIVE)
    yield from each("prior_on num_posterior", lambda v: learning.prior_on(stack, values, **(prior | {"num_posterior": v})), NOT_COUNTS, "num_p")  # fmt: skip
    yield from each("prior_on support", lambda v: learning.prior_on(v, values, **prior), (3, None, loa.GradientDescent(0.1), [loa.GradientDescent(0.1)]))  # fmt: skip
    weighted = learning.Weighted(stack.weighted(half), 0.5)
    yield from each(
        "posterior_on values", lambda v: learning.posterior_on(weighted, v, cap=2.0), NOT_VALUES[:6], "value"
    )
    yield from each("posterior_on prior", lambda v: learning.posterior_on(v, values, cap=2.0), (3, None, stack))
    yield from each("mode stack", learning.mode, (3, None, stack), "stack")


def goal_rows() -> Iterator[Row]:
    goals: dict[str, Callable[[Any], Any]] = {
        "Mean": lambda cap: c.Mean("x", cap),
        "CVaR": lambda cap: c.CVaR("x", 0.5, 0.0, cap),
        "PosteriorMean": lambda cap: c.PosteriorMean("x", cap, 0.5),
        "KLMean": lambda cap: c.KLMean("x", cap),
        "PaperMean": lambda cap: c.PaperMean("x", cap),
    }
    for name, goal in goals.items():
        yield from each(f"{name} cap", goal, NOT_POSITIVE)
    for name, goal in {
        "Tail": lambda cap: c.Tail("x", 0.0, cap),
        "Quantile": lambda cap: c.Quantile("x", 0.5, cap),
        "Distribution": lambda cap: c.Distribution("x", cap),
    }.items():
        yield from each(f"{name} cap", goal, (0.0, -1.0, NAN, INF, "large", 1j))
    yield from each("Tail threshold", lambda v: c.Tail("x", v, 2.0), (2.0, NAN, "a", None, 1j))
    yield from each("CVaR threshold", lambda v: c.CVaR("x", 0.5, v, 2.0), (2.0, -1.0, NAN, "a", None, 1j))
    yield from each("Quantile level", lambda v: c.Quantile("x", v, 2.0), NOT_FRACTIONS)
    yield from each("CVaR level", lambda v: c.CVaR("x", v, 0.0, 2.0), NOT_FRACTIONS)
    yield from each("Mean functional", lambda v: c.Mean(v, 2.0), (3, None, loa.StoppingTime()))
    mean = c.Mean("x", 2.0)
    yield from each("Mean.certify values", lambda v: mean.certify(v, 0.95), NOT_VALUES + OUTSIDE_CAP, "value")
    yield from each("Mean.certify confidence", lambda v: mean.certify([1.0], v), NOT_FRACTIONS)
    for goal in (c.Probability("x"), c.Tail("x", 1.0, 2.0), c.Quantile("x", 0.5, 2.0), c.CVaR("x", 0.5, 0.0, 2.0), c.Distribution("x", 2.0)):  # fmt: skip
        name = type(goal).__name__
        yield from each(
            f"{name}.certify values", lambda v, g=goal: g.certify(v, 0.95), NOT_VALUES + ([[1.0, 1.0]],), "value"
        )
        yield from each(f"{name}.certify confidence", lambda v, g=goal: g.certify([1.0], v), (0, 1, 95, NAN, "a"))
    yield Row("Probability of values that are no indicators", lambda: c.Probability("x").certify([0.5], 0.95), "0 or 1")
    yield from each("loa.certify values", lambda v: loa.certify(v, cap=2.0), NOT_VALUES + OUTSIDE_CAP, "value")
    yield from each("loa.certify cap", lambda v: loa.certify([1.0], cap=v), NOT_POSITIVE)
    yield from each("loa.certify confidence", lambda v: loa.certify([1.0], cap=2.0, confidence=v), NOT_FRACTIONS)
    yield from each("loa.certify diverged", lambda v: loa.certify([1.0], cap=2.0, diverged=v), ([True, False], "no", 3), "diverged")  # fmt: skip
    yield from each("loa.certify prior_values", lambda v: loa.certify([1.0], cap=2.0, prior_values=v), ([], [NAN], [9.0]), "value")  # fmt: skip
    certificate = loa.certify([1.0], cap=2.0)
    yield from each("verify values", certificate.verify, NOT_VALUES + OUTSIDE_CAP, "value")
    yield from each("verify error_rate", lambda v: certificate.verify([1.0], error_rate=v), NOT_FRACTIONS)
    yield from each("certificate.at value", certificate.at, (1.0,), "distribution")
    band = c.Distribution("x", 2.0).certify([1.0] * 9, 0.95)
    yield from each("band.at value", band.at, ("a", None, NAN), "value")


def plan_rows() -> Iterator[Row]:
    mean = c.Mean("x", 2.0)
    yield from each("Plan goals", c.Plan, ({}, None, [], 3, {"a": 3}, {"a": c.Mean}, {"a": None}), "goal")
    yield from each("Plan confidence", lambda v: c.Plan({"a": mean}, confidence=v), NOT_FRACTIONS)
    yield from each("Plan parts", lambda v: c.Plan({"a": mean}, parts=v).budget(), ({"b": 1}, {"a": 0}, {"a": "x"}, {"a": NAN}, 3), "part")  # fmt: skip
    yield from each("Plan sizes", lambda v: c.Plan({"a": mean}, sizes=v), ({"held-out": 0}, {"held-out": "a"}, {"heldout": 3}, 3, {"held-out": 2.5}), "size")  # fmt: skip
    yield from each("Plan deployed_on", lambda v: c.Plan({"a": mean}, deployed_on=v), ("test", None, 3))
    yield from each("Plan draws", lambda v: c.Plan({"a": mean}, draws=v), (3, (3,), ("a",)), "draw")
    draw, plan = c.Draw.of(np.arange(3.0), "held-out"), c.Plan({"a": mean}, sizes={"held-out": 3})
    for values in (None, 3, {}, {"y": [1.0]}, {"x": [1.0]}, {"x": "text"}, {"x": [NAN] * 3}):
        yield Row(f"Plan.certify values={shown(values)}", lambda v=values: plan.certify(v, draw), "value|'x'|'a'")
    for other in (None, 3, c.Draw.of(np.arange(3.0), "test"), c.Draw.of(np.arange(2.0), "held-out")):
        yield Row(
            f"Plan.certify draw={shown(other)}", lambda d=other: plan.certify({"x": [1.0] * 3}, d), "draw|problems"
        )
    yield from each("Plan.certify prior_mass", lambda v: plan.certify({"x": [1.0] * 3}, draw, prior_mass=v), (0.5, "a"))
    yield from each("Plan.decided prior", plan.decided, NOT_WEIGHTS[:3] + NOT_WEIGHTS[4:])
    yield from each("Budget confidence", lambda v: c.Budget(v, {"a": 1}), NOT_FRACTIONS)
    yield from each("Budget parts", lambda v: c.Budget(0.95, v), ({}, None, 3, {"a": 0}, {"a": -1}, {"a": NAN}, {"a": INF}, {"a": "x"}, {"a": None}), "part|name")  # fmt: skip
    yield from each("Budget.spend name", lambda v: c.Budget(0.95, {"a": 1}).spend(v), ("b", None, 3, []), "budget")
    yield from each("Budget.report certificates", lambda v: c.Budget(0.95, {"a": 1}).report(v), (3, None, [3], ["a"]))
    yield from each("joint_confidence certificates", c.joint_confidence, (3, None, [3], ["a"]))
    yield from each("Draw.of problems", lambda v: c.Draw.of(v, "held-out"), (None, [], 3.0, np.ones((0, 2)), {"a": np.ones(2), "b": np.ones(3)}, "text", np.array([None])), "problems|empty|draw")  # fmt: skip
    yield from each("Draw.of role", lambda v: c.Draw.of(np.arange(2.0), v), ("heldout", None, 3, Role, []))
    yield from each("check_disjoint draws", c.check_disjoint, (3, None, "a"), "draw")
    yield Row("check_disjoint overlapping", lambda: c.check_disjoint(draw, c.Draw.of(np.arange(2.0), "test")), "2 problems are both")  # fmt: skip
    yield from each("AnytimeCertificate goal", c.AnytimeCertificate, (3, None, c.Mean, "mean"))
    yield from each("AnytimeCertificate.add values", lambda v: c.AnytimeCertificate(mean).add(v), NOT_VALUES + OUTSIDE_CAP, "value")  # fmt: skip
    yield Row("AnytimeCertificate of a quantile", lambda: c.AnytimeCertificate(c.Quantile("x", 0.5, 2.0)).add([1.0]), "any-time")  # fmt: skip
    until = dict(goal=mean, batches=[(np.ones(1), np.ones(1))], within=0.1)
    for argument, values in (
        ("within", (0.0, -1.0, NAN, INF, "a", 1j)), ("reaching", (NAN, "a", 1j)), ("largest", NOT_COUNTS),
        ("confidence", NOT_FRACTIONS), ("batches", (3, None, [], [3], [(1, 2, 3)])), ("used", (3, [3])),
    ):  # fmt: skip
        says = "draw|used" if argument == "used" else "batches|values" if argument == "batches" else argument
        yield from each(f"certify_until {argument}", lambda v, a=argument: c.certify_until(**(until | {a: v})), values, says)  # fmt: skip
    yield Row("certify_until without a rule", lambda: c.certify_until(mean, []), "when to stop")


def storage_rows() -> Iterator[Row]:
    folder = Path(tempfile.mkdtemp())
    (folder / "empty").write_bytes(b"")
    (folder / "text").write_text("hello")
    (folder / "long").write_bytes((2**60).to_bytes(8, "little") + b"{}")
    (folder / "json").write_text("{}")
    loa.save(folder / "good", loa.GradientDescent(0.1))
    content = bytearray((folder / "good").read_bytes())
    (folder / "cut").write_bytes(content[:-1])
    content[-1] ^= 1
    (folder / "flipped").write_bytes(content)
    certificate = loa.certify([1.0], cap=2.0).to_json()
    for function in (loa.load, loa.provenance):
        name = function.__name__
        files = [folder / each for each in ("empty", "text", "long", "json", "cut", "flipped")]
        yield from each(f"loa.{name} file", function, files, "saved by loa")
        yield from each(f"loa.{name} path_or_name", function, (folder / "none", "lassso", "", folder), "no file|directory")  # fmt: skip
        yield from each(f"loa.{name} path_or_name", function, (3, None, 1.5, ["a"], b"lasso", "a\0b"))
    yield from each("loa.load classes", lambda v: loa.load("lasso", classes=v), (3, [3], "abc", loa.GradientDescent), "class")  # fmt: skip
    yield from each("loa.save algorithm", lambda v: loa.save(folder / "new", v), (3, None, loa.GradientDescent, loa.loss_below(1.0)))  # fmt: skip
    yield from each("loa.save provenance", lambda v: loa.save(folder / "new", loa.GradientDescent(0.1), v), (3, "me", {"a": object()}, {"a": np.ones(2)}, [1]), "provenance")  # fmt: skip
    yield from each("loa.save path", lambda v: loa.save(v, loa.GradientDescent(0.1)), (3, None, folder, folder / "no" / "where", ""), "path|directory|folder")  # fmt: skip
    texts = ("", "hello", "{}", "[]", "3", "null", '"a"', certificate[:-9], certificate.replace("0.95", "0.96"), certificate.replace('"n": 1', '"n": 0'), "[" * 10**5)  # fmt: skip
    yield from each("Certificate.from_json text", c.Certificate.from_json, (*texts, None, 3), "certificate")
    yield from each("Certificate.from_dict content", c.Certificate.from_dict, (None, 3, [], {}, "a"), "certificate")
    for name in ("empty", "text", "json", "flipped", "none"):
        yield Row(f"Certificate.load {name}", lambda n=name: c.Certificate.load(folder / n), "certificate")
    for argument, values in (
        ("bound", (NAN, -1.0, "a", None)), ("confidence", (0, 1, 95, NAN)), ("n", (0, 2.5, "a")), ("level", (0, 1, 2)),
        ("measure", ("median", None)), ("band", (3, ((1.0, 2.0),))), ("posterior", ((0.5,), 3)), ("draws", (3, {"a": 1})),
    ):  # fmt: skip
        fields = dict(functional="x", measure="mean", kind="k", bound=1.0, empirical=1.0, confidence=0.95, n=9)
        yield from each(
            f"Certificate {argument}", lambda v, a=argument, f=fields: c.Certificate(**(f | {a: v})), values
        )


def deployment_rows() -> Iterator[Row]:
    yield from each("from_optax transformation", loa.from_optax, (3, None, "adam", optax.adam, optax))
    for function in (loa.to_optax, loa.scipy_method, *_torch()):
        name = function.__name__
        algorithms = (3, None, "sgd", loa.GradientDescent, things()["stack"])
        yield from each(f"{name} algorithm", function, algorithms)
        yield from each(f"{name} key", lambda v, f=function: f(loa.SGD(0.1), key=v), tuple(v for v in not_keys() if v is not None))  # fmt: skip
    rows = {
        "bounds": dict(bounds=[(0, 1)]),
        "constraints": dict(constraints=[{"type": "eq", "fun": abs}]),
        "maxiter": dict(options={"maxiter": "many"}),
        "maxiter that is negative": dict(options={"maxiter": -1}),
        "gtol": dict(options={"gtol": "small"}),
        "gtol that is NaN": dict(options={"gtol": NAN}),
        "gradient": dict(jac=lambda x: [1.0, 2.0]),
    }
    for name, options in rows.items():
        yield Row(f"minimize with {name}", lambda o=options: _minimize(**o), name.split()[0])
    update = loa.to_optax(loa.GradientDescent(0.1))
    yield Row("update without parameters", lambda: update.update(jnp.ones(1), update.init(jnp.ones(1))), "parameters")


def _torch() -> tuple[Any, ...]:
    try:
        import torch  # noqa: F401  # pyright: ignore
    except ImportError:
        return ()
    return (loa.torch_optimizer,)


def _minimize(**options: Any) -> Any:
    from scipy.optimize import minimize

    options = {"jac": lambda x: 2 * x} | options
    return minimize(lambda x: float(x @ x), np.ones(1), method=loa.scipy_method(loa.GradientDescent(0.1)), **options)


def problem_rows() -> Iterator[Row]:
    problems = loa.problems
    key = things()["key"]
    yield from each("draw num_problems", lambda v: things()["example"].draw(key, v), NOT_COUNTS)
    yield from each("draw key", lambda v: things()["example"].draw(v, 1), not_keys())
    for name, argument in (("Quadratics", "dimension"), ("Lasso", "rows"), ("Lasso", "columns"), ("NetworkTraining", "num_points"), ("StochasticNetworkTraining", "num_points"), ("StochasticNetworkTraining", "batch_size"), ("Rosenbrock", "dimension")):  # fmt: skip
        yield from each(f"{name} {argument}", lambda v, n=name, a=argument: getattr(problems, n)(**{a: v}), NOT_COUNTS)
    ranges = ((2.0, 1.0), (-1.0, 1.0), (NAN, 1.0), 3, None, "ab", (1.0,), (1.0, INF))
    for name, argument in (("Quadratics", "strong_convexity"), ("Quadratics", "smoothness_range"), ("Lasso", "regularization"), ("Rosenbrock", "steepness")):  # fmt: skip
        yield from each(f"{name} {argument}", lambda v, n=name, a=argument: getattr(problems, n)(**{a: v}), ranges)
    yield from each(
        "Rosenbrock bottom", lambda v: problems.Rosenbrock(bottom=v), ((2.0, 1.0), (NAN, 1.0), 3, None, "ab")
    )
    yield from each("Lasso seed", lambda v: problems.Lasso(rows=2, columns=2, seed=v), (2.5, "a", None, NAN, -1))
    yield from each("LogisticRegression penalty", problems.LogisticRegression, NOT_POSITIVE)
    for argument in ("smallest", "largest"):
        yield from each(f"RunningExample {argument}", lambda v, a=argument: problems.RunningExample(**{a: v}), NOT_POSITIVE, "m|L")  # fmt: skip
    yield from each("OutlierMixture curvature", lambda v: problems.OutlierMixture(curvature=v), NOT_POSITIVE)
    yield from each("OutlierMixture outlier_probability", lambda v: problems.OutlierMixture(outlier_probability=v), (-0.1, 1.1, NAN, "a", None))  # fmt: skip
    yield from each("ImageRestoration size", lambda v: problems.ImageRestoration(size=v), ((2, 2), (0, 9), 3, None, "ab", (2.5, 9)))  # fmt: skip
    yield from each("ImageRestoration images", problems.ImageRestoration, ("/no/such/folder", __file__, 3), "photographs|folder|images")  # fmt: skip
    loss = lambda x, problem: x**2  # noqa: E731
    yield from each("FromInstances instances", lambda v: loa.FromInstances(v, loss, 0.0), not_problems()[:8], "instances|problems")  # fmt: skip
    yield from each("FromInstances loss", lambda v: loa.FromInstances(np.ones(2), v, 0.0), (3, None, "loss"))
    yield from each("FromInstances start", lambda v: loa.FromInstances(np.ones(2), loss, v), ("a", None, [1j], object(), {"x": 1.0}))  # fmt: skip
    yield from each("FromFunctions sample", lambda v: loa.FromFunctions(v, loss, 0.0), (3, None, "sample"))
    yield from each("FromFunctions loss", lambda v: loa.FromFunctions(jax.random.uniform, v, 0.0), (3, None))
    yield from each("FromFunctions start", lambda v: loa.FromFunctions(jax.random.uniform, loss, v), ("a", None, [1j]))
    yield from each("has method", things()["example"].has, ("hessian", None, 3), "optional method")
    yield from each("optimal_losses problem_class", lambda v: loa.optimal_losses(v, things()["problems"]), (things()["example"], 3, None))  # fmt: skip
    yield from each("experiments.get name", loa.experiments.get, ("lassso", "", None, 3, []), "experiment")


def part_rows() -> Iterator[Row]:
    for criterion in (loa.loss_below, loa.gradient_norm_below, loa.distance_below, loa.prox_residual_below, loa.gap_below):  # fmt: skip
        yield from each(f"{criterion.__name__} tolerance", criterion, (0.0, -1.0, NAN, "small", None, 1j, (1.0, 2.0)))
    yield from each("prox_residual_below step_size", lambda v: loa.prox_residual_below(1.0, v), (0.0, -1.0, NAN, INF, "a", 1j))  # fmt: skip
    yield from each("gap_below gap", lambda v: loa.gap_below(1.0, v), (3, None, "loss"))
    yield Row("criteria joined by or", lambda: loa.loss_below(1.0) or loa.loss_below(2.0), "combine criteria")
    for functional in (loa.Gap, loa.CumulativeGap):
        yield from each(f"{functional.__name__} step", functional, (-1, 2.5, NAN, INF, "a", None, 1j, 2**31))
    for functional in (loa.Gap, loa.CumulativeGap):
        yield from each(f"{functional.__name__} cap", lambda v, f=functional: f(1, cap=v), (0.0, -1.0, NAN, "a", None, 1j))  # fmt: skip
    for functional in (loa.LargestGap, loa.SmallestGap, loa.ContractionFactor, loa.ConvergenceRate, loa.OracleCalls):
        yield from each(f"{functional.__name__} cap", lambda v, f=functional: f(cap=v), (0.0, -1.0, NAN, "a", None, 1j))
    yield from each(
        "OracleCalls kinds", lambda v: loa.OracleCalls(kinds=v), ("gradient", ["gradient"], 3, None, ("a",))
    )
    yield from each("Indicator predicate", lambda v: loa.Indicator("x", v), (3, None, "a"))
    yield from each("Indicator of", lambda v: loa.Indicator("x", bool, v), (3, None, loa.StoppingTime), "of must")
    yield from each("StoppingTime name", lambda v: loa.StoppingTime(name=v), (3, None, ""))
    numbers = ("a", 1j, [1j], [None], object(), {"a": 1.0})
    for name, argument in (("GradientDescent", "step_size"), ("SGD", "step_size"), ("HeavyBall", "step_size"), ("HeavyBall", "momentum"), ("Adam", "learning_rate"), ("Adam", "beta1"), ("FISTA", "step_size"), ("ProximalGradient", "step_size"), ("BarzilaiBorwein", "step_size"), ("NesterovAcceleratedGradient", "momentum")):  # fmt: skip
        own = {"GradientDescent": {}, "HeavyBall": dict(step_size=0.1, momentum=0.1), "Adam": dict(learning_rate=0.1)}
        yield from each(f"{name} {argument}", lambda v, n=name, a=argument, o=own: getattr(loa, n)(**(o.get(n, {}) | {a: v})), numbers)  # fmt: skip
    yield from each("LBFGS memory", loa.LBFGS, NOT_COUNTS)
    yield from each("LBFGS flatness", lambda v: loa.LBFGS(flatness=v), NOT_FRACTIONS)
    one = loa.GradientDescent(0.1)
    yield from each("stack algorithms", loa.stack, ([], 3, None, [3], one, [loa.SGD], [one, loa.SGD(0.1)], [one, None], things()["stack"]), "algorithm")  # fmt: skip
    yield from each("stack weights", lambda v: loa.stack([one, one], v), tuple(v for v in NOT_WEIGHTS if v is not None))
    yield from each("stack index", lambda v: things()["stack"][v], ("a", None, 2.5), "candidate|index")
    yield from each("weighted weights", things()["stack"].weighted, ([0.5], [0.5, 0.5], "a", None))


GROUPS = (
    evaluation_rows, learning_rows, tuning_rows, measure_rows, bound_rows, pair_rows, posterior_rows, goal_rows,
    plan_rows, storage_rows, deployment_rows, problem_rows, part_rows,
)  # fmt: skip


def rows() -> tuple[Row, ...]:
    """The whole table."""
    return tuple(row for group in GROUPS for row in group())
