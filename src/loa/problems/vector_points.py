"""Points of any form: an algorithm sees one vector, and a problem class sees its points as it defines them."""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, Scalar

from .problem_class import ProblemClass
from .wrapped import Wrapped


class Form(NamedTuple):
    """The form of a point: the structure of a pytree, such as a dictionary, and the shapes of the arrays in it.

    >>> form = Form.of({"bias": jnp.zeros(2), "weights": jnp.ones((2, 3))})
    >>> form.dimension, form.vector({"bias": jnp.zeros(2), "weights": jnp.ones((2, 3))}).tolist()
    (8, [0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    >>> form.point(jnp.arange(8.0))["bias"].tolist()
    [0.0, 1.0]
    """

    structure: Any
    shapes: tuple[tuple[int, ...], ...]

    @staticmethod
    def of(point: Any) -> Form:
        leaves, structure = jax.tree.flatten(point)
        return Form(structure, tuple(map(jnp.shape, leaves)))

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return sum(map(_size, self.shapes))

    @property
    def is_array(self) -> bool:
        """Whether a point is a single array."""
        return jax.tree_util.treedef_is_leaf(self.structure)

    @property
    def is_vector(self) -> bool:
        """Whether a point is a single vector."""
        return self.is_array and len(self.shapes[0]) == 1

    def vector(self, point: Any) -> Float[Array, " d"]:
        """All entries of a point, array by array; of different precisions, the highest."""
        return jnp.concatenate([jnp.ravel(leaf) for leaf in jax.tree.leaves(point)])

    def point(self, vector: Float[Array, " d"]) -> Any:
        """The point with these entries, in the precision of the vector."""
        ends = np.cumsum([_size(shape) for shape in self.shapes]).tolist()
        parts = zip([0, *ends], ends, self.shapes, strict=False)
        return jax.tree.unflatten(self.structure, [vector[start:end].reshape(shape) for start, end, shape in parts])


def form_of_points(problem_class: ProblemClass, problem: Any) -> Form:
    """The form of the points of a problem class, from the start of one problem. Nothing is computed.

    Arguments:
        problem_class: any problem class.
        problem: one of its problems.

    Returns:
        The form, whose `dimension` is the number of unknowns.

    >>> from loa.problems import ImageRestoration, Quadratics
    >>> form_of_points(Quadratics(dimension=5), Quadratics(dimension=5).sample(jax.random.key(0))).dimension
    5
    """
    return Form.of(eqx.filter_eval_shape(problem_class.start, problem, jax.random.key(0)))


def dtype_of(point: Any) -> Any:
    """The type of the numbers in a point; of several, the one with the highest precision."""
    return jnp.result_type(*jax.tree.leaves(point))


class VectorPoints(Wrapped):
    """The class that it was made from, with vectors in the place of its points.

    Arguments:
        problem_class: the class that is asked.
        form: the form of its points.
    """

    _problem_class: ProblemClass
    _form: Form = eqx.field(static=True)

    def start(self, problem: Any, key: Key[Array, ""]) -> Float[Array, " d"]:
        return self._form.vector(self._problem_class.start(problem, key))

    def loss(self, x: Float[Array, " d"], problem: Any) -> Scalar:
        return self._problem_class.loss(self._form.point(x), problem)

    def smooth(self, x: Float[Array, " d"], problem: Any) -> Scalar:
        return self._problem_class.smooth(self._form.point(x), problem)

    def gradient(self, x: Float[Array, " d"], problem: Any) -> Float[Array, " d"]:
        return self._form.vector(self._problem_class.gradient(self._form.point(x), problem))

    def value_and_gradient(self, x: Float[Array, " d"], problem: Any) -> tuple[Scalar, Float[Array, " d"]]:
        loss, gradient = self._problem_class.value_and_gradient(self._form.point(x), problem)
        return loss, self._form.vector(gradient)

    def hessian_product(self, x: Float[Array, " d"], direction: Any, problem: Any) -> Float[Array, " d"]:
        point, direction = self._form.point(x), self._form.point(direction)
        return self._form.vector(self._problem_class.hessian_product(point, direction, problem))

    def hessian(self, x: Float[Array, " d"], problem: Any) -> Float[Array, "d d"]:
        if self._problem_class.has("hessian"):
            return self._problem_class.hessian(self._form.point(x), problem)
        return ProblemClass.hessian(self, x, problem)

    def residuals(self, x: Float[Array, " d"], problem: Any) -> Float[Array, " m"]:
        return self._problem_class.residuals(self._form.point(x), problem)

    def prox(self, x: Float[Array, " d"], step_size: Any, problem: Any) -> Float[Array, " d"]:
        """A step size for every coordinate is given in the form of a point."""
        if jnp.ndim(step_size) == 1:
            step_size = self._form.point(step_size)
        return self._form.vector(self._problem_class.prox(self._form.point(x), step_size, problem))

    def stochastic_loss(self, x: Float[Array, " d"], problem: Any, key: Key[Array, ""]) -> Scalar:
        return self._problem_class.stochastic_loss(self._form.point(x), problem, key)

    def solution(self, problem: Any) -> Float[Array, " d"]:
        return self._form.vector(self._problem_class.solution(problem))

    def __getattribute__(self, name: str) -> Any:
        """Only some classes have a merit; here it is a gap of vectors."""
        if name != "merit":
            return super().__getattribute__(name)
        gap = getattr(self._problem_class, name)()
        return lambda: lambda _, x, problem: gap(self._problem_class, self._form.point(x), problem)


def vectors_of(points: Any) -> Float[np.ndarray, "n d"]:
    """A stack of points, whatever their form, as the rows of a matrix."""
    return np.concatenate([np.reshape(leaf, (len(leaf), -1)) for leaf in jax.tree.leaves(points)], axis=1)


def _size(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape))
