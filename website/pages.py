"""Pages of the site that are files of the repository: the README as the first page, examples, changelog.

The pages in `docs/` link to such files (`../examples/ridge.py`), as they are read in the repository too. Here these
links are turned into links to pages of the site.
"""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
WHOLE = {"README.md": "index.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
"""Files of the repository that are a page each."""

LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not in `docs/`."""
    for source, page in WHOLE.items():
        files.append(File.generated(config, page, content=_relinked((ROOT / source).read_text(), ROOT)))
    examples = sorted((ROOT / "examples").glob("*.py"))
    for example in examples:
        files.append(File.generated(config, f"examples/{example.stem}.md", content=_example(example)))
    files.append(File.generated(config, "examples.md", content=_list_of(examples)))
    for asset in ("site.css", "iframe-worker.js"):
        content = (Path(__file__).parent / asset).read_text()
        files.append(File.generated(config, f"assets/{asset}", content=content))
    return files


def on_page_markdown(markdown: str, page: object, config: MkDocsConfig, files: Files) -> str:
    """Turn links that leave `docs/` into links to pages of the site."""
    path = Path(config.docs_dir) / page.file.src_uri  # pyright: ignore[reportAttributeAccessIssue]
    return _relinked(markdown, path.parent) if path.exists() else markdown


def on_nav(nav: object, config: MkDocsConfig, files: Files) -> object:
    """Refuse a page in `docs/` that no one would find."""
    listed = {page.file.src_uri for page in nav.pages}  # pyright: ignore[reportAttributeAccessIssue]
    for path in sorted(Path(config.docs_dir).glob("*.md")):
        if path.name not in listed:
            raise SystemExit(f"docs/{path.name} is missing in `nav` of mkdocs.yml: add it where a reader would look.")
    return nav


def _relinked(markdown: str, directory: Path) -> str:
    return LINK.sub(lambda match: f"]({_target(match[1], directory)}{match[2] or ''})", markdown)


def _target(link: str, directory: Path) -> str:
    """Where a link of a file in a directory leads in the site; links within `docs/` stay."""
    path = (directory / link).resolve()
    if not path.is_relative_to(ROOT):
        return link
    inside = path.relative_to(ROOT).as_posix()
    if directory == ROOT and inside.startswith("docs/"):
        return inside.removeprefix("docs/")
    if inside in WHOLE:
        return WHOLE[inside]
    if inside == "examples":
        return "examples.md"
    if inside.startswith("examples/"):
        return f"{inside.removesuffix('.py')}.md"
    return link


def _title(example: Path) -> str:
    """The first sentence of an example's docstring."""
    match = re.match(r'"""(.+?)(?:\n\n|""")', example.read_text(), flags=re.S)
    words = " ".join(match[1].split()) if match else example.stem
    return re.split(r"(?<=[.?!])\s|: `loa run", words)[0].rstrip(".")


def _example(example: Path) -> str:
    return (
        f"# {_title(example)}\n\nThis is `examples/{example.name}`. Run it with `loa run examples/{example.name}`; "
        f"how it compares is in [the gallery](../gallery.md).\n\n```python\n{example.read_text().rstrip()}\n```\n"
    )


def _list_of(examples: list[Path]) -> str:
    lines = "\n".join(f"- [{_title(example)}](examples/{example.stem}.md)" for example in examples)
    return f"# Examples\n\nEach is one file that `loa run` takes.\n\n{lines}\n"
