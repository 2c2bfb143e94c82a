"""The shape of the code base: imports point one way, files stay small, linters are content."""

import ast
import re
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from types import ModuleType

import pytest

import loa

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "loa"

ROOMS = re.findall(r"^    (\w+)  +\S", loa.__doc__ or "", flags=re.M)
"""The rooms of the house in their order, as the package itself states it."""


def part(path):
    return path.relative_to(SOURCE).with_suffix("").parts[0]


def imported_parts(path):
    """Parts of loa that a module imports, resolved from its relative imports."""
    package = path.relative_to(SOURCE).parts[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - (node.level - 1)] + tuple((node.module or "").split("."))
            base = tuple(name for name in base if name)
            yield from [base[0]] if base else [alias.name for alias in node.names]


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_one_way(path):
    if part(path) in ("__init__", "__main__"):
        return
    for imported in imported_parts(path):
        assert ROOMS.index(imported) <= ROOMS.index(part(path)), f"{path} imports {imported}"


def test_the_rooms_are_those_that_are_stated():
    found = {path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert found - {"__init__", "__main__"} == set(ROOMS)


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_nothing_of_loa_is_imported_dynamically(path):
    """An import that is not written as one would be hidden from the test above."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            assert called.split(".")[-1] not in ("import_module", "__import__"), f"{path}:{node.lineno}"


def module_name(path):
    return path.relative_to(SOURCE).with_suffix("").as_posix().removesuffix("/__init__")


MODULES = {module_name(path): path for path in SOURCE.rglob("*.py")}


def run_time_nodes(node):
    """Everything in a module, except what is there for type checkers only."""
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"):
            yield child
            yield from run_time_nodes(child)


def imported_modules(path):
    """Modules of loa that a module imports, at its head or inside of functions."""
    package = ("loa", *path.relative_to(SOURCE).parts[:-1])
    for node in run_time_nodes(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = [*package[: len(package) - node.level + 1], node.module] if node.level else [node.module]
            names = [".".join([*filter(None, base), alias.name]) for alias in node.names]
        for room, *inner in (name.split(".") for name in names):
            whole, outer = "/".join(inner), "/".join(inner[:-1])
            if room == "loa":
                yield whole if whole in MODULES else outer


def test_no_modules_import_each_other_in_a_circle():
    """An import inside of a function hides a circle from Python, but not from a reader."""
    graph = {name: set(imported_modules(path)) - {name} for name, path in MODULES.items()}
    assert "trajectory/walk" in graph["trajectory/kernels"], "imports at the head of a module are found"
    assert "storage/saved_algorithms" in graph["cli/run"], "imports inside of functions are found"
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"these modules import each other in a circle: {' <- '.join(error.args[1])}")


def test_files_stay_small_and_are_named_for_what_they_are():
    for path in SOURCE.rglob("*.py"):
        assert len(path.read_text().splitlines()) <= 350, path
        assert not any(word in path.stem for word in ("util", "helper", "misc", "manager")), path


def test_importing_loa_is_light_and_leaves_the_precision_alone():
    heavy = ("matplotlib", "xarray", "rich", "typer", "skimage", "sklearn", "optax")
    script = f"""
import sys, jax, loa
loa.evaluate, loa.problems
print([name for name in {heavy} if name in sys.modules], jax.config.jax_enable_x64)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] False"


def test_every_concept_can_be_the_first_to_be_asked_for():
    """Names are imported when they are used; that must not depend on what was used before."""
    concepts = [name for name in loa.__all__ if isinstance(getattr(loa, name), ModuleType)]
    assert "kernels" in concepts
    script = f"""
import os, loa
for name in {concepts}:
    if os.fork() == 0:
        getattr(loa, name)
        os._exit(0)
    print(name, os.wait()[1])
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [f"{name} 0" for name in concepts], done.stderr


def test_help_does_not_import_jax():
    script = "import sys, loa.cli; print('jax' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    "command",
    [
        ["ruff", "check", "."],
        ["ruff", "format", "--check", "."],
        pytest.param(["pyright", "--pythonpath", sys.executable], marks=pytest.mark.slow),
    ],
    ids=["ruff check", "ruff format", "pyright"],
)
def test_linters_are_content(command):
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
