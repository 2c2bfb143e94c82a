"""Distributions of trajectories ψ: kernels, functionals, the engine, and evaluation."""
