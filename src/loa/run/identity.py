"""The identity of a run: everything that determines its results, and what differs between two runs, in words."""

from __future__ import annotations

import functools
import hashlib
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from ..algorithms.algorithm import Algorithm
from ..experiments.experiment import Experiment
from ..problems.computed_optimum import ComputedOptimum
from ..problems.criterion import Criterion
from ..problems.logs.log import Log
from ..storage.checkpoint import fingerprint, recognizable
from ..storage.provenance import versions
from ..trajectory.job import Job

LIBRARY = Path(__file__).parent.parent

Aspect = dict[str, Any]
"""What is compared of one thing: `is`, a text for people, and `fingerprint`, a hash of all of it."""


def identity_of(experiment: Experiment, file: Path | None = None) -> dict[str, Any]:
    """Everything in an experiment that determines the results of a run, in a form that JSON can represent.

    Arguments:
        experiment: the experiment, with the sizes of its preset.
        file: the user's file that defines it, if there is one.

    Returns:
        The aspects by name, for `differences`. Programs are part of them as text; those that call functions of Python
        cannot be told apart by it, so the source of the classes counts as well.
    """
    task, recipe, presentation = experiment.task, experiment.recipe, experiment.presentation
    return {
        "experiment": experiment.name,
        "files": {} if file is None else files_used(file),
        "problem class": _of_module(task.problem_class, _program_of_draws(experiment)),
        "criterion": _of_criterion(task.criterion),
        "horizon": task.horizon,
        "functionals": {each.name: _of_module(each) for each in task.functionals},
        "baselines": {name: _of_module(each) for name, each in task.baselines.items()},
        "learned by": {name: _of_function(learn) for name, learn in recipe.learned.items()},
        "tuned by": {name: _of_function(tune) for name, tune in recipe.tuned.items()},
        "measurements": {"is": "loss, criterion and functionals", "fingerprint": _program_of_steps(experiment) or ""},
        "gap in the figure": _of_function(task.gap),
        "oracle calls per step": task.calls_per_step,
        "sizes": dict(recipe.sizes),
        "log": {"is": "none", "fingerprint": ""} if recipe.log is None else _of_log(recipe.log),
        "effort": recipe.effort,
        "candidates": recipe.prior.candidates,
        "prior": repr(recipe.prior),
        "trajectories shown": presentation.shown,
        "further tests": ", ".join(presentation.more_tests),
        "precision": str(jnp.result_type(float)),
        "versions": versions(),
    }


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What differs between two identities, each difference in a few words; empty if they are the same."""
    if before.keys() != now.keys():
        return ["it was begun by another version of loa"]
    found = [words for name in now if before[name] != now[name] for words in _compared(name, before[name], now[name])]
    specific = [words for words in found if not words.startswith("measurements")]
    return specific or found


def _compared(name: str, before: Any, now: Any) -> Iterator[str]:
    """The differences in one aspect."""
    if name == "files":
        yield from _compared_files(before, now)
    elif not isinstance(now, dict) or not isinstance(before, dict):
        yield f"{name}: {before} before, {now} now"
    elif "fingerprint" in now:
        same = before.get("is") == now["is"]
        yield f"{name}: {now['is']} has changed" if same else f"{name}: {before.get('is')} before, {now['is']} now"
    else:
        for key in [*before, *(key for key in now if key not in before)]:
            if before.get(key) != now.get(key):
                missing = before.get(key, now.get(key))
                none = {"is": "none", "fingerprint": ""} if isinstance(missing, dict) else "none"
                yield from _compared(f"{name}, {key}", before.get(key, none), now.get(key, none))


def _compared_files(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """The user's file is called `main` in both; the modules that it imports go by their names."""
    for key in [*before, *(key for key in now if key not in before)]:
        old, new = before.get(key), now.get(key)
        if old is None or new is None:
            path = (now if old is None else before)[key]["is"]
            yield f"the file {path} is {'now' if old is None else 'no longer'} used"
        elif old["fingerprint"] != new["fingerprint"]:
            same = old["is"] == new["is"]
            yield f"the file {new['is']} has changed since" if same else f"file: {old['is']} before, {new['is']} now"


def files_used(file: Path) -> dict[str, Aspect]:
    """The user's file and the modules beside it or below that are imported, with hashes of their contents."""
    file, found = file.resolve(), {"main": of_file(file.resolve())}
    for name, module in sorted(sys.modules.items()):
        path = _local_file(module, file.parent)
        if path is not None and path != file:
            found[name] = of_file(path)
    return found


def _local_file(module: object, folder: Path) -> Path | None:
    """The file of a module in this folder, unless it belongs to an installed library or to loa."""
    name = getattr(module, "__file__", None)
    if not isinstance(name, str) or not name.endswith(".py"):
        return None
    path = Path(name).resolve()
    others = (Path(sys.prefix).resolve(), Path(sys.base_prefix).resolve(), LIBRARY)
    installed = "site-packages" in path.parts or any(path.is_relative_to(other) for other in others)
    return path if path.is_relative_to(folder) and not installed and path.is_file() else None


def of_file(path: Path) -> Aspect:
    """A file: its path, and a hash of its content."""
    return {"is": str(path), "fingerprint": hashlib.sha256(path.read_bytes()).hexdigest()[:32]}


def _of_module(module: eqx.Module, *more: str | None) -> Aspect:
    """A problem class, functional or algorithm: its fields, arrays, and the source of a class that is the user's."""
    text, sources = _without_addresses(repr(module)), [_source(each) for each in type(module).__mro__]
    return {"is": text, "fingerprint": fingerprint(text, module, *sources, *(each or "" for each in more))}


def _of_log(log: Log) -> Aspect:
    """The instances, and the rule by which they get their roles."""
    return {
        "is": f"{log.instances!r}, {log.rule}",
        "fingerprint": fingerprint(log.instances.problems, log.order, dict(log.sizes)),
    }


def _of_criterion(criterion: Criterion) -> Aspect:
    exact = [(_without_addresses(repr(each.gap)), each.tolerance) for each in criterion.thresholds()]
    return {"is": repr(criterion), "fingerprint": fingerprint(_without_addresses(repr(criterion)), exact)}


def _of_function(function: Callable[..., Any]) -> Aspect:
    """A function: its name, and its source unless it is one of loa's."""
    inner: Any = function
    while isinstance(inner, functools.partial):
        inner = inner.func
    name = getattr(inner, "__name__", type(inner).__name__)
    return {"is": name, "fingerprint": fingerprint(name, _source(inner))}


def _source(thing: Any) -> str:
    """The source of a class or function that is neither part of loa nor of a library, as far as it can be found."""
    try:
        file = inspect.getsourcefile(thing)
        if file is None or "site-packages" in file or Path(file).resolve().is_relative_to(LIBRARY):
            return ""
        return inspect.getsource(thing)
    except (OSError, TypeError):
        return ""


def _without_addresses(text: str) -> str:
    return re.sub(r" at 0x[0-9a-fA-F]+", "", text)


def _program_of_draws(experiment: Experiment) -> str | None:
    """The text of the program that draws a problem, with all numbers in it; None if it calls functions of Python."""

    def draw(problem_class: Any, key: Any) -> Any:
        return problem_class.sample(key)

    compiled: Any = eqx.filter_jit(draw)
    program = compiled.lower(experiment.problem_class, jax.random.key(0)).as_text()
    return program if recognizable(program) else None


class _Still(Algorithm):
    """An algorithm that stays where it starts: what is computed of its steps is what is measured."""

    def init(self, oracle: Any, x0: Any) -> Any:
        return x0

    def step(self, oracle: Any, state: Any, key: Any) -> Any:
        return state


def _program_of_steps(experiment: Experiment) -> str | None:
    """A fingerprint of the program that computes loss, criterion and functionals along a trajectory."""
    task, key = experiment.task, jax.random.key(0)
    form = eqx.filter_eval_shape(task.problem_class.draw, key, 1)
    problems = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), form)
    if isinstance(task.problem_class, ComputedOptimum):
        problems = problems._replace(optimal_loss=jnp.zeros(1))
    indices = jnp.zeros(1, jnp.int32)
    return Job(
        _Still(), None, task.problem_class, problems, indices, key, task.criterion, task.functionals, task.horizon,
        None, 1,
    ).identity()  # fmt: skip
