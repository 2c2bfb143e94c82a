"""What arguments may be: each check refuses anything else with one sentence that names the argument."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from numbers import Real
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

LONGEST = 80
"""The number of characters of a value that an error message shows."""


def shown(value: Any) -> str:
    """A value for an error message, on one line and shortened.

    >>> shown(np.zeros(1000))
    'float64[1000]'
    >>> shown("a")
    "'a'"
    """
    if isinstance(value, np.ndarray | jax.Array) and value.ndim:
        return f"{value.dtype.name}{list(value.shape)}"
    text = " ".join(repr(value).split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def outline(value: Any) -> str:
    """A pytree in short, with types and shapes in the place of arrays."""

    def brief(leaf: Any) -> Any:
        return _Text(f"{leaf.dtype}{list(leaf.shape)}" if hasattr(leaf, "dtype") else shown(leaf))

    return " ".join(repr(jax.tree.map(brief, value)).split())


class _Text(str):
    def __repr__(self) -> str:
        return str(self)


def check_type(name: str, value: Any, kind: Any, wanted: str) -> None:
    """Refuse what is not an instance of a class, or of one of several."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be {wanted}, got {shown(value)}.")


def check_callable(name: str, value: Any, wanted: str = "a function") -> None:
    """Refuse what cannot be called."""
    if not callable(value):
        raise TypeError(f"{name} must be {wanted}, got {shown(value)}.")


def is_number(value: Any) -> bool:
    """Whether a value is one real number, which may be infinite, but not NaN; True and False are none."""
    scalar = isinstance(value, np.ndarray | jax.Array) and value.ndim == 0 and _is_real(value.dtype)
    if isinstance(value, bool | np.bool_) or not (isinstance(value, Real) or scalar):
        return False
    try:
        return not math.isnan(float(value))
    except OverflowError:
        return False


def positive_number(name: str, value: Any) -> float:
    """Refuse what is not a positive finite number.

    >>> positive_number("cap", -1.0)
    Traceback (most recent call last):
    ...
    ValueError: cap must be positive and finite, got -1.0.
    """
    if not (is_number(value) and 0 < float(value) < math.inf):
        raise ValueError(f"{name} must be positive and finite, got {shown(value)}.")
    return float(value)


def positive_or_infinite(name: str, value: Any) -> float:
    """Refuse what is not a positive number; infinity stands for "unlimited"."""
    if not (is_number(value) and float(value) > 0):
        raise ValueError(f"{name} must be positive, got {shown(value)}.")
    return float(value)


def any_number(name: str, value: Any) -> float:
    """Refuse what is not a number."""
    if not is_number(value):
        raise ValueError(f"{name} must be a number, got {shown(value)}.")
    return float(value)


def share(name: str, value: Any) -> float:
    """Refuse what is not a number from 0 to 1."""
    if not (is_number(value) and 0 <= float(value) <= 1):
        raise ValueError(f"{name} must be a number from 0 to 1, got {shown(value)}.")
    return float(value)


def number_range(name: str, value: Any, least: float = 0.0) -> tuple[float, float]:
    """Refuse what is not a pair of finite numbers, the first at least `least` and not above the second.

    >>> number_range("steepness", (50, 150))
    (50.0, 150.0)
    """
    pair: tuple[Any, ...] = tuple(value) if isinstance(value, tuple | list) else ()
    fits = len(pair) == 2 and all(is_number(end) and math.isfinite(end) for end in pair) and least <= pair[0] <= pair[1]
    if not fits:
        smallest = "" if least == -math.inf else f" with {least:g} ≤ low ≤ high"
        raise ValueError(f"{name} must be a pair of finite numbers (low, high){smallest}, got {shown(value)}.")
    return float(pair[0]), float(pair[1])


def array_of_numbers(name: str, values: Any) -> np.ndarray:
    """As an array of floating-point numbers or of booleans; whole numbers become floating-point numbers.

    >>> array_of_numbers("values", [1, 2])
    array([1., 2.])
    """
    try:
        array = np.asarray(values)
    except Exception:  # lists of unequal lengths, and whatever an object does that pretends to be an array
        array = np.asarray(None)
    if array.dtype == bool or np.issubdtype(array.dtype, np.floating):
        return array
    if array.size and not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"{name} must be an array of real numbers, got {shown(values)}.")
    return array.astype(float)


def parameter(name: str, *, optional: bool = False) -> Callable[[Any], Any]:
    """The converter of a field that holds a parameter of an algorithm: an array of real numbers.

    >>> parameter("step_size")(0.5).item()
    0.5
    """

    def convert(value: Any) -> Any:
        if value is None and optional:
            return None
        try:
            array = jnp.asarray(value)
        except (TypeError, ValueError):
            array = None
        if array is None or not _is_real(array.dtype):
            raise TypeError(f"{name} must be a number or an array of real numbers, got {shown(value)}.")
        return array

    return convert


def as_path(name: str, value: Any) -> Path:
    """Refuse what cannot be the path of a file or directory."""
    if not isinstance(value, str | os.PathLike) or "\0" in str(value):
        raise TypeError(f"{name} must be a path, such as 'runs/lasso', got {shown(value)}.")
    return Path(value)


def _is_real(dtype: Any) -> bool:
    return bool(jnp.issubdtype(dtype, jnp.floating) or jnp.issubdtype(dtype, jnp.integer))
