"""Distributions of trajectories ψ: kernels, functionals, the engine, and evaluation.

The room has the singular because the plural, `loa.trajectories`, is a function.
"""

from . import kernels as kernels
