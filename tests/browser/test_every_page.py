"""Every page in every look: pictures, nothing serious for axe, nothing wider than the screen."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import axe_playwright_python
import pytest
from django.conf import settings
from django.contrib import admin
from django.urls import resolve
from playwright.sync_api import Page

from django_agent_memory.admin.base import MemoryAdmin

from .conftest import Visit
from .places import CORE, EVIL, FILES, ONLY_CORE, PAGES

ALL = {**PAGES, **ONLY_CORE}
UNDER = "unfold" if settings.IS_UNFOLD else "django"
AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
DESKTOP, NARROW = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
BROKEN = """() => [...document.querySelectorAll("[class*=agent-memory] thead th")]
    .filter(heading => !heading.querySelector(".visually-hidden") && heading.firstChild?.data)
    .flatMap(heading => [...heading.firstChild.data.matchAll(/\\S+/g)].filter(word => {
        const range = document.createRange();
        range.setStart(heading.firstChild, word.index);
        range.setEnd(heading.firstChild, word.index + word[0].length);
        return new Set([...range.getClientRects()].map(line => line.top)).size > 1;
    }).map(word => `broken in two: ${word[0]}`))"""
"""Finds the words in the headings of our tables that go on in the next line."""

OF_DJANGO = {
    # The label of its search is an image.
    ("label-title-only", "#searchbar"),
    # A part of select2 has no name while nothing is chosen; the field around it has one.
    ("aria-input-field-name", "#select2-id_workspace-container"),
}
"""What axe finds wherever Django's admin has it, by rule and place; none of it is ours."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the pictures go."""
    output = os.environ.get("AGENT_MEMORY_TEST_OUTPUT")
    return (Path(output) if output else tmp_path) / "screenshots" / UNDER


@pytest.mark.parametrize("part", [0, 1])
def test_light_dark_and_narrow(visit: Visit, folder: Path, part: int) -> None:
    page = visit(viewport=DESKTOP)
    faults = Faults()
    for name in opened(page, list(ALL)[part::2]):
        faults.add(name, serious(page))
        picture(page, folder / "light" / name)
        turn(page, color_scheme="dark")
        faults.add(f"{name}, dark", serious(page, runOnly=["color-contrast"]))
        picture(page, folder / "dark" / name)
        turn(page, color_scheme="light")
        page.set_viewport_size(NARROW)
        faults.add(f"{name}, narrow", [*too_wide(page), *page.evaluate(BROKEN)])
        faults.add(f"{name}, narrow", serious(page, runOnly=["scrollable-region-focusable"]))
        picture(page, folder / "narrow" / name)
        page.set_viewport_size(DESKTOP)
    faults.are_none()


@pytest.mark.parametrize(("locale", "direction"), [("ar", "rtl"), ("de", "ltr")])
def test_another_language(visit: Visit, folder: Path, locale: str, direction: str) -> None:
    page = visit(viewport=DESKTOP, locale=locale)
    faults = Faults()
    for name in opened(page, ALL):
        picture(page, folder / locale / name)
        if page.evaluate("getComputedStyle(document.body).direction") != direction:
            faults.add(name, ["the wrong direction"])
        page.set_viewport_size(NARROW)
        faults.add(name, too_wide(page))
        page.set_viewport_size(DESKTOP)
    faults.are_none()


def test_hostile_text_runs_on_no_page(visit: Visit) -> None:
    """Without the policy, which would keep it from running."""
    page, seen = visit(bypass_csp=True), set()
    for name, way in PAGES.items():
        way(page, EVIL)
        seen.add(resolve(page.evaluate("location.pathname")).url_name)
        assert page.evaluate("window.hit") is None, name
        assert page.locator("img[src=x], svg[onload]").count() == 0, name
        assert "14{%" not in page.content(), name
    ours = [page for page in admin.site._registry.values() if isinstance(page, MemoryAdmin)]
    pages = {str(url.name) for page in ours for url in page.own_urls()}
    assert pages
    assert pages <= seen | FILES


class Faults(dict[str, list[str]]):
    """What is wrong, with the names of the pages on which it is."""

    def add(self, name: str, found: list[str]) -> None:
        for fault in found:
            self.setdefault(fault, []).append(name)

    def are_none(self) -> None:
        assert not self, json.dumps(self, indent=1, ensure_ascii=False)


def opened(page: Page, names: Iterable[str]) -> Iterator[str]:
    """Open each of the pages, and yield its name."""
    for name in names:
        ALL[name](page, CORE)
        yield name


def turn(page: Page, **media: Any) -> None:
    """Change how the page is looked at, and wait until its colours have changed."""
    page.emulate_media(**media)
    if settings.IS_UNFOLD:  # Its script does so when a page is opened.
        page.evaluate(
            "dark => document.documentElement.classList.toggle('dark', dark)",
            media["color_scheme"] == "dark",
        )
    page.evaluate("Promise.all(document.getAnimations().map(one => one.finished))")


def picture(page: Page, path: Path) -> None:
    page.screenshot(path=path.with_suffix(".png"), full_page=True)


def serious(page: Page, **options: Any) -> list[str]:
    """Return what axe finds that would keep somebody from using the page."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)  # The policy stops scripts in the page, not those of the debugger.
    asked = {"resultTypes": ["violations"], "preload": False, **options}
    found = page.evaluate("options => axe.run(document, options)", asked)["violations"]
    return [
        f"{fault['id']}: {node['html'][:160]} | {node['failureSummary'][:240]}"
        for fault in found
        if fault["impact"] in ("serious", "critical")
        for node in fault["nodes"]
        if (fault["id"], *node["target"]) not in OF_DJANGO
    ]


def too_wide(page: Page) -> list[str]:
    """Return by how much the page is wider than its window, where it is."""
    wider = page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    return [f"{wider} pixels too wide"] if wider > 0 else []
