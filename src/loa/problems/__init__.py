"""Problem classes: distributions of optimization problems, with their oracles and solution criteria."""

from . import gaps as gaps
from . import sets as sets
from .computed_optimum import ComputedOptimum as ComputedOptimum
from .drawn import Drawn as Drawn
from .from_functions import FromFunctions as FromFunctions
from .from_functions import FromInstances as FromInstances
from .images import ImageRestoration as ImageRestoration
from .instances import Instances as Instances
from .lasso import Lasso as Lasso
from .log import Log as Log
from .log_files import from_files as from_files
from .logistic_regression import LogisticRegression as LogisticRegression
from .network_training import NetworkTraining as NetworkTraining
from .network_training import StochasticNetworkTraining as StochasticNetworkTraining
from .nonlinear_programs import KKTPoint as KKTPoint
from .nonlinear_programs import NonlinearPrograms as NonlinearPrograms
from .problem_class import ProblemClass as ProblemClass
from .programs import PrimalDual as PrimalDual
from .programs import Program as Program
from .programs import QuadraticPrograms as QuadraticPrograms
from .quadratics import Quadratics as Quadratics
from .rosenbrock import Rosenbrock as Rosenbrock
from .running_example import OutlierMixture as OutlierMixture
from .running_example import RunningExample as RunningExample
