"""Distributions of trajectories ψ: kernels, functionals, the engine, and evaluation."""

from . import kernels as kernels
