"""Draws docs/overview.svg, the picture at the top of the README: what goes in, what loa does, what comes out.

    python website/overview.py

The numbers are those of `loa run lasso --preset paper`, from docs/results/lasso/summary.json.
"""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
SUMMARY = ROOT / "docs" / "results" / "lasso" / "summary.json"
PICTURE = ROOT / "docs" / "overview.svg"

WIDTH, HEIGHT = 960, 316
INK, FAINT, BLUE, ORANGE = "#24292f", "#6e7781", "#0072b2", "#d55e00"
GOES_IN = ("class MyProblems(loa.ProblemClass):", "  def sample(self, key): …", "  def loss(self, x, problem): …",
           "  def start(self, problem, key): …")  # fmt: skip
HAPPENS = ("measure", "tune", "learn", "certify", "deploy")


def text(x: float, y: float, words: str, size: int = 14, colour: str = INK, **more: str) -> str:
    """Words at a place."""
    styles = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in more.items())
    return f'<text x="{x}" y="{y}" font-size="{size}" fill="{colour}"{styles}>{html.escape(words)}</text>'


def card(x: float, width: float, title: str) -> str:
    """A box with a title."""
    box = f'<rect x="{x}" y="16" width="{width}" height="{HEIGHT - 32}" rx="10" fill="#ffffff" stroke="#d0d7de"/>'
    return box + text(x + 18, 46, title, 16, font_weight="700")


def goes_in() -> str:
    """The card on the left: a class of problems."""
    lines = [text(34, 80 + 22 * row, line, 12, font_family="monospace", xml__space="preserve")
             for row, line in enumerate(GOES_IN)]  # fmt: skip
    others = ("or a folder of logged instances,", "or any solver, as a function", "or an executable")
    more = [text(34, 194 + 22 * row, line, 13, FAINT) for row, line in enumerate(others)]
    return "".join([card(16, 290, "What goes in: your problems"), *lines, *more]).replace("xml--space", "xml:space")


def happens() -> str:
    """The arrow in the middle."""
    head = '<path d="M318 156h88v-18l34 34-34 34v-18h-88z" fill="#d0d7de"/>'
    words = [text(362, 42 + 20 * row, word, 14, INK, text_anchor="middle") for row, word in enumerate(HAPPENS)]
    return head + "".join(words) + text(368, 177, "loa run", 13, font_family="monospace", text_anchor="middle")


def comes_out(summary: dict[str, Any]) -> str:
    """The card on the right: bars, a certificate and a solver."""
    name, best = min(summary["baselines"].items(), key=lambda entry: entry[1]["stopping_time"]["mean"])
    steps = {"learned": summary["learned"]["stopping_time"]["mean"], name: best["stopping_time"]["mean"]}
    parts = [card(452, 492, "What comes out: an optimizer for them, and what it promises")]
    for row, (method, mean) in enumerate(steps.items()):
        y, length = 66 + 30 * row, 250 * mean / max(steps.values())
        colour = BLUE if row == 0 else ORANGE
        parts.append(text(470, y + 15, method, 13))
        parts.append(f'<rect x="600" y="{y}" width="{max(length, 2):.1f}" height="20" rx="3" fill="{colour}"/>')
        parts.append(text(606 + length, y + 15, f"{mean:.1f} steps", 13))
    parts.append(text(470, 142, f"{summary['title']}, unseen problems", 12, FAINT))
    parts += [text(470, 176 + 20 * row, line, 14, font_style="italic") for row, line in enumerate(promise(summary))]
    after = ('solver = deployed("runs/lasso").solver()', "solver(problem).x")
    parts += [text(470, 254 + 20 * row, line, 12, font_family="monospace") for row, line in enumerate(after)]
    return "".join(parts)


def promise(summary: dict[str, Any]) -> tuple[str, str]:
    """The certificate of the deployed algorithm's mean stopping time, in two lines."""
    wanted = {"functional": "stopping_time", "target": "deployed", "kind": "betting"}
    (found,) = (each for each in summary["certificates"] if wanted.items() <= each.items())
    return (
        f"“With {100 * summary['confidence']:.0f}% confidence, the algorithm needs at most {found['bound']:.2f}",
        f"iterations on average on new problems drawn like these {found['n']}.”",
    )


def main() -> None:
    summary = json.loads(SUMMARY.read_text())
    start = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="Helvetica, Arial, sans-serif" role="img">'
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="12" fill="#f6f8fa"/>'
    )
    PICTURE.write_text(f"{start}{goes_in()}{happens()}{comes_out(summary)}</svg>\n")


if __name__ == "__main__":
    main()
