"""What the code blocks of the pages print, shown under them as it was printed.

    python website/outputs.py                    run all pages, each in a process of its own
    python website/outputs.py docs/quickstart.md     run some

The outputs are kept in `outputs.json`, under fingerprints of a block and the blocks before it on its page: when one
of them changes, the outputs that followed from it are no longer shown until the page has been run again.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
KEPT = Path(__file__).parent / "outputs.json"
BLOCK = re.compile(r"```python\n(.*?)```", flags=re.DOTALL)
LONGEST = 25
"""Lines of an output that are shown."""


def fingerprints(markdown: str) -> list[str]:
    """One for each block of a page."""
    so_far, found = hashlib.sha256(), []
    for block in BLOCK.findall(markdown):
        so_far.update(block.encode())
        found.append(so_far.hexdigest()[:16])
    return found


def printed(page: Path) -> dict[str, str]:
    """What the blocks of a page print, run in order in an empty directory, which must be the current one."""
    markdown, namespace, outputs = page.read_text(), {"__name__": "__main__"}, {}
    for key, block in zip(fingerprints(markdown), BLOCK.findall(markdown), strict=True):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            exec(compile(block, str(page), "exec"), namespace)
        if said.getvalue().strip():
            outputs[key] = said.getvalue().rstrip()
    return outputs


def on_page_markdown(markdown: str, **_: object) -> str:
    """Put the outputs that are kept under the blocks of a page."""
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    keys = iter(fingerprints(markdown))

    def with_output(match: re.Match[str]) -> str:
        lines = kept.get(next(keys), "").splitlines()
        shown = "\n".join([*lines[:LONGEST], *["…"] * (len(lines) > LONGEST)])
        return f"{match[0]}\n\n```{{.text .printed}}\n{shown}\n```\n" if lines else match[0]

    return BLOCK.sub(with_output, markdown)


def main() -> None:
    pages = [Path(name).resolve() for name in sys.argv[1:]]
    if len(pages) == 1 and os.environ.get("IN_PROCESS"):
        print(json.dumps(printed(pages[0])))
        return
    pages = pages or [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    for page in (page for page in pages if BLOCK.search(page.read_text())):
        with tempfile.TemporaryDirectory() as directory:
            done = subprocess.run(
                [sys.executable, "-W", "ignore", str(Path(__file__).resolve()), str(page)], cwd=directory,
                env={**os.environ, "IN_PROCESS": "1"}, stdout=subprocess.PIPE, text=True,
            )  # fmt: skip
        if done.returncode:
            print(f"{page.name} failed")
            continue
        kept |= json.loads(done.stdout.splitlines()[-1])
        KEPT.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
        print(f"ran {page.name}", flush=True)
    every = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    current = {key for page in every for key in fingerprints(page.read_text())}
    kept = {key: output for key, output in kept.items() if key in current}
    KEPT.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
