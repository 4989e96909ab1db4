"""docs/api.md says what is so: every address and method has a curl line that answers as shown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.urls import URLPattern, resolve

from django_agent_memory.api import credentials, filters, resources
from django_agent_memory.urls import urlpatterns

from .console import Shell, new_site, settled, steps

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "api.md").read_text(encoding="utf-8")
ADDRESS = re.compile(r"\$API/([^\s\"?)]*)")
LIST_ROW = re.compile(r"^\| `([\w-]+)/` \| (.+) \| (.+) \|$", re.MULTILINE)
RESOURCE_OF_WORKSPACES = ("workspace-list", "workspace-detail")
LISTS = {
    "workspaces": (filters.WorkspaceFilters, resources.WorkspaceViewSet),
    "notes": (filters.NoteFilters, resources.NoteViewSet),
    "index-entries": (filters.IndexEntryFilters, resources.IndexEntryViewSet),
    "revisions": (filters.RevisionFilters, resources.RevisionViewSet),
    "agent-keys": (filters.AgentKeyFilters, credentials.AgentKeyViewSet),
    "grants": (filters.GrantFilters, credentials.GrantViewSet),
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """A new Django project with a memory, and a shell in it."""
    shell = new_site(tmp_path_factory.mktemp("api_page"))
    yield shell
    shell.close()


def test_the_lines_answer_as_shown(site: Shell) -> None:
    for command, shown in steps(PAGE):
        if command.startswith("curl"):
            site.serve()
        printed = site.run(command)
        if "migrate" not in command:  # what it says of the database is not about the API
            assert settled(printed) == settled(shown), command


def methods(pattern: URLPattern) -> set[str]:
    """Return the methods that the address of the pattern takes."""
    view: Any = pattern.callback
    return set(getattr(view, "actions", None) or view.cls.http_method_names) - {"head"}


def method(command: str) -> str:
    """Return the method of a curl line."""
    named = re.search(r"-X (\w+)", command)
    if named:
        return named[1].lower()
    return "post" if "--json" in command else "get"


def endpoint(name: str) -> str:
    """Return the name of an address, the same with and without a workspace in it."""
    return name if name in RESOURCE_OF_WORKSPACES else name.removeprefix("workspace-")


def test_every_address_and_method_has_a_line() -> None:
    there = {
        (endpoint(pattern.name), name)
        for pattern in urlpatterns
        if pattern.name
        for name in methods(pattern)
    }
    shown = {
        (endpoint(str(resolve(f"/memory/{address}").url_name)), method(command))
        for command, _ in steps(PAGE)
        for address in ADDRESS.findall(command)
    }
    assert there - shown == set()
    assert len(there) > 20


def test_the_tables_of_filters_and_orders_are_those_of_the_lists() -> None:
    rows = {name: (said, orders) for name, said, orders in LIST_ROW.findall(PAGE)}
    assert set(rows) == set(LISTS)
    for name, (filterset, viewset) in LISTS.items():
        said, orders = (re.findall(r"`(\w+)`", cell) for cell in rows[name])
        assert said == list(filterset.base_filters), name
        assert orders == [order.removeprefix("-") for order in viewset.orderings], name
