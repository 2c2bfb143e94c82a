"""Algorithms: the common interface, and classical methods."""

from .adam import Adam as Adam
from .admm import ADMM as ADMM
from .algorithm import Algorithm as Algorithm
from .algorithm import Stack as Stack
from .algorithm import stack as stack
from .anderson import AndersonProximalGradient as AndersonProximalGradient
from .augmented_lagrangian import AugmentedLagrangian as AugmentedLagrangian
from .barzilai_borwein import BarzilaiBorwein as BarzilaiBorwein
from .conjugate_gradient import ConjugateGradient as ConjugateGradient
from .fista import FISTA as FISTA
from .from_optax import FromOptax as FromOptax
from .from_optax import from_optax as from_optax
from .gradient_descent import GradientDescent as GradientDescent
from .heavy_ball import HeavyBall as HeavyBall
from .lbfgs import LBFGS as LBFGS
from .nesterov import NesterovAcceleratedGradient as NesterovAcceleratedGradient
from .newton import LevenbergMarquardt as LevenbergMarquardt
from .newton import Newton as Newton
from .pdhg import PDHG as PDHG
from .program_admm import Factored as Factored
from .program_admm import ProgramADMM as ProgramADMM
from .proximal_gradient import ProximalGradient as ProximalGradient
from .semismooth_newton import SemismoothNewton as SemismoothNewton
from .sgd import SGD as SGD
from .warm_start import WarmStart as WarmStart
