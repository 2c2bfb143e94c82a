"""Algorithms with something to learn: those of the paper's five experiments, and better ones."""

from .coordinate_network import CoordinateNetwork as CoordinateNetwork
from .cosines import CosineCurvature as CosineCurvature
from .curvature import Curvature as Curvature
from .curvature import DenseCurvature as DenseCurvature
from .curvature import DiagonalCurvature as DiagonalCurvature
from .curvature import LowRankCurvature as LowRankCurvature
from .first_step import FirstStep as FirstStep
from .images import CompactImages as CompactImages
from .images import LearnedImages as LearnedImages
from .lasso import LearnedLasso as LearnedLasso
from .learned_bfgs import LearnedBFGS as LearnedBFGS
from .network import LearnedNetworkTraining as LearnedNetworkTraining
from .problem_adaptive import ProblemAdaptive as ProblemAdaptive
from .proximal_newton import LearnedProximalNewton as LearnedProximalNewton
from .quadratics import LearnedQuadratics as LearnedQuadratics
from .quasi_newton import LearnedQuasiNewton as LearnedQuasiNewton
from .safeguarded import Safeguarded as Safeguarded
from .spectral import LearnedSpectralQuasiNewton as LearnedSpectralQuasiNewton
from .splitting import LearnedSplitting as LearnedSplitting
from .stochastic_network import LearnedStochasticTraining as LearnedStochasticTraining
from .stochastic_newton import LearnedStochasticNewton as LearnedStochasticNewton
