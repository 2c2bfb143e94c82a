"""What loa knows about the machine: faults of JAX and LAPACK that it avoids, and the memory of programs."""
