"""The space of a solver's parameters, in the words of Optuna."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from typing import Any

from ...learning.tuning import Interval
from ...messages.arguments import check_type, is_number, shown

WIDE = 1000.0
"""From this ratio of its ends on, a range of positive numbers is searched evenly in its logarithm."""


def distributions(space: Mapping[str, Any] | None) -> dict[str, Any]:
    """The distributions of Optuna that parameters are drawn from.

    Arguments:
        space: by parameter, a pair (low, high), a `loa.learning.Interval`, or a list of choices.

    >>> distributions({"rho": (1e-3, 1e3)})["rho"].log, distributions({"depth": (1, 9)})["depth"].high
    (True, 9)
    """
    _check_optuna()
    if not space:
        raise ValueError("there is nothing to tune: give the solver a space, such as space={'rho': (1e-3, 1e3)}.")
    for name in space:
        check_type("the name of a parameter in the space", name, str, "a text")
    return {name: _distribution(name, each) for name, each in space.items()}


def _check_optuna() -> None:
    try:
        import optuna as optuna
    except ImportError:
        raise ImportError("tuning a solver needs Optuna: pip install optuna, or 'loa[tuner]'.") from None


def _distribution(name: str, given: Any) -> Any:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if isinstance(given, list) and given:
        return CategoricalDistribution(given)
    interval = isinstance(given, Interval) or (isinstance(given, tuple) and len(given) == 2)
    pair = interval and all(is_number(end) and math.isfinite(end) for end in given[:2])
    if not pair or not given[0] < given[1]:
        raise ValueError(
            f"the space of {name!r} must be a pair (low, high) of finite numbers with low < high, or a list of "
            f"choices, got {shown(given)}."
        )
    low, high = given[:2]
    logarithmic = given.logarithmic if isinstance(given, Interval) else low > 0 and high / low >= WIDE
    if isinstance(low, int) and isinstance(high, int):
        return IntDistribution(low, high, log=bool(logarithmic))
    return FloatDistribution(float(low), float(high), log=bool(logarithmic))


def inside(known: Mapping[str, Any], space: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that have a place in their distributions: a default may lie outside of the range."""
    return {name: value for name, value in known.items() if name in space and _is_in(value, space[name])}


def _is_in(value: Any, distribution: Any) -> bool:
    try:
        return bool(distribution._contains(distribution.to_internal_repr(value)))
    except (ValueError, TypeError):
        return False


def words(parameters: Mapping[str, Any]) -> str:
    """A setting in a few words.

    >>> words({"rho": 0.123456, "kind": "a"})
    'rho=0.1235, kind=a'
    """
    return ", ".join(
        f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}" for name, value in parameters.items()
    )


def check_names(space: Sequence[str] | Mapping[str, Any], solve: Any) -> None:
    """Refuse parameters that a function does not take, or that a command does not mention."""
    if callable(solve):
        try:
            known = inspect.signature(solve).parameters
        except (TypeError, ValueError):
            return
        if any(each.kind is each.VAR_KEYWORD for each in known.values()):
            return
        missing = [name for name in space if name not in list(known)[1:]]
        where = "the function does not take"
    else:
        text = solve if isinstance(solve, str) else " ".join(map(str, solve))
        missing, where = [name for name in space if f"{{{name}}}" not in text], "the command does not mention"
    if missing:
        raise ValueError(f"{missing[0]!r} is a parameter in the space that {where}.")
