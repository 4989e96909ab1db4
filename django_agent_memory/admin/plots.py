"""Plots as SVG made by the server: numbers in, safe HTML out, nothing to run and nothing to load.

Shapes take their colours from the style sheet, coordinates are written as every SVG reader knows
them whatever the language, and words stand beside the drawing, so that they keep their size. Time
runs from left to right in every language. What is drawn is told too: in the title and description
of the drawing, and in a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from django.utils.formats import number_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

_WIDTH = 900.0
_HEIGHT = 120.0


class Point(NamedTuple):
    """A day as people read it, and the number of that day, 0 or more."""

    day: str
    value: int


def bars(name: str, points: Sequence[Point], *, title: str, unit: str) -> SafeString:
    """Return the figure with a bar for each day; `name` is an id that nothing else has."""
    step = _WIDTH / max(1, len(points))
    top = _most(points)
    rows = (
        (
            _number(index * step + step * 0.1),
            _number(_HEIGHT - _height(point.value, top)),
            _number(step * 0.8),
            _number(_height(point.value, top)),
            f"{point.day}: {number_format(point.value)}",
        )
        for index, point in enumerate(points)
        if point.value
    )
    shapes = format_html_join(
        "",
        '<rect class="agent-memory-bar" x="{}" y="{}" width="{}" height="{}">'
        "<title>{}</title></rect>",
        rows,
    )
    return _figure(name, points, shapes, title=title, unit=unit)


def line(name: str, points: Sequence[Point], *, title: str, unit: str) -> SafeString:
    """Return the figure with a line through all days, filled down to zero; `name` as in `bars`."""
    step = _WIDTH / max(1, len(points) - 1)
    top = _most(points)
    heights = [_HEIGHT - _height(point.value, top) for point in points]
    if len(heights) == 1:
        heights *= 2  # One day is a line too.
    corners = [f"{_number(index * step)},{_number(y)}" for index, y in enumerate(heights)]
    end, floor = _number((len(heights) - 1) * step), _number(_HEIGHT)
    shapes = format_html(
        '<polygon class="agent-memory-area" points="0,{} {} {},{}"></polygon>'
        '<polyline class="agent-memory-curve" points="{}"></polyline>',
        *(floor, " ".join(corners), end, floor, " ".join(corners)),
    )
    return _figure(name, points, shapes, title=title, unit=unit)


def _figure(
    name: str, points: Sequence[Point], shapes: SafeString, *, title: str, unit: str
) -> SafeString:
    if not points:
        return SafeString()
    most = max(points, key=lambda point: point.value)
    return format_html(
        '<figure class="agent-memory-plot"><figcaption>{title}</figcaption>'
        '<div class="agent-memory-drawing" dir="ltr">'
        '<span class="agent-memory-scale" aria-hidden="true"><bdi>{most}</bdi></span>'
        '<svg viewBox="0 0 {width} {height}" preserveAspectRatio="none" role="img"'
        ' aria-labelledby="{name}-title {name}-desc">'
        '<title id="{name}-title">{title}</title><desc id="{name}-desc">{told}</desc>{shapes}</svg>'
        '<span class="agent-memory-ends" aria-hidden="true"><bdi>{first}</bdi><bdi>{last}</bdi>'
        "</span></div>{table}</figure>",
        name=name,
        title=title,
        most=number_format(most.value),
        width=_number(_WIDTH),
        height=_number(_HEIGHT),
        told=_told(points, most),
        shapes=shapes,
        first=points[0].day,
        last=points[-1].day,
        table=_table(points, unit),
    )


def _told(points: Sequence[Point], most: Point) -> str:
    return _("%(first)s: %(begin)s. %(last)s: %(end)s. Most, on %(day)s: %(most)s.") % {
        "first": points[0].day,
        "begin": number_format(points[0].value),
        "last": points[-1].day,
        "end": number_format(points[-1].value),
        "day": most.day,
        "most": number_format(most.value),
    }


def _table(points: Sequence[Point], unit: str) -> SafeString:
    """Return every day with its number, the newest first, shown on demand."""
    rows = ((point.day, number_format(point.value)) for point in reversed(points))
    return format_html(
        '<details><summary>{}</summary><div class="agent-memory-days"><table><thead><tr>'
        '<th scope="col">{}</th><th scope="col">{}</th></tr></thead><tbody>{}</tbody></table></div>'
        "</details>",
        _("As a table"),
        _("Day"),
        unit,
        format_html_join("", '<tr><th scope="row">{}</th><td>{}</td></tr>', rows),
    )


def _most(points: Sequence[Point]) -> int:
    return max((point.value for point in points), default=0) or 1


def _height(value: int, most: int) -> float:
    return _HEIGHT * value / most


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
