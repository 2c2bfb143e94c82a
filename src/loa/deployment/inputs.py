"""Problems and points as they arrive from outside: arrays of NumPy or JAX, checked against the shapes compiled for."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from ..messages.arguments import outline, shown
from ..problems.vector_points import dtype_of


class Shapes:
    """The structure, shapes and types of a problem or a point.

    Arguments:
        name: what it is, for error messages.
        example: one of them.
        wanted: where its form comes from, for error messages.
    """

    def __init__(self, name: str, example: Any, wanted: str):
        self.name, self.example, self._wanted = name, example, wanted
        paths, self.structure = jax.tree_util.tree_flatten_with_path(example)
        arrays = [jnp.asarray(leaf) for _, leaf in paths]
        self.forms = [jax.ShapeDtypeStruct(array.shape, array.dtype) for array in arrays]
        self._paths = [jax.tree_util.keystr(path) for path, _ in paths]
        self._devices = {device for array in arrays for device in array.devices()}

    @property
    def dtype(self) -> Any:
        """The type of the numbers; of several, the one with the highest precision."""
        return dtype_of(self.forms)

    def tree(self, leaves: Any) -> Any:
        """The problem or point that is made of these arrays."""
        return jax.tree.unflatten(self.structure, leaves)

    def leaves(self, value: Any) -> list[Any]:
        """The arrays of a problem or point, or one sentence about what is wrong with it."""
        leaves, structure = jax.tree.flatten(value)
        if structure != self.structure:
            raise ValueError(f"{self.name} must be {self._described()}, like {self._wanted}, got {outline(value)}.")
        return [self._checked(*each) for each in zip(leaves, self.forms, self._paths, strict=True)]

    def _checked(self, leaf: Any, form: jax.ShapeDtypeStruct, path: str) -> Any:
        known = isinstance(leaf, np.ndarray) or (isinstance(leaf, jax.Array) and self._is_here(leaf))
        if known and leaf.dtype == form.dtype and leaf.shape == form.shape:
            return leaf
        return self._converted(leaf, form, f"{self.name}{path}")

    def _converted(self, leaf: Any, form: jax.ShapeDtypeStruct, name: str) -> np.ndarray:
        try:
            array = np.asarray(leaf)
        except jax.errors.TracerArrayConversionError:
            raise TypeError("a Solver is a compiled program: inside of jax.jit or vmap, use loa.kernels.") from None
        except ValueError:
            array = np.asarray(None)
        if array.shape != form.shape:
            raise ValueError(
                f"{name} must have shape {list(form.shape)}, like {self._wanted}, got {shown(leaf)}: the solver was "
                "compiled for this shape, so make another one for other shapes (example=…)."
            )
        converted = array.astype(form.dtype) if np.can_cast(array.dtype, form.dtype, "same_kind") else None
        if converted is None or (array.dtype.kind in "iu" and not np.array_equal(array, converted)):
            raise TypeError(f"{name} must hold numbers of type {form.dtype}, got {shown(array)}.")
        return converted

    def _is_here(self, leaf: jax.Array) -> bool:
        return not isinstance(leaf, Tracer) and leaf.devices() == self._devices

    def _described(self) -> str:
        return outline(self.tree(self.forms))
