"""Solvers that are not JAX: run with a time limit, measured, compared and tuned."""
