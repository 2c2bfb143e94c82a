"""Algorithms of loa in other frameworks: SciPy, PyTorch and optax."""
