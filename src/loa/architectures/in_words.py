"""What an algorithm is called in tables and sentences."""

from __future__ import annotations

from ..algorithms.algorithm import Algorithm
from .safeguarded import Safeguarded


def in_words(algorithm: Algorithm) -> str:
    """The class of an algorithm; of a guarded one, that of what is guarded, and of its fallback.

    >>> import loa
    >>> in_words(loa.safeguard(loa.Newton(), loa.LBFGS()))
    'Newton, guarded by LBFGS'
    """
    if isinstance(algorithm, Safeguarded):
        return f"{family_of(algorithm)}, guarded by {type(algorithm.fallback).__name__}"
    return type(algorithm).__name__


def family_of(algorithm: Algorithm) -> str:
    """The class of an algorithm, or of what is guarded in it."""
    return type(algorithm.learned if isinstance(algorithm, Safeguarded) else algorithm).__name__
