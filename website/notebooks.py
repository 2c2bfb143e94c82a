"""The notebooks: written with their outputs from scripts in `notebooks/`, and shown as pages of the site.

    python website/notebooks.py

A script consists of cells, which begin with `# %%` or `# %% [markdown]`. Each is executed from top to bottom; what it
prints, and the figure or value that its last line names, become its output in the `.ipynb` file beside it.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parent.parent / "notebooks"


class Cell(NamedTuple):
    """A part of a script: Markdown, or Python."""

    markdown: bool
    source: str


def cells(script: str) -> list[Cell]:
    """The cells of a script."""
    found = []
    for head, body in re.findall(r"^# %%(.*)\n((?:(?!# %%).*\n?)*)", script, flags=re.M):
        markdown = "[markdown]" in head
        found.append(Cell(markdown, re.sub(r"^# ?", "", body.strip(), flags=re.M) if markdown else body.strip()))
    return found


def executed(script: str) -> dict[str, Any]:
    """A script as a notebook, with the outputs of its cells."""
    namespace: dict[str, Any] = {}
    written = []
    for number, cell in enumerate(cells(script)):
        entry: dict[str, Any] = {"cell_type": "markdown", "id": f"cell-{number}", "metadata": {}}
        entry["source"] = cell.source.splitlines(keepends=True)
        if not cell.markdown:
            outputs = _outputs(cell.source, namespace)
            entry |= {"cell_type": "code", "execution_count": None, "outputs": outputs}
        written.append(entry)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": written, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def _outputs(source: str, namespace: dict[str, Any]) -> list[dict[str, Any]]:
    """Run a cell; what it printed, and its last line if that is an expression with a value."""
    tree, last = ast.parse(source), None
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        last = ast.Expression(tree.body.pop().value)  # pyright: ignore[reportAttributeAccessIssue]
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, "notebook", "exec"), namespace)
        value = None if last is None else eval(compile(last, "notebook", "eval"), namespace)
    outputs = []
    if printed.getvalue():
        text = printed.getvalue().splitlines(keepends=True)
        outputs.append({"output_type": "stream", "name": "stdout", "text": text})
    if value is not None:
        outputs.append({"output_type": "display_data", "metadata": {}, "data": _shown(value)})
    return outputs


def _shown(value: Any) -> dict[str, Any]:
    if not hasattr(value, "savefig"):
        return {"text/plain": [repr(value)]}
    picture = io.BytesIO()
    value.savefig(picture, dpi=80, metadata={"Software": None})
    return {"image/png": base64.b64encode(picture.getvalue()).decode(), "text/plain": ["a figure"]}


def page(notebook: dict[str, Any], name: str) -> str:
    """A notebook as Markdown, with its outputs."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for output in cell.get("outputs", ()):
            if "text" in output:
                parts.append(f"```{{.text .printed}}\n{''.join(output['text']).rstrip()}\n```")
            elif "image/png" in output["data"]:
                parts.append(f'<img alt="figure" src="data:image/png;base64,{output["data"]["image/png"]}">')
            else:
                parts.append(f"```{{.text .printed}}\n{''.join(output['data']['text/plain'])}\n```")
    parts.append(f"*This page is the notebook `notebooks/{name}.ipynb`; its outputs are what the code printed.*")
    return "\n\n".join(parts)


def on_files(files: Any, config: Any) -> Any:
    """Add a page for each notebook."""
    from mkdocs.structure.files import File

    for path in sorted(FOLDER.glob("*.ipynb")):
        content = page(json.loads(path.read_text()), path.stem)
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=content))
    return files


def main() -> None:
    for path in sorted(FOLDER.glob("*.py")):
        notebook = executed(path.read_text())
        path.with_suffix(".ipynb").write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
        print(f"wrote {path.with_suffix('.ipynb').name}")


if __name__ == "__main__":
    main()
