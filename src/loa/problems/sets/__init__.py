"""Sets and penalties: the non-smooth part of a loss in one line.

A problem class with `smooth(x, problem)` says `constraint = loa.sets.Box(0.0, 1.0)`, or has a method
`constraint(self, problem)` that returns such an object. Its loss, proximal mapping and residual follow.
"""

from .affine import Affine as Affine
from .balls import Ball as Ball
from .balls import L1Ball as L1Ball
from .balls import Simplex as Simplex
from .boxes import Box as Box
from .boxes import NonNegative as NonNegative
from .norms import GroupNorm as GroupNorm
from .norms import L1Norm as L1Norm
from .nuclear import NuclearNorm as NuclearNorm
from .product import Product as Product
from .term import Set as Set
from .term import Term as Term
from .total_variation import TotalVariation as TotalVariation
