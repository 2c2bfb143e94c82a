"""Algorithms as optimizers of PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from ..algorithms.algorithm import Algorithm
from ..kernels import in_precision
from .outside import EagerOracle, Outside

if TYPE_CHECKING:
    from torch.optim import Optimizer  # pyright: ignore[reportMissingImports]


def torch_optimizer(algorithm: Algorithm, *, key: Key[Array, ""] | None = None) -> type[Optimizer]:
    """An algorithm as a class of PyTorch optimizers: `loa.torch_optimizer(algorithm)(model.parameters())`.

    All parameters together are the point x. `step(closure)` makes one step; the closure clears the gradients, computes
    the loss, calls `backward` and returns the loss, and may be asked several times. An algorithm that asks for nothing
    but the gradient where it is can do without: `loss.backward(); optimizer.step()`. Parameters that are changed from
    outside in between are a new start. `key` is for algorithms that use randomness.
    """
    try:
        import torch  # pyright: ignore[reportMissingImports]
        from torch.nn.utils import parameters_to_vector, vector_to_parameters  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise ImportError("loa.torch_optimizer needs PyTorch: pip install 'loa[torch]'.") from None

    class TorchOptimizer(torch.optim.Optimizer):
        """The algorithm on the parameters of a model."""

        def __init__(self, params: Any):
            super().__init__(params, {})
            self._parameters = [each for group in self.param_groups for each in group["params"]]
            self._steps, self._state = 0, None

        @torch.no_grad()
        def step(self, closure: Any = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
            """One step of the algorithm; the first loss that the closure gave, if there is one."""
            here = self._point()
            model = _Model(self, closure, here)
            try:
                self._state = self._step(model, here)
            except BaseException:
                self._move(here)
                raise
            self._steps += 1
            return model.loss

        def _step(self, model: _Model, here: np.ndarray) -> Any:
            """Move the parameters; the state of the algorithm afterwards."""
            with jax.enable_x64(here.dtype == np.float64):
                oracle = EagerOracle(Outside(model.value, model.gradient), ())
                x, own = jnp.asarray(here), in_precision(algorithm, here.dtype)
                state = self._state
                if state is None or not np.array_equal(own.iterate(state), here):
                    state = own.init(oracle, x)
                first = jax.random.key(0) if key is None else key
                state = own.step(oracle, state, jax.random.fold_in(first, self._steps + 1))
                self._move(np.array(own.iterate(state)))
            return state

        def state_dict(self) -> dict[str, Any]:
            leaves = [torch.from_numpy(np.array(leaf)) for leaf in jax.tree.leaves(self._state)]
            return super().state_dict() | {"algorithm": {"steps": self._steps, "state": leaves}}

        def load_state_dict(self, state_dict: dict[str, Any]) -> None:
            super().load_state_dict({name: part for name, part in state_dict.items() if name != "algorithm"})
            kept = state_dict["algorithm"]
            self._steps, self._state = kept["steps"], None
            if kept["state"]:
                here = self._point()
                with jax.enable_x64(here.dtype == np.float64):
                    anything = Outside(jnp.sum, jnp.zeros_like)
                    own = in_precision(algorithm, here.dtype)
                    form = jax.eval_shape(lambda x: own.init(EagerOracle(anything, ()), x), jnp.asarray(here))
                    leaves = [jnp.asarray(leaf.cpu().numpy()) for leaf in kept["state"]]
                    self._state = jax.tree.unflatten(jax.tree.structure(form), leaves)

        def _point(self) -> np.ndarray:
            return parameters_to_vector(self._parameters).detach().cpu().numpy().copy()

        def _move(self, x: np.ndarray) -> None:
            vector_to_parameters(torch.from_numpy(x).to(self._parameters[0].device), self._parameters)

        def _slope(self) -> np.ndarray:
            slopes = [torch.zeros_like(each) if each.grad is None else each.grad for each in self._parameters]
            return parameters_to_vector(slopes).detach().cpu().numpy().copy()

    class _Model:
        """Loss and gradient of the model during one step, by asking the closure; the last answer is remembered."""

        def __init__(self, optimizer: TorchOptimizer, closure: Any, here: np.ndarray):
            self.optimizer, self.closure, self.here = optimizer, closure, here
            self.loss: Any = None
            self._last: tuple[bytes, Any, np.ndarray] | None = None

        def value(self, x: Any) -> Array:
            return jnp.asarray(self._ask(np.array(x))[1], self.here.dtype)

        def gradient(self, x: Any) -> Array:
            point = np.array(x)
            if self.closure is None and np.array_equal(point, self.here):
                return jnp.asarray(self.optimizer._slope())
            return jnp.asarray(self._ask(point)[2])

        def _ask(self, point: np.ndarray) -> tuple[bytes, Any, np.ndarray]:
            if self.closure is None:
                raise ValueError(
                    f"{type(algorithm).__name__} asks for more than the gradient where it is: call step(closure), "
                    "where the closure clears the gradients, computes the loss, calls backward and returns the loss."
                )
            if self._last is None or self._last[0] != point.tobytes():
                self.optimizer._move(point)
                with torch.enable_grad():
                    loss = self.closure()
                if self.loss is None:
                    self.loss = loss
                self._last = point.tobytes(), float(loss), self.optimizer._slope()
            return self._last

    return TorchOptimizer
