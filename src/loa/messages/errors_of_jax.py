"""Errors that come from a user's function under JAX, in short and with a remedy."""

from __future__ import annotations

import jax

LONGEST = 300
"""Characters of an error message that are shown; messages of JAX can be pages long."""

REMEDIES: dict[type[BaseException], str] = {
    jax.errors.TracerBoolConversionError: "`if`, `and`, `or` and `while` do not work on values of JAX: use jnp.where",
    jax.errors.TracerArrayConversionError: "NumPy does not work on values of JAX: use the function of jax.numpy",
    jax.errors.TracerIntegerConversionError: "an index or shape must not depend on the values of a problem",
    jax.errors.NonConcreteBooleanIndexError: "shapes must not depend on values: use jnp.where(condition, value, 0.0)",
    jax.errors.UnexpectedTracerError: "a function must return what it computes, and keep nothing of it elsewhere",
    jax.errors.ConcretizationTypeError: "float(), int() and shapes must not depend on the values of a problem",
}


def in_short(error: BaseException) -> str:
    """The first paragraph of an error message, without a stop, and for errors of JAX a remedy."""
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    words = " ".join(text.strip().split("\n\n")[0].split("\nThe error occurred")[0].split()).rstrip(".")
    words = words if len(words) <= LONGEST else f"{words[:LONGEST]}…"
    remedy = next((each for kind, each in REMEDIES.items() if isinstance(error, kind)), None)
    return words if remedy is None else f"{words} ({remedy})"
