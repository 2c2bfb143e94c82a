"""`loa run` for a solver that is not JAX: the same stages, in running time."""
