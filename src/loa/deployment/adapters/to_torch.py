"""Algorithms as PyTorch optimizers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from ...algorithms.algorithm import Algorithm, initial_state
from ...trajectory.kernels import in_precision
from .compiled_steps import CompiledSteps, numbered_key
from .python_functions import EagerOracle, NoProblem, Outside, check_deployed, concrete

if TYPE_CHECKING:
    from torch.optim import Optimizer  # pyright: ignore[reportMissingImports]


def torch_optimizer(algorithm: Algorithm, *, key: Key[Array, ""] | None = None) -> type[Optimizer]:
    """Turn an algorithm into a class of PyTorch optimizers.

    Create an optimizer with `loa.torch_optimizer(algorithm)(model.parameters())`. All parameters together are the point
    x. `step(closure)` makes one step; the closure clears the gradients, computes the loss, calls `backward` and returns
    the loss. It may be called several times per step. Algorithms that use only the gradient at the current point do not
    need a closure: `loss.backward(); optimizer.step()`. If something else changes the parameters between two steps, the
    algorithm starts again from there.

    Arguments:
        algorithm: any algorithm that does not need more of a problem than losses and gradients.
        key: a PRNG key for algorithms that use randomness; by default `jax.random.key(0)`.

    Returns:
        A subclass of `torch.optim.Optimizer`.

    The page docs/elsewhere.md has an example.
    """
    try:
        import torch  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise ImportError("loa.torch_optimizer needs PyTorch: pip install 'loa[torch]'.") from None

    check_deployed(algorithm, key)

    class TorchOptimizer(torch.optim.Optimizer):
        """The algorithm on the parameters of a model."""

        def __init__(self, params: Any):
            super().__init__(params, {})
            self._steps, self._state, self._left = 0, None, np.zeros(0)
            self._programs: CompiledSteps | None = None

        @torch.no_grad()
        def step(self, closure: Any = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
            """Make one step, and return the loss at its beginning, or None if the algorithm did not need it."""
            here = self._point()
            model = _Model(self, closure, here)
            try:
                self._state = self._step(model, here)
            except BaseException:
                self._move(here)
                raise
            self._steps, self._left = self._steps + 1, self._point()  # rounded, if the parameters have low precision
            return model.loss

        def _step(self, model: _Model, here: np.ndarray) -> Any:
            """Move the parameters, and return the new state of the algorithm."""
            with jax.enable_x64(here.dtype == np.float64):
                if self._programs is None or self._programs.dtype != here.dtype:
                    self._programs = CompiledSteps(in_precision(algorithm, here.dtype), here.dtype)
                programs, state = self._programs, self._state
                first = jax.random.key(0) if key is None else key
                if state is None or not _same(self._left, here):
                    state = programs.init(jnp.asarray(here), model.value, model.gradient, first)
                model.here = programs.iterate(state)
                known = programs.algorithm.known(state)
                if known is not None and model.loss is None:
                    model.loss = torch.tensor(float(known[0]))
                state = programs.step(state, numbered_key(first, self._steps), model.value, model.gradient)
                self._move(programs.iterate(state))
            return state

        def state_dict(self) -> dict[str, Any]:
            leaves = [torch.from_numpy(np.array(leaf)) for leaf in jax.tree.leaves(self._state)]
            left = torch.from_numpy(self._left.copy())
            return super().state_dict() | {"algorithm": {"steps": self._steps, "point": left, "state": leaves}}

        def load_state_dict(self, state_dict: dict[str, Any]) -> None:
            super().load_state_dict({name: part for name, part in state_dict.items() if name != "algorithm"})
            kept = state_dict["algorithm"]
            self._steps, self._state, self._left = kept["steps"], None, kept["point"].cpu().numpy()
            if kept["state"]:
                here = self._point()
                with jax.enable_x64(here.dtype == np.float64):
                    anything = EagerOracle(Outside(jnp.sum, jnp.zeros_like), NoProblem())
                    own = in_precision(algorithm, here.dtype)
                    form = jax.eval_shape(
                        lambda x: initial_state(own, anything, x, jax.random.key(0)), jnp.asarray(here)
                    )
                    leaves = [jnp.asarray(leaf.cpu().numpy()) for leaf in kept["state"]]
                    self._state = jax.tree.unflatten(jax.tree.structure(form), leaves)

        def _parameters(self) -> list[Any]:
            return [each for group in self.param_groups for each in group["params"]]

        def _point(self) -> np.ndarray:
            return _numbers(self._parameters())

        def _move(self, x: np.ndarray) -> None:
            """Write a point into the parameters, in place and in their own types."""
            start = 0
            with torch.no_grad():
                for each in self._parameters():
                    piece = torch.from_numpy(x[start : start + each.numel()])
                    each.copy_(piece.reshape(each.shape))
                    start += each.numel()

        def _slope(self) -> np.ndarray:
            return _numbers([torch.zeros_like(each) if each.grad is None else each.grad for each in self._parameters()])

    def _numbers(tensors: list[Any]) -> np.ndarray:
        """All tensors in one vector, in double precision if one of them is, otherwise in single precision."""
        double = any(each.dtype == torch.float64 for each in tensors)
        dtype = torch.float64 if double else torch.float32
        return torch.cat([each.detach().reshape(-1).to("cpu", dtype) for each in tensors]).numpy().copy()

    class _Model:
        """Loss and gradient of the model during one step, computed by the closure; the last result is cached."""

        def __init__(self, optimizer: TorchOptimizer, closure: Any, here: np.ndarray):
            self.optimizer, self.closure, self.here = optimizer, closure, here
            self.loss: Any = None
            self._last: tuple[bytes, Any, np.ndarray] | None = None

        def value(self, x: Any) -> np.ndarray:
            return np.asarray(self._ask(concrete(x))[1], self.here.dtype)

        def gradient(self, x: Any) -> np.ndarray:
            point = concrete(x)
            if self.closure is None and _same(point, self.here):
                return self.optimizer._slope()
            return self._ask(point)[2]

        def _ask(self, point: np.ndarray) -> tuple[bytes, Any, np.ndarray]:
            if self.closure is None:
                raise ValueError(
                    f"{type(algorithm).__name__} needs more than the gradient at this point: call step(closure), "
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


def _same(x: Any, y: np.ndarray) -> bool:
    """Whether two points are equal, where NaN equals NaN."""
    return np.array_equal(x, y, equal_nan=True)
