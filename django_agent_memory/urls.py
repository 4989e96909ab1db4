"""The addresses of the memory: `path("memory/", include("django_agent_memory.urls"))`.

Every one works with and without its final slash, so that no redirect can turn a POST into a GET.
Keys never ride in a path: they hold slashes, dots and blanks that servers and proxies rewrite.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.apps import apps
from django.urls import URLPattern, path, re_path

from django_agent_memory.tools import TOOLS

from .api.applying import ApplyView
from .api.composing import ComposeView
from .api.credentials import AgentKeyViewSet, GrantViewSet
from .api.index import IndexView
from .api.past import AsOfView, HistoryView, RestoreView, RollbackView
from .api.problems import not_found
from .api.resources import (
    IndexEntryViewSet,
    NoteViewSet,
    RevisionViewSet,
    WorkspaceViewSet,
)
from .api.sessions import EndSessionView
from .api.stats import StatsView
from .api.tools import ToolsView, ToolView
from .api.values import ValuesView
from .mcp.view import MCPView

app_name = "agent_memory"


def _both(route: str, view: Callable[..., Any], name: str) -> list[URLPattern]:
    """Return the route with its final slash, which has the name, and without."""
    return [path(f"{route}/", view, name=name), path(route, view)]


def _of_workspace(route: str, endpoint: Any, name: str) -> list[URLPattern]:
    """Return the route for the caller's own workspace, and for one named behind it."""
    return [
        *_both(route, endpoint.as_view(), name),
        *_both(f"{route}/<path:workspace>", endpoint.as_view(), f"workspace-{name}"),
    ]


def _resource(route: str, viewset: Any, name: str) -> list[URLPattern]:
    return [
        *_both(route, viewset.of_list(), f"{name}-list"),
        *_both(f"{route}/<int:pk>", viewset.of_one(), f"{name}-detail"),
    ]


def _described() -> list[URLPattern]:
    """Return the addresses of the description, none where drf-spectacular is not installed.

    And one for each tool, so that it is described by itself: requests are answered before they get
    there, by the address of all tools.
    """
    if not apps.is_installed("drf_spectacular"):
        return []
    # Not before: drf-spectacular need not be there.
    from .api.openapi.views import SchemaPageView, SchemaView

    found = _both("schema", SchemaView.as_view(), "schema")
    if apps.is_installed("drf_spectacular_sidecar"):
        found += _both("schema/docs", SchemaPageView.as_view(), "schema-docs")
    view = ToolView.as_view()
    for tool in TOOLS:
        below = f"tools/<path:workspace>/{tool}/"
        found.append(path(f"tools/{tool}/", view, {"tool": tool}, name="tool"))
        found.append(path(below, view, {"tool": tool}, name="workspace-tool"))
    return found


urlpatterns = [
    *_both("tools", ToolsView.as_view(), "tools"),
    *_both("tools/<str:tool>", ToolView.as_view(), "tool"),
    *_both("tools/<path:workspace>/<str:tool>", ToolView.as_view(), "workspace-tool"),
    *_of_workspace("index", IndexView, "index"),
    *_of_workspace("end-session", EndSessionView, "end-session"),
    *_of_workspace("stats", StatsView, "stats"),
    *_of_workspace("values", ValuesView, "values"),
    *_of_workspace("apply", ApplyView, "apply"),
    *_of_workspace("compose", ComposeView, "compose"),
    *_of_workspace("history", HistoryView, "history"),
    *_of_workspace("as-of", AsOfView, "as-of"),
    *_of_workspace("restore", RestoreView, "restore"),
    *_of_workspace("rollback", RollbackView, "rollback"),
    *_of_workspace("mcp", MCPView, "mcp"),
    *_resource("workspaces", WorkspaceViewSet, "workspace"),
    *_resource("notes", NoteViewSet, "note"),
    *_resource("index-entries", IndexEntryViewSet, "index-entry"),
    *_resource("revisions", RevisionViewSet, "revision"),
    *_described(),
    *_resource("agent-keys", AgentKeyViewSet, "agent-key"),
    *_both("agent-keys/<int:pk>/rotate", AgentKeyViewSet.of_rotation(), "agent-key-rotate"),
    *_resource("grants", GrantViewSet, "grant"),
    re_path(r"", not_found),
]
