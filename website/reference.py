"""The API reference: one page per room of loa, with every public name and its docstring."""

from __future__ import annotations

import inspect
import re
from collections import defaultdict

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

import loa

ROOMS = dict(re.findall(r"^    (\w+)  +(\S.*)$", loa.__doc__ or "", flags=re.M))
"""What each room holds, in their order, as the package states it."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """List the pages of the rooms after the index of the reference."""
    (section,) = (entry["Reference"] for entry in config.nav or () if "Reference" in entry)
    section[1:1] = [f"reference/{room}.md" for room in rooms()]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Write the pages of the reference."""
    found = rooms()
    for room, names in found.items():
        files.append(File.generated(config, f"reference/{room}.md", content=_page(room, names)))
    files.append(File.generated(config, "reference/index.md", content=_index(found)))
    return files


def rooms() -> dict[str, dict[str, object]]:
    """Every public function and class by the shortest name under which it is imported, room by room."""
    found: dict[str, dict[str, object]] = defaultdict(dict)
    seen: set[int] = set()
    modules = [each for name in loa.__all__ if inspect.ismodule(each := getattr(loa, name))]
    for module in (loa, *modules):
        for name in getattr(module, "__all__", None) or vars(module):
            each = getattr(module, name)
            home = getattr(each, "__module__", None) or ""
            own = home == module.__name__ if not hasattr(module, "__path__") else home.startswith("loa.")
            if name[0] != "_" and own and callable(each) and id(each) not in seen:
                seen.add(id(each))
                found[home.split(".")[1]][f"{module.__name__}.{name}".replace("loa.statistics.", "loa.")] = each
    return {room: dict(sorted(found[room].items(), key=_order)) for room in ROOMS if room in found}


def _order(entry: tuple[str, object]) -> tuple[int, str]:
    name, _ = entry
    return name.count("."), name.lower()


def _first_line(each: object) -> str:
    return (inspect.getdoc(each) or "").split("\n")[0]


def _table(names: dict[str, object], page: str) -> str:
    rows = [f"| [`{name}`]({page}#{_path(name, each)}) | {_first_line(each)} |" for name, each in names.items()]
    return "\n".join(["| name | |", "|---|---|", *rows])


def _path(name: str, each: object) -> str:
    """Where an object is defined; a value, such as the gap of a proximal step, has no name of its own."""
    return f"{each.__module__}.{getattr(each, '__qualname__', name.split('.')[-1])}"


def _page(room: str, names: dict[str, object]) -> str:
    entries = [
        f"::: {_path(name, each)}\n    options:\n      heading: {name}\n      toc_label: {name.split('.')[-1]}\n"
        for name, each in names.items()
    ]
    parts = [f"# loa.{room}", f"{ROOMS[room][0].upper()}{ROOMS[room][1:]}.", _table(names, ""), *entries]
    return "\n\n".join(parts)


def _index(found: dict[str, dict[str, object]]) -> str:
    sections = [f"## {room}\n\n{ROOMS[room]}\n\n{_table(names, f'{room}.md')}" for room, names in found.items()]
    start = (
        "# Reference\n\nEvery public name, by the room of the code that it lives in. "
        "The rooms are in the order in which they build on each other."
    )
    return "\n\n".join([start, *sections])
