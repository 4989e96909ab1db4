"""The filter of notes by the start of their keys, and the folders that keys make."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from django_agent_memory.key_folders import MOST, key_folders
from django_agent_memory.models import Note
from django_agent_memory.text.gate import is_storable

from .filters import TypedFilter, WorkspaceFilter


class FolderFilter(TypedFilter):
    """By the start of the key: typed in or, within a workspace, chosen folder by folder.

    Folders are read once somebody asks for them: in one statement, after one for the workspace.
    """

    title = gettext_lazy("start of the key")
    parameter_name = "below"
    label = gettext_lazy("Start of the key, exactly")

    def chosen(self, queryset: Any, typed: str) -> Any:
        """Return the notes whose key starts with it."""
        return queryset.with_prefix(typed)

    def links(self, changelist: Any) -> Iterator[tuple[str, str]]:
        """Return the folders above what is chosen, then the first 50 in it."""
        request: HttpRequest = self.request
        if WorkspaceFilter.parameter_name not in request.GET:
            return
        if self.parameter_name not in request.GET:
            yield _("Show folders"), self._address(changelist, "")
            return
        typed = str(self.value() or "")
        above = [typed[: at + 1] for at, char in enumerate(typed[:-1]) if char == "/"]
        folders = self._folders(request, changelist.model_admin, typed)
        for folder in [*above, *folders]:
            yield folder, self._address(changelist, folder)
        if len(folders) == MOST:
            yield _("There are more: type how the key starts."), ""

    def _address(self, changelist: Any, folder: str) -> str:
        address: str = changelist.get_query_string({self.parameter_name: folder}, remove=["p"])
        return address

    def _folders(self, request: HttpRequest, model_admin: Any, prefix: str) -> list[str]:
        path = request.GET[WorkspaceFilter.parameter_name]
        if not (is_storable(path) and is_storable(prefix)):
            return []
        seen = model_admin.seen_workspaces(request).filter(path=path)
        pk = seen.values_list("pk", flat=True).first()
        return [] if pk is None else key_folders(pk, prefix, using=Note.objects.all().db)
