"""Distributions of trajectories ψ: kernels, functionals, the engine, and evaluation.

The plural would be the name of a room and of the function `loa.trajectories`.
"""

from . import kernels as kernels
