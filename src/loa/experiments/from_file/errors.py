"""Where in a user's file something went wrong, in one sentence."""

from __future__ import annotations

import ast
import dataclasses
import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

import jax

from ...messages.errors_of_jax import in_short
from ...messages.extras import EXTRAS, missing

LOA = Path(__file__).parents[2]

REMEDIES: dict[type[BaseException], str] = {
    ModuleNotFoundError: "install the module, or correct its name",
    SyntaxError: "correct the syntax",
    UnicodeError: "save the file as UTF-8",
    dataclasses.FrozenInstanceError: (
        "problem classes are frozen: declare fields as `size: int = 3`, or compute in `sample`, `loss` and `start`"
    ),
    RecursionError: "a function calls itself forever",
    SystemExit: "remove the call, or put it under `if __name__ == '__main__':`",
    jax.errors.JAXTypeError: "",
}
DEFAULT_REMEDY = "correct this, or add --traceback to see the whole error"


class OwnFileError(ValueError):
    """Something is wrong in a user's file; the message names the file, the line and a remedy."""


@contextmanager
def blamed_on(path: Path, wholly: bool = False) -> Iterator[None]:
    """Turn an error that a user's file has caused into an `OwnFileError`; all others pass unchanged.

    The line is the last one of the file that was being executed or, where loa refuses what the file defines, the
    line of the definition that the message names. JAX's own frames are kept inside, because they tell which errors
    are loa's sentences and which are those of others.

    Arguments:
        path: the user's file.
        wholly: whether nothing but the file can be the cause of any error.
    """
    filtering = jax.config.jax_traceback_filtering  # pyright: ignore[reportAttributeAccessIssue]
    jax.config.update("jax_traceback_filtering", "off")
    try:
        yield
    except OwnFileError:
        raise
    except (Exception, SystemExit) as error:
        if not (wholly or _is_to_blame(path, error)):
            raise
        raise OwnFileError(located(path, error)) from error
    finally:
        jax.config.update("jax_traceback_filtering", filtering)


def located(path: Path, error: BaseException) -> str:
    """One sentence about an error, with the file and, if it can be found, the line."""
    line = _line_executed(path, error) or _line_named(path, str(error))
    return f"in {path}, {f'line {line}, ' if line else ''}{sentence(error)}"


def sentence(error: BaseException) -> str:
    """What loa says, unchanged; what others say, with the type of the error and a remedy."""
    if isinstance(error, ModuleNotFoundError) and error.name in EXTRAS:
        return missing(error.name)
    if is_of_loa(error):
        return " ".join(str(error).split())
    words = "sys.exit is called" if isinstance(error, SystemExit) else f"{type(error).__name__}: {in_short(error)}"
    remedy = next((each for kind, each in REMEDIES.items() if isinstance(error, kind)), DEFAULT_REMEDY)
    return f"{words.removesuffix(': ')} ({remedy})." if remedy else f"{words}."


def is_of_loa(error: BaseException) -> bool:
    """Whether loa itself has raised this error, so that its message is a sentence for users."""
    frames = list(traceback.walk_tb(error.__traceback__))
    raised_here = bool(frames) and Path(frames[-1][0].f_code.co_filename).is_relative_to(LOA)
    missing = isinstance(error, ImportError) and not isinstance(error, ModuleNotFoundError)  # loa says which extra
    worded = isinstance(error, ValueError | TypeError) or (isinstance(error, OSError) and error.strerror is None)
    worded = worded or missing
    return isinstance(error, OwnFileError) or (raised_here and worded)


def _is_to_blame(path: Path, error: BaseException) -> bool:
    """Whether the file was being executed, or is named, or an error of neither loa nor the disk came up with it."""
    if _line_executed(path, error) or not (is_of_loa(error) or isinstance(error, OSError)):
        return not type(error).__module__.startswith(("click", "typer"))  # such as Exit, which is an exception too
    return _line_named(path, str(error)) is not None


def _line_executed(path: Path, error: BaseException | None) -> int | None:
    """The last line of the file in the deepest error of the chain that passed through it."""
    line, file, seen = None, path.resolve(), set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        line = _last_line(file, error.__traceback__) or line
        if isinstance(error, SyntaxError) and error.filename and Path(error.filename).resolve() == file:
            line = error.lineno or line
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return line


def _last_line(file: Path, frames: TracebackType | None) -> int | None:
    own = [line for frame, line in traceback.walk_tb(frames) if Path(frame.f_code.co_filename).resolve() == file]
    return own[-1] if own else None


def _line_named(path: Path, message: str) -> int | None:
    """The line of the definition that a message names first, as `criterion` or Bowls.loss."""
    defined = _definitions(path)
    matches = []
    for name, line in defined.items():
        found = re.search(rf"`{name}`|(?<![\w.]){re.escape(name)}\b" if name[0].isupper() else f"`{name}`", message)
        if found:
            matches.append((found.start(), -len(name), line))
    if not matches and re.match(r"From(Functions|Instances)\b", message):
        return defined.get("problem_class")
    return min(matches)[2] if matches else None


def _definitions(path: Path) -> dict[str, int]:
    """The lines of what a file defines at its top level, and of the methods of its classes."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return {}
    found: dict[str, int] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = node.lineno
        if isinstance(node, ast.ClassDef):
            methods = [each for each in node.body if isinstance(each, ast.FunctionDef)]
            found |= {f"{node.name}.{method.name}": method.lineno for method in methods}
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [each for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)]
            found |= {name.id: node.lineno for name in names}
    return found
