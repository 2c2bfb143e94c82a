"""Bad arguments of posteriors, goals, plans, budgets and draws."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import loa
from loa import certificates as c
from loa import learning
from loa.problems.role import Role

from .rows import (
    INF,
    NAN,
    NOT_COUNTS,
    NOT_FRACTIONS,
    NOT_POSITIVE,
    NOT_VALUES,
    NOT_WEIGHTS,
    OUTSIDE_CAP,
    Row,
    each,
    shown,
)


def posterior_rows() -> Iterator[Row]:
    table, half = np.ones((3, 2)), [0.5, 0.5]
    yield from each(
        "product_bound values",
        lambda v: c.product_bound(v, half, 0.0, 0.5, 0.05, 2.0),
        NOT_VALUES + OUTSIDE_CAP + (np.ones((3, 5)),),
        "value",
    )
    yield from each("product_bound posterior", lambda v: c.product_bound(table, v, 0.0, 0.5, 0.05, 2.0), NOT_WEIGHTS)
    yield from each(
        "product_bound kl", lambda v: c.product_bound(table, half, v, 0.5, 0.05, 2.0), (-1.0, NAN, INF, "a", None, 1j)
    )
    yield from each("product_bound lam", lambda v: c.product_bound(table, half, 0.0, v, 0.05, 2.0), NOT_FRACTIONS)
    yield from each("product_bound delta", lambda v: c.product_bound(table, half, 0.0, 0.5, v, 2.0), NOT_FRACTIONS)
    yield from each("product_bound cap", lambda v: c.product_bound(table, half, 0.0, 0.5, 0.05, v), NOT_POSITIVE)
    grids = ((), (0.0,), (1.5,), (NAN,), 3, None, "grid")
    yield from each(
        "product_bound_on_grid grid",
        lambda v: c.product_bound_on_grid(table, half, 0.0, v, 0.05, 2.0),
        grids,
        "grid|lam|λ",
    )
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
        yield from each(
            f"certify_posterior {argument}",
            lambda v, a=argument: c.certify_posterior(table, half, half, **(certify | {a: v})),
            values,
            "grid|lam|λ" if argument == "lam" else argument,
        )
    yield from each(
        "certify_occam prior_mass", lambda v: c.certify_occam([1.0], v, cap=2.0), (0.0, -1.0, 1.5, NAN, "a", 1j)
    )
    stack = loa.stack([loa.GradientDescent(0.1), loa.GradientDescent(0.2)])
    values, prior = np.ones((2, 3, 1)), dict(cap=2.0, num_posterior=9)
    yield from each(
        "prior_on values",
        lambda v: learning.prior_on(stack, v, **prior),
        (*NOT_VALUES[:6], np.ones(3), np.ones((3, 3, 1))),
        "value",
    )
    yield from each("prior_on cap", lambda v: learning.prior_on(stack, values, **(prior | {"cap": v})), NOT_POSITIVE)
    yield from each(
        "prior_on num_posterior",
        lambda v: learning.prior_on(stack, values, **(prior | {"num_posterior": v})),
        NOT_COUNTS,
        "num_p",
    )
    yield from each(
        "prior_on support",
        lambda v: learning.prior_on(v, values, **prior),
        (3, None, loa.GradientDescent(0.1), [loa.GradientDescent(0.1)]),
    )
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
    for goal in (
        c.Probability("x"),
        c.Tail("x", 1.0, 2.0),
        c.Quantile("x", 0.5, 2.0),
        c.CVaR("x", 0.5, 0.0, 2.0),
        c.Distribution("x", 2.0),
    ):
        name = type(goal).__name__
        yield from each(
            f"{name}.certify values", lambda v, g=goal: g.certify(v, 0.95), (*NOT_VALUES, [[1.0, 1.0]]), "value"
        )
        yield from each(f"{name}.certify confidence", lambda v, g=goal: g.certify([1.0], v), (0, 1, 95, NAN, "a"))
    yield Row("Probability of values that are no indicators", lambda: c.Probability("x").certify([0.5], 0.95), "0 or 1")
    yield from each("loa.certify values", lambda v: loa.certify(v, cap=2.0), NOT_VALUES + OUTSIDE_CAP, "value")
    yield from each("loa.certify cap", lambda v: loa.certify([1.0], cap=v), NOT_POSITIVE)
    yield from each("loa.certify confidence", lambda v: loa.certify([1.0], cap=2.0, confidence=v), NOT_FRACTIONS)
    yield from each(
        "loa.certify diverged", lambda v: loa.certify([1.0], cap=2.0, diverged=v), ([True, False], "no", 3), "diverged"
    )
    yield from each(
        "loa.certify prior_values", lambda v: loa.certify([1.0], cap=2.0, prior_values=v), ([], [NAN], [9.0]), "value"
    )
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
    yield from each(
        "Plan parts",
        lambda v: c.Plan({"a": mean}, parts=v).budget(),
        ({"b": 1}, {"a": 0}, {"a": "x"}, {"a": NAN}, 3),
        "part",
    )
    yield from each(
        "Plan sizes",
        lambda v: c.Plan({"a": mean}, sizes=v),
        ({"held-out": 0}, {"held-out": "a"}, {"heldout": 3}, 3, {"held-out": 2.5}),
        "size",
    )
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
    yield from each(
        "Budget parts",
        lambda v: c.Budget(0.95, v),
        ({}, None, 3, {"a": 0}, {"a": -1}, {"a": NAN}, {"a": INF}, {"a": "x"}, {"a": None}),
        "part|name",
    )
    yield from each("Budget.spend name", lambda v: c.Budget(0.95, {"a": 1}).spend(v), ("b", None, 3, []), "budget")
    yield from each("Budget.report certificates", lambda v: c.Budget(0.95, {"a": 1}).report(v), (3, None, [3], ["a"]))
    yield from each("joint_confidence certificates", c.joint_confidence, (3, None, [3], ["a"]))
    yield from each(
        "Draw.of problems",
        lambda v: c.Draw.of(v, "held-out"),
        (None, [], 3.0, np.ones((0, 2)), {"a": np.ones(2), "b": np.ones(3)}, "text", np.array([None])),
        "problems|empty|draw",
    )
    yield from each("Draw.of role", lambda v: c.Draw.of(np.arange(2.0), v), ("heldout", None, 3, Role, []))
    yield from each("check_disjoint draws", c.check_disjoint, (3, None, "a"), "draw")
    yield Row(
        "check_disjoint overlapping",
        lambda: c.check_disjoint(draw, c.Draw.of(np.arange(2.0), "test")),
        "2 problems are both",
    )
    yield from each("AnytimeCertificate goal", c.AnytimeCertificate, (3, None, c.Mean, "mean"))
    yield from each(
        "AnytimeCertificate.add values", lambda v: c.AnytimeCertificate(mean).add(v), NOT_VALUES + OUTSIDE_CAP, "value"
    )
    until = dict(goal=mean, batches=[(np.ones(1), np.ones(1))], within=0.1)
    for argument, values in (
        ("within", (0.0, -1.0, NAN, INF, "a", 1j)),
        ("reaching", (NAN, "a", 1j)),
        ("largest", NOT_COUNTS),
        ("confidence", NOT_FRACTIONS),
        ("batches", (3, None, [], [3], [(1, 2, 3)])),
        ("used", (3, [3])),
    ):
        says = "draw|used" if argument == "used" else "batches|values" if argument == "batches" else argument
        yield from each(
            f"certify_until {argument}", lambda v, a=argument: c.certify_until(**(until | {a: v})), values, says
        )
    yield Row("certify_until without a rule", lambda: c.certify_until(mean, []), "when to stop")
