"""What an experiment must be made of, checked before any problem is drawn: types, names and numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..algorithms.algorithm import Algorithm
from ..problems.from_functions import OfInstances
from ..problems.logs.log import Log
from ..problems.problem_class import ProblemClass, whole_number
from ..problems.role import Role
from ..results.summary import RESERVED
from ..trajectory.functionals import Functional

LEARNED = "learned"
"""The name of the learned algorithm in all results, which no baseline may have."""


def check_type(value: Any, kind: type, sentence: str) -> None:
    """Refuse a value of another type, with a sentence that says what it must be."""
    if not isinstance(value, kind):
        raise ValueError(f"{sentence}, got {value!r}.")


def check_name(name: Any) -> None:
    """Refuse the name of a baseline that is no text, is empty, or belongs to the learned algorithm."""
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"every name in `baselines` must be a text that is not empty, got {name!r}.")
    check_printable("baselines", name)
    if name.strip().lower() == LEARNED:
        raise ValueError(
            f"no algorithm in `baselines` may be called {name!r}, because the results use that name for the algorithm "
            "that was learned; give it another name."
        )


LONGEST = 100
"""The largest number of characters of a name, which tables and figures show."""


def check_printable(where: str, name: str) -> None:
    """Refuse a name that would not fit into a line of a table."""
    if not name.isprintable() or len(name) > LONGEST:
        raise ValueError(f"a name in `{where}` must fit into a line of at most {LONGEST} characters, got {name!r:.60}.")


def check_baselines(baselines: Any) -> None:
    """Refuse anything but algorithms by name."""
    wanted = "`baselines` must be a dictionary of algorithms by name, such as {'L-BFGS': loa.LBFGS()}"
    check_type(baselines, Mapping, wanted)
    for name, algorithm in baselines.items():
        check_name(name)
        check_type(algorithm, Algorithm, f"{wanted}; {name!r} must be an instance of loa.Algorithm")


def check_functionals(functionals: Any, horizon: int) -> None:
    """Refuse anything but functionals that have different names, none of them reserved, and fit into the horizon."""
    wanted = "`functionals` must be a list of instances of loa.Functional"
    check_type(functionals, Sequence, wanted)
    for each in functionals:
        check_type(each, Functional, wanted)
        if each.steps > horizon:
            raise ValueError(f"{each.name} in `functionals` needs {each.steps} steps, but the horizon is {horizon}.")
    for each in functionals:
        check_printable("functionals", each.name)
    names = [each.name.replace(" ", "_") for each in functionals]
    for index, name in enumerate(names):
        if not name or "/" in name:
            raise ValueError(f"a functional in `functionals` must have a name without a slash, got {name!r}.")
        if name in RESERVED:
            raise ValueError(
                f"no functional in `functionals` may be called {name!r}, because the results use that name for "
                f"something else; choose a name other than {', '.join(RESERVED)}."
            )
        if name in names[:index]:
            raise ValueError(f"two functionals are called {name!r}; give each in `functionals` a name of its own.")


def check_sizes(sizes: Any) -> None:
    """Refuse anything but positive numbers of problems by role."""
    check_type(sizes, Mapping, "`sizes` must be a dictionary of numbers of problems by role, such as {'test': 100}")
    for role, size in sizes.items():
        whole_number(f"the number of {Role.named(role).text} problems in `sizes`", size)


def check_ways(ways: Mapping[str, Any]) -> None:
    """Refuse ways of learning that are no functions."""
    for name, learn in ways.items():
        if not callable(learn):
            raise ValueError(f"`learn` must be a function of the learning setup, but {name!r} is {learn!r}.")


def check_log(problem_class: ProblemClass, log: Log | None) -> None:
    """Refuse problems from instances that are not divided among the roles."""
    if isinstance(problem_class, OfInstances) and log is None:
        raise ValueError(
            "problems from instances are divided among the roles: give the recipe `log=loa.problems.Log(instances)` "
            "and its sizes, or let loa.experiments.from_file.experiment_for do it."
        )
