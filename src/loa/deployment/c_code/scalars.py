"""Numbers in C: their types, their literals, and what each elementwise operation of JAX is there."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

TYPES = {
    "float64": "double", "float32": "float", "bool": "bool", "int8": "int8_t", "int16": "int16_t", "int32": "int32_t",
    "int64": "int64_t", "uint8": "uint8_t", "uint16": "uint16_t", "uint32": "uint32_t", "uint64": "uint64_t",
}  # fmt: skip

UNARY = {
    "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log", "log1p": "log1p", "sqrt": "sqrt", "cbrt": "cbrt",
    "sin": "sin", "cos": "cos", "tan": "tan", "asin": "asin", "acos": "acos", "atan": "atan", "sinh": "sinh",
    "cosh": "cosh", "tanh": "tanh", "asinh": "asinh", "acosh": "acosh", "atanh": "atanh", "erf": "erf", "erfc": "erfc",
    "floor": "floor", "ceil": "ceil", "lgamma": "lgamma",
}  # fmt: skip
"""Functions of math.h with another name in JAX or the same one."""

INFIX = {
    "add": "+", "add_any": "+", "sub": "-", "mul": "*", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">",
    "ge": ">=", "and": "&", "or": "|", "xor": "^",
}  # fmt: skip


class Unsupported(Exception):
    """An operation of JAX for which there is no C here; the argument is its name."""


def c_type(dtype: Any) -> str:
    """The type of C for a type of NumPy.

    >>> c_type(np.dtype("float64"))
    'double'
    """
    try:
        return TYPES[str(dtype)]
    except KeyError:
        raise Unsupported("random keys" if str(dtype).startswith("key") else f"numbers of type {dtype}") from None


def literal(number: Any, dtype: Any) -> str:
    """A number in the notation of C, with all of its digits.

    >>> literal(0.1, np.dtype("float64")), literal(-np.inf, np.dtype("float32")), literal(True, np.dtype("bool"))
    ('0.1', '-INFINITY', 'true')
    """
    kind = np.dtype(dtype).kind
    if kind == "b":
        return "true" if number else "false"
    if kind in "iu":
        return _whole(int(number), dtype)
    if math.isnan(number):
        return "NAN"
    if math.isinf(number):
        return "INFINITY" if number > 0 else "-INFINITY"
    return f"{float(number)!r}" if dtype == np.float64 else f"{np.float32(number).item()!r}f"


def _whole(number: int, dtype: Any) -> str:
    if number == np.iinfo(np.int64).min:
        return "INT64_MIN"
    suffix = {"int64": "LL", "uint64": "ULL", "uint32": "U"}.get(str(dtype), "")
    return f"{number}{suffix}"


def elementwise(name: str, params: dict[str, Any], dtype: Any, inputs: list[tuple[str, Any]]) -> str | None:
    """The expression of an elementwise operation on single numbers, or None if it is not elementwise.

    Arguments:
        name: the primitive of JAX.
        params: its parameters.
        dtype: the type of the result.
        inputs: expressions and their types.

    >>> double = np.dtype("float64")
    >>> elementwise("mul", {}, double, [("x", double), ("y", double)])
    '(x * y)'
    """
    rule = RULES.get(name)
    if rule is not None:
        return rule(params, dtype, inputs)
    expressions, small = [each for each, _ in inputs], "f" if dtype == np.float32 else ""
    if name in UNARY:
        return f"{UNARY[name]}{small}({expressions[0]})"
    if name in INFIX:
        found = f"({expressions[0]} {INFIX[name]} {expressions[1]})"
        return found if np.dtype(dtype).kind in "fb" else f"(({c_type(dtype)}){found})"
    return None


def is_elementwise(name: str) -> bool:
    """Whether an operation acts on each number separately."""
    return name in RULES or name in UNARY or name in INFIX


def _kind(dtype: Any) -> str:
    return np.dtype(dtype).kind


def _small(dtype: Any) -> str:
    return "f" if dtype == np.float32 else ""


def _not(params: Any, dtype: Any, inputs: Any) -> str:
    return f"(!{inputs[0][0]})" if _kind(dtype) == "b" else f"(({c_type(dtype)})~{inputs[0][0]})"


def _divided(params: Any, dtype: Any, inputs: Any) -> str:
    (a, _), (b, _) = inputs
    return f"({a} / {b})" if _kind(dtype) == "f" else f"(({c_type(dtype)})whole_quotient({a}, {b}))"


def _remainder(params: Any, dtype: Any, inputs: Any) -> str:
    (a, _), (b, _) = inputs
    return f"fmod{_small(dtype)}({a}, {b})" if _kind(dtype) == "f" else f"(({c_type(dtype)})whole_remainder({a}, {b}))"


def _absolute(params: Any, dtype: Any, inputs: Any) -> str:
    ((a, _),) = inputs
    return f"fabs{_small(dtype)}({a})" if _kind(dtype) == "f" else f"(({c_type(dtype)})llabs({a}))"


def _sign(params: Any, dtype: Any, inputs: Any) -> str:
    ((a, _),) = inputs
    return f"sign_of{_small(dtype)}({a})" if _kind(dtype) == "f" else f"(({c_type(dtype)})whole_sign({a}))"


def _extreme(word: str) -> Callable[..., str]:
    def rule(params: Any, dtype: Any, inputs: Any) -> str:
        (a, _), (b, _) = inputs
        if _kind(dtype) == "b":
            return f"({a} {'|' if word == 'larger' else '&'} {b})"
        return (
            f"{word}{_small(dtype)}({a}, {b})" if _kind(dtype) == "f" else f"(({c_type(dtype)})whole_{word}({a}, {b}))"
        )

    return rule


def _whole_power(params: Any, dtype: Any, inputs: Any) -> str:
    ((a, _),) = inputs
    exponent = int(params["y"])
    found = (
        f"squared{_small(dtype)}({a})" if abs(exponent) == 2 else f"whole_power{_small(dtype)}({a}, {abs(exponent)})"
    )
    found = found if _kind(dtype) == "f" else f"(({c_type(dtype)}){found})"
    return f"(1 / {found})" if exponent < 0 else found


def _chosen(params: Any, dtype: Any, inputs: Any) -> str:
    (which, _), *cases = inputs
    found = cases[-1][0]
    if len(cases) == 2:
        return f"({which} ? {found} : {cases[0][0]})"
    for number in reversed(range(len(cases) - 1)):
        found = f"({which} == {number} ? {cases[number][0]} : {found})"
    return found


def _converted(params: Any, dtype: Any, inputs: Any) -> str:
    ((a, before),) = inputs
    if before == dtype:
        return a
    if _kind(dtype) == "b":
        return f"({a} != 0)"
    if _kind(before) == "f" and _kind(dtype) in "iu":
        return f"(({c_type(dtype)})whole_part({a}))"
    return f"(({c_type(dtype)}){a})"


def _rounded(params: Any, dtype: Any, inputs: Any) -> str:
    to_even = int(params["rounding_method"]) == 1
    return f"{'rint' if to_even else 'round'}{_small(dtype)}({inputs[0][0]})"


def _clamped(params: Any, dtype: Any, inputs: Any) -> str:
    low, x, high = inputs
    return _extreme("smaller")(params, dtype, [(_extreme("larger")(params, dtype, [x, low]), dtype), high])


RULES: dict[str, Callable[..., str]] = {
    "neg": lambda params, dtype, inputs: f"(-{inputs[0][0]})",
    "not": _not,
    "div": _divided,
    "rem": _remainder,
    "abs": _absolute,
    "sign": _sign,
    "max": _extreme("larger"),
    "min": _extreme("smaller"),
    "integer_pow": _whole_power,
    "square": lambda params, dtype, inputs: _whole_power({"y": 2}, dtype, inputs),
    "pow": lambda params, dtype, inputs: f"pow{_small(dtype)}({inputs[0][0]}, {inputs[1][0]})",
    "atan2": lambda params, dtype, inputs: f"atan2{_small(dtype)}({inputs[0][0]}, {inputs[1][0]})",
    "nextafter": lambda params, dtype, inputs: f"nextafter{_small(dtype)}({inputs[0][0]}, {inputs[1][0]})",
    "rsqrt": lambda params, dtype, inputs: f"(1 / sqrt{_small(dtype)}({inputs[0][0]}))",
    "logistic": lambda params, dtype, inputs: f"(1 / (1 + exp{_small(dtype)}(-{inputs[0][0]})))",
    "round": _rounded,
    "is_finite": lambda params, dtype, inputs: f"(isfinite({inputs[0][0]}) != 0)",
    "select_n": _chosen,
    "convert_element_type": _converted,
    "clamp": _clamped,
}  # fmt: skip
