"""How the support of the prior is sampled around what was learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax

from ..algorithms.algorithm import Algorithm


def is_single_number(leaf: Any) -> bool:
    """Whether a parameter is a single number, such as a step size, and not an array, such as a learned curvature."""
    return eqx.is_inexact_array(leaf) and leaf.ndim == 0


def _nothing(leaf: Any) -> bool:
    return False


@dataclass(frozen=True)
class Prior:
    """How the support of the prior is sampled around what was learned, as in `loa.learning.langevin_support`.

    Parameters that are single numbers vary, and candidates have the others in common. An algorithm that has none, such
    as a network, varies as a whole, by steps of a hundredth of the size.
    """

    candidates: int = 100
    step_size: float = 1e-4
    chains: int = 10
    thinning: int = 20
    batch: int = 16
    at_least: float = 0.9

    def around(self, algorithm: Algorithm, *, unchanged: bool = False) -> dict[str, Any]:
        """The options for sampling around this algorithm; one that is to stay unchanged is the only candidate."""
        single = any(map(is_single_number, jax.tree.leaves(algorithm)))
        free = is_single_number if single else eqx.is_inexact_array
        return {
            "size": self.candidates,
            "step_size": self.step_size if single else 0.01 * self.step_size,
            "free": _nothing if unchanged else free,
            "chains": self.chains,
            "thinning": self.thinning,
            "batch": self.batch,
            "at_least": self.at_least,
        }
