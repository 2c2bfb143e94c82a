"""Deployment: algorithms at work, as solvers and as optimizers of SciPy, PyTorch and optax."""

from .along_sequences import Met as Met
from .along_sequences import along_sequences as along_sequences
from .export import load_exported as load_exported
from .external import External as External
from .measure import measure as measure
from .program_solvers import solve_with as solve_with
from .rollout import rollout as rollout
from .solution import Solution as Solution
from .solution import Solutions as Solutions
from .solve import solve as solve
from .solver import Solver as Solver
from .to_optax import to_optax as to_optax
from .to_scipy import scipy_method as scipy_method
from .to_torch import torch_optimizer as torch_optimizer
from .tune_solver import TunedSolver as TunedSolver
from .tune_solver import tune_solver as tune_solver
from .watch import Alarm as Alarm
from .watch import Watch as Watch
