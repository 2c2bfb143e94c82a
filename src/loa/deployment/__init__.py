"""Deployment: algorithms at work, as solvers and as optimizers of SciPy, PyTorch and optax."""

from .adapters.to_optax import to_optax as to_optax
from .adapters.to_scipy import scipy_method as scipy_method
from .adapters.to_torch import torch_optimizer as torch_optimizer
from .along_sequences import Met as Met
from .along_sequences import along_sequences as along_sequences
from .any_solver.external import External as External
from .any_solver.measure import measure as measure
from .any_solver.program_solvers import solve_with as solve_with
from .any_solver.tuning import TunedSolver as TunedSolver
from .any_solver.tuning import tune_solver as tune_solver
from .export import load_exported as load_exported
from .rollout import rollout as rollout
from .solution import Solution as Solution
from .solution import Solutions as Solutions
from .solve import solve as solve
from .solver import Solver as Solver
from .watching.watch import Alarm as Alarm
from .watching.watch import Watch as Watch
