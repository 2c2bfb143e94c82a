"""Learned algorithms: those of the paper's five experiments, and better ones."""

from .images import CompactImages as CompactImages
from .images import LearnedImages as LearnedImages
from .lasso import LearnedLasso as LearnedLasso
from .network import LearnedNetworkTraining as LearnedNetworkTraining
from .quadratics import LearnedQuadratics as LearnedQuadratics
from .stochastic_network import LearnedStochasticTraining as LearnedStochasticTraining
