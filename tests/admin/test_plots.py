"""Plots: shapes that every SVG reader understands, told in words and in a table as well."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import pytest
from django.utils import translation

from django_agent_memory.admin.plots import Point, bars, line

POINTS = [Point("Monday", 0), Point("Tuesday", 1500), Point("Wednesday", 750)]


def parsed(figure: str) -> ElementTree.Element:
    return ElementTree.fromstring(figure)


def shapes(figure: str, tag: str) -> list[dict[str, str]]:
    return [dict(shape.attrib) for shape in parsed(figure).iter(tag)]


def test_bars_have_the_height_of_their_numbers() -> None:
    figure = bars("w", POINTS, title="Writes", unit="Writes")
    assert shapes(figure, "rect") == [
        {"class": "agent-memory-bar", "x": "330", "y": "0", "width": "240", "height": "120"},
        {"class": "agent-memory-bar", "x": "630", "y": "60", "width": "240", "height": "60"},
    ]


def test_a_line_goes_through_all_days() -> None:
    figure = line("w", POINTS, title="Lines", unit="Lines")
    (curve,) = shapes(figure, "polyline")
    assert curve["points"] == "0,120 450,0 900,60"
    (area,) = shapes(figure, "polygon")
    assert area["points"] == "0,120 0,120 450,0 900,60 900,120"


@pytest.mark.parametrize("plot", [bars, line])
def test_it_is_told_as_well(plot: Any) -> None:
    figure = parsed(plot("w", POINTS, title="Writes", unit="Number"))
    (drawing,) = figure.iter("svg")
    told = {part.attrib["id"]: part.text for part in drawing if "id" in part.attrib}
    assert drawing.attrib["role"] == "img"
    assert [told[name] for name in drawing.attrib["aria-labelledby"].split()] == [
        "Writes",
        "Monday: 0. Wednesday: 750. Most, on Tuesday: 1500.",
    ]
    rows = [[cell.text for cell in row] for row in figure.iter("tr")]
    assert rows == [["Day", "Number"], ["Wednesday", "750"], ["Tuesday", "1500"], ["Monday", "0"]]


@pytest.mark.parametrize("plot", [bars, line])
def test_one_day_none_and_nothing_on_it(plot: Any) -> None:
    assert plot("w", [], title="t", unit="u") == ""
    assert "NaN" not in plot("w", [Point("Monday", 0)], title="t", unit="u")
    (only,) = shapes(line("w", [Point("Monday", 3)], title="t", unit="u"), "polyline")
    assert only["points"] == "0,0 900,0"


@pytest.mark.parametrize("language", ["de", "ar", "fa"])
@pytest.mark.parametrize("plot", [bars, line])
def test_coordinates_are_no_words(settings: Any, plot: Any, language: str) -> None:
    settings.USE_THOUSAND_SEPARATOR = True
    points = [Point(str(n), n * 1000) for n in range(7)]
    with translation.override(language):
        figure = plot("w", points, title="t", unit="u")
    for tag in ("rect", "polyline", "polygon"):
        for shape in shapes(figure, tag):
            numbers = [value for name, value in shape.items() if name != "class"]
            assert re.fullmatch(r"[0-9., ]+", " ".join(numbers))
            assert all(re.fullmatch(r"\d+(\.\d+)?", n) for n in re.split("[ ,]", " ".join(numbers)))
    assert shapes(figure, "svg")[0]["viewBox"] == "0 0 900 120"


def test_words_are_only_words() -> None:
    evil = '"><img src=x onerror=alert(1)>'
    figure = bars("w", [Point(evil, 1)], title=evil, unit=evil)
    assert "<img" not in figure
    assert "style=" not in figure
