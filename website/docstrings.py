"""Docstrings as Markdown: examples become code blocks, and classes show how they are called."""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
from typing import Any

import griffe

EXAMPLE = re.compile(r"(?:^>>> .*\n?(?:^(?!>>>)\S.*\n?|^\.\.\. .*\n?|^ +\S.*\n?)*)+", flags=re.M)


class ForReaders(griffe.Extension):
    """Prepares what griffe has read for the pages of the reference."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Put examples into code blocks; otherwise Markdown takes `>>>` for a quotation."""
        if obj.docstring is not None:
            obj.docstring.value = EXAMPLE.sub(_as_block, inspect.cleandoc(obj.docstring.value))

    def on_class(self, *, cls: griffe.Class, **_: Any) -> None:
        """Give a class of equinox, whose fields are its arguments, a signature."""
        found = _class(cls.path)
        if found is not None and "__init__" not in cls.members and not inspect.isabstract(found):
            parameters = griffe.Parameters(*map(_parameter, inspect.signature(found).parameters.values()))
            cls.set_member("__init__", griffe.Function("__init__", parameters=parameters))


def _as_block(match: re.Match[str]) -> str:
    return f"\n```pycon\n{match[0].rstrip()}\n```\n"


def _class(path: str) -> type | None:
    """The class with a path, if its fields are its arguments and it has been imported for the pages."""
    module, _, name = path.rpartition(".")
    found = getattr(sys.modules.get(module), name, None)
    return found if inspect.isclass(found) and dataclasses.is_dataclass(found) else None


def _parameter(parameter: inspect.Parameter) -> griffe.Parameter:
    default = None if parameter.default is parameter.empty else _written(parameter.default)
    kind = griffe.ParameterKind[parameter.kind.name.lower()]
    return griffe.Parameter(parameter.name, kind=kind, default=default)


def _written(default: object) -> str:
    return default.__name__ if inspect.isroutine(default) or inspect.isclass(default) else repr(default)
