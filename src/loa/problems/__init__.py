"""Problem classes: distributions of optimization problems, their oracles and solution criteria."""

from . import gaps as gaps
from .given import FromFunctions as FromFunctions
from .given import FromInstances as FromInstances
from .problem_class import ProblemClass as ProblemClass
from .quadratics import Quadratics as Quadratics
from .running_example import OutlierMixture as OutlierMixture
from .running_example import RunningExample as RunningExample
