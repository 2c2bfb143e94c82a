"""Every Python block of README and docs runs, in order, page by page; and the writing is plain."""

import inspect
import re
from pathlib import Path

import jax
import pytest

import loa

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SOURCES = sorted(path for room in ("src", "examples", "benchmarks") for path in (ROOT / room).rglob("*.py"))
PROSE = [*PAGES, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {}
    try:
        for block in re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL):
            exec(compile(block, str(page), "exec"), namespace)
    finally:
        jax.config.update("jax_enable_x64", True)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_tests_that_the_page_on_the_paper_names_are_there():
    commands = re.findall(r"`pytest ([^`]+)`", (ROOT / "docs" / "from-the-paper.md").read_text())
    assert len(commands) > 10
    for command in commands:
        files, _, words = command.partition(" -k ")
        defined = "".join((ROOT / name).read_text() for name in files.split())
        assert re.search(rf"^def test_\w*{words}", defined, flags=re.MULTILINE), command


PHRASES = r"\b(anew|so many|so much|shared out|go on|goes on|looked at|at once|as it is|by itself)\b"
"""Phrases that a native reader stumbles over."""


@pytest.mark.parametrize("path", [*PROSE, *SOURCES], ids=lambda path: str(path.relative_to(ROOT)))
def test_no_phrase_that_a_native_reader_stumbles_over(path):
    lines = enumerate(path.read_text().splitlines(), start=1)
    assert not [f"{number}: {line.strip()}" for number, line in lines if re.search(PHRASES, line, flags=re.IGNORECASE)]


def public_names(room):
    """The functions and classes of a package or module, by their full names; those of a module that it defines."""
    names = getattr(room, "__all__", None) or [name for name in vars(room) if not name.startswith("_")]
    members = {f"{room.__name__}.{name}": getattr(room, name) for name in names}
    where = "loa." if hasattr(room, "__path__") else room.__name__
    return {name: each for name, each in members.items() if getattr(each, "__module__", "").startswith(where)}


MODULES = [loa, *(each for name in loa.__all__ if inspect.ismodule(each := getattr(loa, name)))]
PUBLIC = {name: each for module in MODULES for name, each in public_names(module).items() if callable(each)}
FUNCTIONS = [name for name, each in PUBLIC.items() if inspect.isfunction(each) and name.count(".") < 3]


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_docstring_begins_with_one_sentence_in_words(name):
    own = vars(PUBLIC[name]).items() if inspect.isclass(PUBLIC[name]) else ()
    methods = [part for key, part in own if inspect.isfunction(part) and key[0] != "_" and part.__doc__]
    for documented in (PUBLIC[name], *methods):
        first, *_ = (documented.__doc__ or "").splitlines() or [""]
        assert first.endswith("."), f"{documented.__qualname__}: {first}"
        assert "\\" not in first, f"{documented.__qualname__}: {first}"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_public_function_says_what_it_takes_and_returns(name):
    signature, documentation = inspect.signature(PUBLIC[name]), PUBLIC[name].__doc__ or ""
    if signature.parameters:
        assert "Arguments:" in documentation
        assert "Returns:" in documentation or signature.return_annotation in (None, "None")
