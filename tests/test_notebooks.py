"""The notebooks run from top to bottom, and what is shown was made from the scripts beside them."""

import json
import sys
from pathlib import Path

import jax
import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "website"))
import notebooks  # noqa: E402

SCRIPTS = sorted((ROOT / "notebooks").glob("*.py"))


@pytest.mark.slow
@pytest.mark.many_calls
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_is_what_its_script_says(script):
    written = json.loads(script.with_suffix(".ipynb").read_text())
    try:
        found = notebooks.executed(script.read_text())
    finally:
        jax.config.update("jax_enable_x64", True)
    assert [cell["source"] for cell in found["cells"]] == [cell["source"] for cell in written["cells"]]
    for now, then in zip(found["cells"], written["cells"], strict=True):
        assert len(now.get("outputs", [])) == len(then.get("outputs", []))


def test_a_cell_shows_what_it_prints_and_its_last_value():
    notebook = notebooks.executed("# %% [markdown]\n# # Title\n\n# %%\nprint(2)\n\n# %%\nx = 3\nx + 1\n")
    title, printed, value = notebook["cells"]
    assert (title["cell_type"], title["source"]) == ("markdown", ["# Title"])
    assert printed["outputs"][0]["text"] == ["2\n"]
    assert value["outputs"][0]["data"] == {"text/plain": ["4"]}
    assert "```{.text .printed}\n4\n```" in notebooks.page(notebook, "name")


def test_a_cell_that_fails_is_an_error():
    with pytest.raises(ZeroDivisionError):
        notebooks.executed("# %%\n1 / 0\n")
