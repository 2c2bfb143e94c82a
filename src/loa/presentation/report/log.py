"""Problems from a log: learning beside testing, and performance over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...problems.role import Role
from ...results import quantities
from ...results.run_results import Results
from .figure import Entry, Figure, Plot, axes, curve
from .markup import Markup, section, table, tag
from .numbers import number


def log(results: Results) -> Markup:
    """The section on the log; nothing if problems were drawn."""
    found = results.summary.log
    if not found.get("by_role"):
        return Markup("")
    told = tag(
        "p",
        f"The problems are {number(found['instances'])} logged instances, {found['rule']}. Each has one role. An "
        "algorithm that had learned the training instances by heart would need fewer iterations there than on the test "
        "instances.",
    )
    algorithms = list(results.summary.algorithms)
    rows = [
        [
            role,
            Role.named(role).purpose,
            number(means["learned"]["instances"]),
            *(_mean(means[each]) for each in algorithms),
        ]
        for role, means in found["by_role"].items()
    ]
    header = ["role", "used for", "instances", *algorithms]
    shown = table("Mean iterations by role, ± 95%", header, rows)
    return section("log", "From learning to testing", told, shown, _by_size(found.get("by_size", []), algorithms))


def _by_size(groups: Sequence[dict[str, Any]], algorithms: Sequence[str]) -> Markup:
    """The same means by size, where instances of unequal shapes were padded."""
    if not groups:
        return Markup("")
    rows = [
        [each["size"], number(each["instances"]), *(_mean(each["means"][name]) for name in algorithms)]
        for each in groups
    ]
    title = "Mean iterations by size, ± 95%, on instances that nothing was learned from"
    return table(title, ["size", "instances", *algorithms], rows)


def _mean(found: dict[str, float]) -> str:
    return f"{number(found['mean'], 4)} ± {number((found['high'] - found['low']) / 2, 2)}"


def over_time(results: Results, entries: Sequence[Entry]) -> list[Figure]:
    """The moving average of the stopping time along a log that is in the order of time; none otherwise."""
    shown = quantities.over_time(results.performance)
    if shown is None:
        return []
    hover = "%{y:.3g} iterations on average, up to instance %{x}"
    data = [curve(entry, shown.places, shown.means[entry.label], hover) for entry in entries]
    line = {"type": "line", "y0": 0, "y1": 1, "yref": "paper", "line": {"color": "@muted", "width": 1, "dash": "dot"}}
    text = {"y": 1, "yref": "paper", "showarrow": False, "xanchor": "left", "yanchor": "bottom", "textangle": -20}
    layout = axes(
        "instance of the log",
        "mean iterations",
        yaxis={"type": "log"},
        shapes=[line | {"x0": first, "x1": first} for first, _ in shown.parts.values()],
        annotations=[text | {"text": role, "x": first} for role, (first, _) in shown.parts.items()],
    )
    caption = (
        f"Average stopping time of {shown.window} consecutive instances each, in the order of time. What was learned "
        "on the first instances is tested on the last; a certificate holds for later ones only if the average does not "
        "drift."
    )
    label = f"Line plot of the average stopping time over the log for {len(entries)} algorithms."
    return [Figure("over-time", "Performance over time", caption, (Plot(data, layout, label),), tuple(entries))]
