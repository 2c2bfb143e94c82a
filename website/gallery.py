"""Pictures of the gallery, drawn from the numbers on its page: one of all families, and one of each.

They are part of the page and take the colours of the theme, so that they can be read in the light and in the dark.
"""

from __future__ import annotations

import html
import math
import re
from typing import NamedTuple

ROW = re.compile(r"^\| \[(\w+)\]\(#\w+\) \|.*\| \**([\d.]+) ×\** \| [\d.]+ \|$", flags=re.M)
"""A row of the table: a family, and how many times as long the best classical method takes."""

METHOD = re.compile(
    r"(?:Deployed: `|(?:Classical:|;) )([^`;:(]+)`? ?[^(;]*\(([\d.e+]+) steps, [^;]*?([\d.e+-]+) ms, (\d+)%"
)
"""An algorithm in the paragraph of a family, with its steps and milliseconds per problem and the share solved."""


class Method(NamedTuple):
    """What an algorithm needs per problem of a family."""

    name: str
    steps: float
    milliseconds: float
    solved: int


def on_page_markdown(markdown: str, page: object, **_: object) -> str:
    """Put the pictures into the page of the gallery."""
    if page.file.src_uri != "gallery.md":  # pyright: ignore[reportAttributeAccessIssue]
        return markdown
    ratios = {family: float(ratio) for family, ratio in ROW.findall(markdown)}
    paragraphs = [with_picture(part) for part in markdown.split("\n\n")]
    first = next(index for index, part in enumerate(paragraphs) if part.startswith("| family"))
    return "\n\n".join([*paragraphs[:first], overview(ratios), *paragraphs[first:]])


def with_picture(paragraph: str) -> str:
    """The paragraph of a family, followed by its picture; any other paragraph unchanged."""
    methods = [Method(name, float(s), float(ms), int(share)) for name, s, ms, share in METHOD.findall(paragraph)]
    return f"{paragraph}\n\n{family(methods)}" if "Deployed:" in paragraph and methods else paragraph


def overview(ratios: dict[str, float]) -> str:
    """Bars from 1 to the ratio of each family, on a logarithmic scale."""
    height, left, right = 22, 130, 430
    scale = (right - left) / math.log(max(8.0, *ratios.values()) / 0.8)

    def position(ratio: float) -> float:
        return left + scale * math.log(ratio / 0.8)

    parts = []
    for row, (name, ratio) in enumerate(sorted(ratios.items(), key=lambda entry: -entry[1])):
        y, edges = 30 + row * height, sorted((position(1.0), position(ratio)))
        parts.append(_text(left - 8, y + 13, name, "end"))
        parts.append(_bar(edges[0], y + 3, edges[1] - edges[0], height - 7, accent=ratio >= 1))
        parts.append(_text(edges[1] + 6, y + 13, f"{ratio:.2f} ×"))
    bottom = 30 + len(ratios) * height
    for tick in (1, 2, 4, 8):
        x = position(tick)
        parts.append(f'<path d="M{x:.1f} 24V{bottom}" stroke="currentColor" stroke-opacity="0.25"/>')
        parts.append(_text(x, 16, f"{tick} ×", "middle"))
    caption = "How many times as long the best classical method takes, by the clock"
    return _picture(parts, 470, bottom + 4, caption)


def family(methods: list[Method]) -> str:
    """The time that each algorithm takes, the deployed one first; what it needs and solves beside it."""
    height, left, width = 22, 180, 110
    longest = max(method.milliseconds for method in methods)
    parts = []
    for row, method in enumerate(methods):
        y, length = row * height, width * method.milliseconds / longest
        note = f"{method.milliseconds:g} ms, {method.steps:g} steps" + f", {method.solved}% solved" * (
            method.solved < 100
        )
        parts.append(_text(left - 8, y + 14, method.name.strip(), "end"))
        parts.append(_bar(left, y + 3, length, height - 7, accent=row == 0))
        parts.append(_text(left + length + 6, y + 14, note))
    return _picture(
        parts, 470, len(methods) * height + 4, "Milliseconds per problem, steps, and the share solved if it is not all"
    )


def _bar(x: float, y: float, width: float, height: float, *, accent: bool) -> str:
    colour = "var(--md-accent-fg-color)" if accent else "currentColor"
    opacity = "0.85" if accent else "0.35"
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 1.5):.1f}" height="{height}" rx="2" '
        f'fill="{colour}" fill-opacity="{opacity}"/>'
    )


def _text(x: float, y: float, words: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(words)}</text>'


def _picture(parts: list[str], width: int, height: float, caption: str) -> str:
    return (
        f'<figure class="drawn"><svg viewBox="0 0 {width} {height:.0f}" role="img" aria-label="{caption}">'
        f"{''.join(parts)}</svg><figcaption>{caption}</figcaption></figure>"
    )
