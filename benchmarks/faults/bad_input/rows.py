"""What a row of the table of bad arguments is, the bad values that many rows share, and how a row is judged."""

from __future__ import annotations

import re
import traceback
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import loa

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
    return (
        None,
        [],
        {},
        3.0,
        "text",
        np.ones((0,)),
        {"a": np.ones(2), "b": np.ones(3)},
        np.array([None, None]),
        [1.0, 2.0],
    )


def shown(value: Any) -> str:
    text = re.sub(r" at 0x\w+", "", " ".join(repr(value).split()))
    return f"{type(value).__name__} {text:.60}"


def each(name: str, call: Callable[[Any], Any], values: Any, says: str | None = None) -> Iterator[Row]:
    """A row for every value of one argument."""
    says = name.rsplit(" ", 1)[-1] if says is None else says
    for value in values:
        yield Row(f"{name}={shown(value)}", lambda value=value: call(value), says)
