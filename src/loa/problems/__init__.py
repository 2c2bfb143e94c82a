"""Problem classes: distributions of optimization problems, with their oracles and solution criteria."""

from . import gaps as gaps
from . import sets as sets
from .computed_optimum import ComputedOptimum as ComputedOptimum
from .drawn import Drawn as Drawn
from .examples.image_restoration import ImageRestoration as ImageRestoration
from .examples.lasso import Lasso as Lasso
from .examples.logistic_regression import LogisticRegression as LogisticRegression
from .examples.network_training import NetworkTraining as NetworkTraining
from .examples.network_training import StochasticNetworkTraining as StochasticNetworkTraining
from .examples.quadratics import Quadratics as Quadratics
from .examples.rosenbrock import Rosenbrock as Rosenbrock
from .examples.running_example import OutlierMixture as OutlierMixture
from .examples.running_example import RunningExample as RunningExample
from .from_functions import FromFunctions as FromFunctions
from .from_functions import FromInstances as FromInstances
from .logs.instances import Instances as Instances
from .logs.log import Log as Log
from .logs.log_files import from_files as from_files
from .problem_class import ProblemClass as ProblemClass
from .programs.nonlinear_programs import KKTPoint as KKTPoint
from .programs.nonlinear_programs import NonlinearPrograms as NonlinearPrograms
from .programs.quadratic_programs import PrimalDual as PrimalDual
from .programs.quadratic_programs import Program as Program
from .programs.quadratic_programs import QuadraticPrograms as QuadraticPrograms
