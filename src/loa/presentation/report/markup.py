"""HTML that cannot be broken by what it shows: plain strings are escaped, and only `Markup` is not."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

VOID = ("img", "meta", "path")


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def markup(*parts: str) -> Markup:
    """The parts one after the other, escaped where they are plain text.

    >>> markup("a < b", Markup("<br>"))
    'a &lt; b<br>'
    """
    return Markup("".join(part if isinstance(part, Markup) else html.escape(part) for part in parts))


def tag(element: str, *parts: str, **attributes: Any) -> Markup:
    """An element with its content. A trailing underscore of an attribute is dropped, others become hyphens.

    Attributes that are None or False are left out; True is an attribute without a value.

    >>> tag("p", "x < y", class_="lead", aria_hidden="true", hidden=None)
    '<p class="lead" aria-hidden="true">x &lt; y</p>'
    """
    written = ""
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        name = name.rstrip("_").replace("_", "-")
        written += f" {name}" if value is True else f' {name}="{html.escape(str(value))}"'
    if element in VOID:
        return Markup(f"<{element}{written}/>")
    return Markup(f"<{element}{written}>{markup(*parts)}</{element}>")


def items(entries: Iterable[str], element: str = "ul", **attributes: Any) -> Markup:
    """A list."""
    return tag(element, *(tag("li", entry) for entry in entries), **attributes)


def definitions(pairs: Iterable[tuple[str, str]]) -> Markup:
    """Terms and what they are, in two columns."""
    return tag("dl", *(tag("div", tag("dt", term), tag("dd", meaning)) for term, meaning in pairs))


def table(caption: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> Markup:
    """A table whose first column names the rows. It scrolls inside its own frame if the window is narrow."""
    head = tag("tr", *(tag("th", cell, scope="col") for cell in header))
    body = [tag("tr", tag("th", row[0], scope="row"), *(tag("td", cell) for cell in row[1:])) for row in rows]
    whole = tag("table", tag("thead", head), tag("tbody", *body), aria_label=caption)
    frame = tag("div", whole, class_="scroll", tabindex="0", role="region", aria_label=f"Table: {caption}")
    return tag("div", tag("p", caption, class_="caption"), frame, class_="table")


def section(identifier: str, title: str, *parts: str) -> Markup:
    """A part of the page with its heading."""
    heading = tag("h2", title, id=f"{identifier}-title")
    return tag("section", heading, *parts, id=identifier, aria_labelledby=f"{identifier}-title")
