"""Your own problem as an experiment, with sensible defaults for what a problem class leaves out.

A file that `loa run` takes defines a `ProblemClass` and, where the defaults do not suit, any of these names:
`criterion`, `horizon`, `baselines` (algorithms by name), `sizes` (problems by role), `learn` (a function of the
learning setup), `functionals` (what to measure besides stopping time, contraction factor and oracle calls), `guarded`
(False to deploy what was learned without a safeguard), `instances` (logged problems to use instead of drawing them: a
folder or file, relative to this one) and their `order`.
A file may instead define `experiment`, a complete `Experiment`, which decides everything.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import numpy as np

from ...algorithms import FISTA, LBFGS, PDHG, ConjugateGradient, ProgramADMM, ProximalGradient
from ...algorithms.algorithm import Algorithm
from ...messages.waiting import waiting_for
from ...messages.warning import warn
from ...problems import gaps
from ...problems.criterion import Criterion, gradient_norm_below, prox_residual_below
from ...problems.from_functions import FromInstances, of_log
from ...problems.logs.instances import Instances
from ...problems.problem_class import ProblemClass, whole_number
from ...problems.programs.nonlinear_programs import NonlinearPrograms
from ...problems.programs.nonlinear_programs import residual as nonlinear_residual
from ...problems.programs.quadratic_programs import QuadraticPrograms, residuals_below
from ...problems.programs.quadratic_programs import residual as program_residual
from ...storage.public_classes import classes_in
from ...trajectory.functionals import ContractionFactor, Functional, OracleCalls, StoppingTime
from ..checks import check_baselines, check_functionals, check_sizes, check_type
from ..experiment import Experiment, Learn, Presentation, Preset, Prior, Recipe, Task
from ..families import general
from ..families.nonlinear_programs import classical_methods, relative_criterion
from .errors import blamed_on
from .logged import FEW, instances_in, log_of, notes_on
from .misspelled import near_misses
from .rehearsal import check_learn, check_problem_class, rehearse, returns_an_algorithm

SIZES = {"prior": 250, "posterior": 500, "validation": 250, "held-out": 2000, "test": 250}
REDUCTION = 1e-5
"""Where no criterion is given: the gap has fallen to this share of its median at the start."""

OWN = "a file given to loa"
"""Marks the modules that were made from users' files."""

MAY_DEFINE = ("criterion", "horizon", "baselines", "sizes", "learn", "functionals", "guarded", "order")


def from_file(path: Path) -> Experiment:
    """The experiment that a file defines. Switches JAX to float64, as all experiments do.

    Everything that the file says is checked before an algorithm is learned: types, names, sizes, and on shapes that
    class, criterion, functionals and baselines fit together; then that some sample problems differ and are unsolved.

    Arguments:
        path: a Python file.

    Returns:
        An experiment for `loa.run.carry_out`. A file with which something is wrong raises an `OwnFileError` that names
        the file and the line.
    """
    jax.config.update("jax_enable_x64", True)
    _check_path(path)
    with blamed_on(path, wholly=True), waiting_for(f"the checks of {path}"):
        module = imported(path)
        found = _whole(module) if hasattr(module, "experiment") else _completed(module, path)
        for sentence in near_misses(module):
            warn(sentence)
        recipe = dataclasses.replace(
            found.recipe,
            classes=(*found.recipe.classes, *classes_in(module)),
            learned={how: returns_an_algorithm(learn) for how, learn in found.recipe.learned.items()},
        )
        rehearse(found)
    return dataclasses.replace(found, recipe=recipe)


def _whole(module: ModuleType) -> Experiment:
    found = module.experiment() if callable(module.experiment) else module.experiment
    if not isinstance(found, Experiment):
        raise ValueError(f"`experiment` must be a loa.experiments.experiment.Experiment, got {found!r}.")
    return found


def _completed(module: ModuleType, path: Path) -> Experiment:
    given = {name: getattr(module, name) for name in MAY_DEFINE if hasattr(module, name)}
    instances = instances_in(module, path)
    return experiment_for(_problem_class(module, instances), name=path.stem, instances=instances, **given)


def experiment_for(
    problem_class: ProblemClass,
    *,
    name: str,
    criterion: Criterion | None = None,
    horizon: int | None = None,
    baselines: Mapping[str, Algorithm] | None = None,
    sizes: Mapping[str, int] | None = None,
    learn: Learn | None = None,
    functionals: Sequence[Functional] = (),
    guarded: bool = True,
    instances: Instances | None = None,
    order: str | None = None,
) -> Experiment:
    """Make an experiment from a problem class, with defaults for everything that is not given.

    They depend on what the class knows: L-BFGS and CG are the baselines for smooth problems, FISTA where there is a
    `prox`, Adam where there is a `stochastic_loss`, ADMM and PDHG for quadratic programs, augmented Lagrangian methods
    for nonlinear ones. What is deployed wins a race in which these take part, with methods that are tuned and learned
    for the class.

    Arguments:
        name: of the experiment, and of its directory.
        criterion: what counts as solved; a residual that is small compared with its value at the start by default.
        horizon: the largest number of steps; 500 by default, 2000 with a `stochastic_loss`.
        baselines: algorithms to compare with, by name; they replace the default ones.
        sizes: how many problems are drawn for each role.
        learn: how an algorithm is learned, from a `LearningSetup`.
        functionals: measured besides stopping time, contraction factor and oracle calls, and certified if bounded.
        guarded: whether the best of the baselines guards what was learned.
        instances: logged problems, each of which is used once, in one role; how many have which role follows from how
            many there are. Problems are drawn by the class if there are none.
        order: "shuffled" or "time", for logged problems.

    Returns:
        An experiment for `loa.run.carry_out`.
    """
    logged = instances is not None or isinstance(problem_class, FromInstances)
    _check_roles({} if sizes is None else sizes, (*SIZES, "training") if logged else SIZES)
    _check_given(criterion, horizon, baselines, sizes, learn, functionals)
    check_type(guarded, bool, "`guarded` must be True or False")
    log = log_of(problem_class, instances, sizes or {}, order)
    if log is not None:
        problem_class = of_log(problem_class, log.training)
    check_problem_class(problem_class)
    stochastic, proximal = problem_class.has("stochastic_loss"), problem_class.has("prox")
    if stochastic and criterion is None:
        raise ValueError(
            f"{type(problem_class).__name__}.stochastic_loss has no default criterion: define one in the file, "
            "such as `criterion = loa.loss_below(0.1)`."
        )
    programs, residual = isinstance(problem_class, QuadraticPrograms), _residual(problem_class)
    gap = gaps.loss_gap if problem_class.has("optimal_loss") else residual
    if stochastic:
        known, tuned = {}, {"Adam": general.tuned_adam}
    elif programs:
        known, tuned = {"ADMM": ProgramADMM(), "PDHG": PDHG()}, {}
    elif isinstance(problem_class, NonlinearPrograms):
        known, tuned = classical_methods(problem_class), {}
    elif proximal:
        known = {"FISTA with restart": FISTA(restart=True), "FISTA": FISTA(restart=False), "ISTA": ProximalGradient()}
        tuned = {}
    else:
        known: Any = {"L-BFGS": LBFGS(), "CG": ConjugateGradient()}
        tuned = {"heavy ball": general.tuned_heavy_ball}
    task = Task(
        name=name,
        problem_class=problem_class,
        criterion=_default_criterion(problem_class, residual) if criterion is None else criterion,
        horizon=(2000 if stochastic else 500) if horizon is None else int(horizon),
        functionals=(StoppingTime(), ContractionFactor(cap=1.0, gap=gap), OracleCalls(), *functionals),
        baselines=known if baselines is None else baselines,
        gap=gap,
    )
    few = log is not None and len(log.instances) < FEW
    quick = {"prior": 100, **(sizes or {})} if log is None else {}
    recipe = Recipe(
        learned={"loa": learn or general.learn},
        sizes=SIZES | dict(sizes or {}) if log is None else log.sizes,
        tuned=tuned if baselines is None else {},
        prior=Prior(candidates=1 if few else 50),
        presets={"quick": Preset(quick, effort=0.5, candidates=1 if few else 10, shown=100)},
        log=log,
        guarded=guarded,
    )
    notes = () if log is None else notes_on(log)
    return Experiment(task, recipe, Presentation(title=f"{type(problem_class).__name__}, from {name}.py", notes=notes))


def _residual(problem_class: ProblemClass) -> gaps.Gap:
    """The gap that is 0 exactly where the conditions of optimality hold, for each kind of class."""
    if isinstance(problem_class, QuadraticPrograms):
        return program_residual
    if isinstance(problem_class, NonlinearPrograms):
        return nonlinear_residual
    return gaps.prox_residual if problem_class.has("prox") else gaps.gradient_norm


def _check_given(criterion: Any, horizon: Any, baselines: Any, sizes: Any, learn: Any, functionals: Any) -> None:
    """Refuse what no experiment could be made of, before the problem class is asked for anything."""
    if criterion is not None:
        check_type(criterion, Criterion, "`criterion` must be a loa.Criterion such as loa.loss_below(1e-6)")
    if horizon is not None:
        whole_number("`horizon`", horizon)
    check_baselines({} if baselines is None else baselines)
    check_functionals(functionals, 500 if horizon is None else horizon)
    check_sizes({} if sizes is None else sizes)
    if learn is not None:
        check_learn(learn)


def _check_roles(sizes: Any, known: Iterable[str]) -> None:
    """Refuse sizes of roles that there are none of, or that have no fixed number of problems."""
    others = [role for role in sizes if role not in known] if isinstance(sizes, Mapping) else []
    if others:
        raise ValueError(f"`sizes` may be given for {', '.join(known)}, but not for {others[0]!r}.")


def _default_criterion(problem_class: ProblemClass, gap: gaps.Gap) -> Criterion:
    """Solved means that the residual is small: for programs as in OSQP, else against what it typically is at first."""
    if isinstance(problem_class, QuadraticPrograms):
        return residuals_below(1e-4, 1e-4)
    if isinstance(problem_class, NonlinearPrograms):
        return relative_criterion(problem_class, REDUCTION)
    key = jax.random.key(0)

    def at_start(problem: Any) -> Any:
        return gap(problem_class, problem_class.start(problem, key), problem)

    some = problem_class.draw(key, problem_class.at_most(64))
    typical = float(np.median(jax.vmap(at_start)(some)))
    if not np.isfinite(typical) or typical <= 0:
        name = type(problem_class).__name__
        residual = "proximal residual" if problem_class.has("prox") else "gradient norm"
        define = "define one in the file, such as `criterion = loa.gradient_norm_below(1e-4)`"
        raise ValueError(
            f"{name} starts at points where the {residual} is {typical}, so no criterion can be derived from it: "
            f"{define if typical == 0 else 'start where it is finite'}."
        )
    tolerance = float(f"{REDUCTION * typical:.1e}")
    return prox_residual_below(tolerance) if problem_class.has("prox") else gradient_norm_below(tolerance)


def _check_path(path: Path) -> None:
    if path.is_dir():
        raise ValueError(f"{path} is a directory: give the Python file that defines the problem class.")
    if not path.is_file():
        raise ValueError(f"there is no file {path}.")
    if path.suffix != ".py":
        raise ValueError(f"{path} is not a Python file: its name must end in .py.")
    other = sys.modules.get(path.stem)
    if _is_installed(path.stem) or (other is not None and getattr(other.__spec__, "loader_state", None) != OWN):
        raise ValueError(f"{path} has the name of the module {path.stem}, which loa may need: rename the file.")


def _is_installed(name: str) -> bool:
    """Whether a module of this name belongs to Python or is installed; `test` is used by nothing but Python's own."""
    if name in sys.stdlib_module_names:
        return name != "test"
    if name in sys.modules or "." in name:
        return False
    found = importlib.util.find_spec(name)
    return found is not None and "site-packages" in Path(found.origin or "").parts


def imported(path: Path) -> ModuleType:
    """The module in a file, also findable under the name of the file, as classes that are defined in it expect."""
    _check_path(path)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    spec.loader_state = OWN
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[path.stem]
        raise
    return module


def _problem_class(module: ModuleType, instances: Instances | None = None) -> ProblemClass:
    """`problem_class` if the file has one, else its only subclass of ProblemClass, made without arguments.

    With logged instances, functions `loss` and `start` are enough.
    """
    if hasattr(module, "problem_class"):
        found = module.problem_class
        check_type(found, ProblemClass, "`problem_class` must be an instance of loa.ProblemClass")
        return found
    classes = [
        each
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, ProblemClass) and each.__module__ == module.__name__
    ]
    if not classes and instances is not None and hasattr(module, "loss"):
        if not hasattr(module, "start"):
            raise ValueError("`start` is missing: define the point where algorithms start, or a function of it.")
        return FromInstances(instances, module.loss, module.start)
    if len(classes) != 1:
        names = ", ".join(each.__name__ for each in classes) or "none"
        raise ValueError(
            f"there must be one subclass of loa.ProblemClass (found: {names}): define one, or say which is meant by "
            "`problem_class = ...`."
        )
    missing: list[str] = sorted(getattr(classes[0], "__abstractmethods__", ()))
    if instances is None and classes[0].sample is ProblemClass.sample:
        missing = [*missing, "sample"]
    if missing:
        raise ValueError(f"{classes[0].__name__} must define {' and '.join(f'`{name}`' for name in missing)}.")
    try:
        return classes[0]()
    except TypeError as error:
        raise ValueError(
            f"{classes[0].__name__} cannot be made without arguments ({error}): define `problem_class = ...` with them."
        ) from error
