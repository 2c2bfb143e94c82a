"""Deployment: algorithms as optimizers of SciPy, PyTorch and optax."""

from .to_optax import to_optax as to_optax
from .to_scipy import scipy_method as scipy_method
from .to_torch import torch_optimizer as torch_optimizer
