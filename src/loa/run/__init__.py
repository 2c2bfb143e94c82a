"""From a problem class to a certified algorithm: `loa run`."""

from .any_solver.command import run_solver_file as run_solver_file
from .any_solver.script import SolverOrder as SolverOrder
from .any_solver.script import carry_out_solver as carry_out_solver
from .batch import Execution as Execution
from .deployed_algorithm import Deployed as Deployed
from .deployed_algorithm import deployed as deployed
from .script import Order as Order
from .script import carry_out as carry_out
