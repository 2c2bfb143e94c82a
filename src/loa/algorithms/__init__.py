"""Algorithms: classical and learned, all on one interface."""

from .algorithm import Algorithm as Algorithm
from .algorithm import Stack as Stack
from .algorithm import stack as stack
from .gradient_descent import GradientDescent as GradientDescent
from .heavy_ball import HeavyBall as HeavyBall
from .learned_quadratics import LearnedQuadratics as LearnedQuadratics
from .sgd import SGD as SGD
