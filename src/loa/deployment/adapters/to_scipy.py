"""Algorithms as methods of `scipy.optimize.minimize`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from ...algorithms.algorithm import Algorithm
from ...messages.arguments import any_number
from ...messages.warning import warn
from ...problems.problem_class import whole_number
from ...trajectory.kernels import in_precision
from .compiled_steps import CompiledSteps, numbered_key
from .python_functions import check_deployed, concrete

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

STUCK = 10
"""The number of consecutive steps without movement after which the search ends."""

MESSAGES = {
    0: "The gradient is smaller than the tolerance.",
    1: "The maximum number of iterations has been reached.",
    2: "The loss or its gradient is infinite or not a number.",
    3: "The algorithm no longer moves.",
    4: "The callback ended the search.",
}


def scipy_method(algorithm: Algorithm, *, key: Key[Array, ""] | None = None) -> Callable[..., OptimizeResult]:
    """Turn an algorithm into a `method` of `scipy.optimize.minimize`.

    The search ends when no entry of the gradient is larger than the option `gtol` (by default `tol`, or 1e-5), or after
    `maxiter` steps (by default 200 per variable). Without `jac`, gradients are approximated by finite differences. All
    computations are in double precision, whatever the setting of JAX.

    Arguments:
        algorithm: any algorithm that does not need more of a problem than losses and gradients.
        key: a PRNG key for algorithms that use randomness; by default `jax.random.key(0)`.

    Returns:
        A function to be passed as `method` to `scipy.optimize.minimize`.

    >>> import loa
    >>> from scipy.optimize import minimize, rosen, rosen_der
    >>> minimize(rosen, [1.3, 0.7], jac=rosen_der, method=loa.scipy_method(loa.LBFGS())).x.round(4)
    array([1., 1.])
    """

    check_deployed(algorithm, key)
    compiled: dict[tuple[int, ...], CompiledSteps] = {}

    def method(
        fun: Callable[..., float],
        x0: Any,
        args: tuple[Any, ...] = (),
        *,
        jac: Callable[..., Any] | None = None,
        callback: Callable[..., Any] | None = None,
        bounds: Any = None,
        constraints: Any = (),
        tol: float | None = None,
        gtol: float | None = None,
        maxiter: int | None = None,
        disp: bool = False,
        **options: Any,
    ) -> OptimizeResult:
        _check(type(algorithm).__name__, bounds, constraints, options)
        with jax.enable_x64(True):
            functions = _Functions(fun, jac, args)
            steps = 200 * np.size(x0) if maxiter is None else whole_number("maxiter", maxiter, least=0)
            tolerance = next(each for each in (gtol, tol, 1e-5) if each is not None)
            any_number("gtol", tolerance)
            programs = compiled.setdefault(np.shape(x0), CompiledSteps(in_precision(algorithm, np.float64), np.float64))
            found = _minimize(programs, functions, x0, steps, tolerance, callback, key)
        if disp:
            print(f"{found.message} Loss {found.fun:.6g} after {found.nit} steps, {found.nfev} values.")
        return found

    return method


class _Functions:
    """A loss and its gradient, with calls counted; the last value of each is cached, since it is often needed twice."""

    def __init__(self, fun: Callable[..., float], jac: Callable[..., Any] | None, args: tuple[Any, ...]):
        self.fun, self.jac, self.args = fun, jac, args
        self.values = self.gradients = 0
        self._last: dict[str, tuple[bytes, Any]] = {}

    def value(self, x: Any) -> Any:
        return self._once("value", x, self._value)

    def gradient(self, x: Any) -> Any:
        return self._once("gradient", x, self._gradient)

    def _once(self, kind: str, x: Any, compute: Callable[[np.ndarray], Any]) -> Any:
        point = concrete(x)
        known, answer = self._last.get(kind, (None, None))
        if known != point.tobytes():
            answer = compute(point)
            self._last[kind] = point.tobytes(), answer
        return answer

    def _value(self, x: np.ndarray) -> Any:
        self.values += 1
        return np.asarray(self.fun(x, *self.args), float).reshape(())

    def _gradient(self, x: np.ndarray) -> Any:
        self.gradients += 1
        if self.jac is not None:
            gradient = np.asarray(self.jac(x, *self.args), float)
        else:
            from scipy.optimize import approx_fprime

            gradient = np.asarray(approx_fprime(x, lambda point: float(self._value(point))))
        if gradient.shape != x.shape:
            raise ValueError(f"the gradient must have the shape of x, {x.shape}, got {gradient.shape}.")
        return gradient


def _minimize(
    steps_of: CompiledSteps, functions: _Functions, x0: Any, maxiter: int, gtol: float, callback: Any, key: Any
) -> OptimizeResult:
    from scipy.optimize import OptimizeResult

    x0, key = jnp.asarray(np.asarray(x0, float)), jax.random.key(0) if key is None else key
    state = steps_of.init(x0, functions.value, functions.gradient, key)
    steps, still, last = 0, 0, np.array(x0)
    while True:
        x = steps_of.iterate(state)
        gradient = np.asarray(functions.gradient(x))
        if not all(np.isfinite(each).all() for each in (x, gradient, functions.value(x))):
            status, x = 2, last
            break
        still = still + 1 if steps and np.array_equal(x, last) else 0
        last = x
        ended = steps > 0 and callback is not None and _wants_to_end(callback, functions, x)
        status = _status(np.abs(gradient).max(initial=0.0) <= gtol, ended, steps >= maxiter, still >= STUCK)
        if status is not None:
            break
        state = steps_of.step(state, numbered_key(key, steps), functions.value, functions.gradient)
        steps += 1
    return OptimizeResult(
        x=x, fun=float(functions.value(x)), jac=np.array(functions.gradient(x)), nit=steps, nfev=functions.values,
        njev=functions.gradients, status=status, success=status == 0, message=MESSAGES[status],
    )  # fmt: skip


def _status(solved: Any, ended: bool, exhausted: bool, stuck: bool) -> int | None:
    """The reason to end as a status code of SciPy, or None to continue."""
    return 0 if solved else 4 if ended else 1 if exhausted else 3 if stuck else None


def _wants_to_end(callback: Callable[..., Any], functions: _Functions, x: np.ndarray) -> bool:
    """Call the callback in either of SciPy's two ways, and return whether it raised StopIteration."""
    from scipy.optimize import OptimizeResult

    try:
        if set(inspect.signature(callback).parameters) == {"intermediate_result"}:
            callback(intermediate_result=OptimizeResult(x=x.copy(), fun=float(functions.value(x))))
        else:
            callback(x.copy())
    except StopIteration:
        return True
    return False


def _check(name: str, bounds: Any, constraints: Any, options: dict[str, Any]) -> None:
    """Raise an error for arguments that the algorithm cannot handle, and warn of those that it ignores."""
    if bounds is not None or np.any(constraints):
        raise ValueError(f"{name} can handle neither bounds nor constraints.")
    unused = [option for option, value in options.items() if value is not None]
    if unused:
        from scipy.optimize import OptimizeWarning

        warn(f"{name} does not use {', '.join(unused)}.", OptimizeWarning)
