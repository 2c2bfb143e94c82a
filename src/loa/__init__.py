"""Learnable optimization algorithms: statistics, learning and certificates for optimizers on problem distributions.

The public names are listed in `__init__.pyi`; each is imported when it is first used. The rooms of the house, in the
order in which they build on each other (a room imports from itself and from those above it, and a test checks that):

    messages        what is said to users: refusals of wrong arguments, warnings, what a computation waits for
    machine         faults of JAX and LAPACK that loa avoids, and the memory of programs
    problems        P, ℓ, C: problem classes, counted oracles, criteria and gaps
    algorithms      classical methods A, one per file
    architectures   methods with something to learn: the paper's five networks, learned curvature
    storage         files written whole or not at all, saved algorithms, checkpoints, provenance
    parallel        processes and machines that compute parts of an evaluation
    trajectory      ψ: kernels, functionals φ, the engine, evaluation
    statistics      measures Φ of a distribution, timing
    certificates    bounds, goals, plans, budgets, draws, certificates and their verification
    learning        imitation, training, tuning, prior and posterior
    deployment      algorithms at work: solve, watch, export; SciPy, PyTorch and optax; solvers that are not JAX
    results         what a run or a comparison found, in typed numbers
    presentation    figures and report: they draw what is in the results
    experiments     the paper's five, the running example, a user's own file
    run             the stages of `loa run`
    doctor          whether loa works on this machine
    cli             the command line
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
