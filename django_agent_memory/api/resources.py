"""The rows as resources, for programs and people: lists with filters, and each by its number.

What changes a memory goes through the verbs of `Memory`, as every write does. A list is one
statement, whatever its length.
"""

from __future__ import annotations

from typing import Any, ClassVar

from django.db.models import F, QuerySet
from django.http import HttpResponse
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.serializers import BaseSerializer
from rest_framework.viewsets import ViewSetMixin

from django_agent_memory.exceptions import Conflict, NotAllowed, Refused
from django_agent_memory.memory import Memory
from django_agent_memory.models import IndexEntry, Note, Revision, Workspace
from django_agent_memory.models.note import NoteQuerySet
from django_agent_memory.results import Forgot

from . import filters, serializers
from .base import Endpoint, free_of_the_host
from .known import KNOWN, read_known
from .pagination import CursorPagination
from .parsing import expected_revision, read_fields, read_json, read_query
from .rendering import json_answer

_UNSET: Any = object()


class Resource(ViewSetMixin, Endpoint):
    """Rows to list and to retrieve: filtered, ordered, paged; only those in the caller's reach."""

    filters: ClassVar[type[Any]]
    line: ClassVar[type[BaseSerializer[Any]]]
    whole: ClassVar[type[BaseSerializer[Any]]]
    receipt: ClassVar[type[BaseSerializer[Any]]]
    orderings: ClassVar[tuple[str, ...]]
    permission: ClassVar[str]
    list_tool: ClassVar[str | None] = None
    whole_tool: ClassVar[str | None] = None
    workspace_lookup: ClassVar[str] = "workspace"
    list_actions: ClassVar[dict[str, str]] = {"get": "list"}
    one_actions: ClassVar[dict[str, str]] = {"get": "retrieve"}

    @classmethod
    def as_view(cls, actions: Any = None, **initkwargs: Any) -> Any:
        """Return the view of these actions as `free_of_the_host` leaves it."""
        return free_of_the_host(super().as_view(actions, **initkwargs))

    @classmethod
    def of_list(cls) -> Any:
        """Return the view of all rows."""
        return cls.as_view(cls.list_actions, queried=("GET", "HEAD"))

    @classmethod
    def of_one(cls) -> Any:
        """Return the view of one row."""
        return cls.as_view(cls.one_actions)

    def rows(self) -> QuerySet[Any]:
        """Return all rows, with everything the serializers ask of them."""
        raise NotImplementedError

    def lines(self) -> QuerySet[Any]:
        """Return all rows without what a list does not show."""
        return self.rows()

    def list(self, request: Request) -> HttpResponse:
        """Return a page: `results`, and `next`, the address of the next page or null."""
        self.access.require(self.permission, tool=self.list_tool)
        query = read_query(request._request)
        lines = self._visible(self.lines())
        rows = self.filters(query, lines).filter_queryset(lines)
        page, following = CursorPagination(query, self._ordering(query)).page(rows, request.path)
        return json_answer(
            {
                "results": self.line(page, many=True).data,
                "next": following,
                "workspace_revision": self.access.workspace_revision,
            }
        )

    def retrieve(self, request: Request, pk: int) -> HttpResponse:
        """Return one row, whole."""
        self.access.require(self.permission, tool=self.whole_tool)
        row = self._one(pk)
        return json_answer(self.whole(row).data)

    def _written(self, row: Any, status: int = 200) -> HttpResponse:
        """Return the row that was written, whole only to those who may also read it."""
        try:
            self.access.require(self.permission, tool=self.whole_tool)
        except NotAllowed:
            return json_answer(self.receipt(row).data, status=status)
        return json_answer(self.whole(row).data, status=status)

    def _visible(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        return self.access.visible(rows, self.workspace_lookup)

    def _one(self, pk: int) -> Any:
        row = self._visible(self.rows()).filter(pk=pk).first()
        if row is None:
            raise NotFound("There is nothing with this number.")
        return row

    def _ordering(self, query: dict[str, str]) -> str:
        ordering = query.get("ordering", self.orderings[0])
        names = [name.removeprefix("-") for name in self.orderings]
        if ordering.removeprefix("-") not in names:
            raise Refused(
                f"ordering must be one of: {', '.join(names)}; with - in front for descending."
            )
        return ordering


class WorkspaceViewSet(Resource):
    """Workspaces: `path`, `title`, `description`, `index_budget`; users create and change them."""

    filters = filters.WorkspaceFilters
    line = whole = serializers.WorkspaceSerializer
    receipt = serializers.WorkspaceReceiptSerializer
    orderings = ("path", "created_at", "updated_at", "revision")
    permission = "view_workspace"
    workspace_lookup = "pk"
    list_actions = {"get": "list", "post": "create"}
    one_actions = {"get": "retrieve", "patch": "partial_update"}

    _fields = ("title", "description", "index_budget")

    def rows(self) -> QuerySet[Workspace]:
        """Return the workspaces."""
        return Workspace.objects.order_by("path")

    def create(self, request: Request) -> HttpResponse:
        """Make a workspace; 409 if there is one with this path."""
        self.access.require("add_workspace")
        fields = read_fields(read_json(request._request), required=("path",), optional=self._fields)
        memory = self.access.memory(fields.pop("path"))
        return self._written(memory.configure(new=True, **fields), 201)

    def partial_update(self, request: Request, pk: int) -> HttpResponse:
        """Change title, description or index budget."""
        self.access.require("change_workspace")
        workspace = self._one(pk)
        fields = read_fields(read_json(request._request), required=(), optional=self._fields)
        _check_changes(fields, self._fields)
        return self._written(self.access.memory(workspace.path).configure(**fields))


class NoteViewSet(Resource):
    """Notes. A write without `expected_revision` expects the note as it was found by its number."""

    filters = filters.NoteFilters
    line = serializers.NoteLineSerializer
    whole = serializers.NoteSerializer
    receipt = serializers.NoteReceiptSerializer
    orderings = ("key", "created_at", "updated_at", "size", "revision")
    permission = "view_note"
    list_tool = "list_memories"
    whole_tool = "recall"
    list_actions = {"get": "list", "post": "create"}
    one_actions = {
        "get": "retrieve",
        "put": "update",
        "patch": "partial_update",
        "delete": "destroy",
    }

    _fields = ("summary", *KNOWN, "expected_revision", "reason")

    def rows(self) -> QuerySet[Note]:
        """Return the shared notes, but expired ones, each with its summary and its body's size."""
        return self._shared().unexpired()

    def lines(self) -> QuerySet[Note]:
        """Return the notes without their bodies; the filters take the expired ones out."""
        return self._shared().defer("body")

    def list(self, request: Request) -> HttpResponse:
        """Return a page; `search` also takes the tool search, `actor` the right to the history."""
        query = read_query(request._request)
        if "search" in query:
            self.access.require(self.permission, tool="search")
        if "actor" in query:
            self.access.require(RevisionViewSet.permission, tool=RevisionViewSet.list_tool)
        return super().list(request)

    def create(self, request: Request) -> HttpResponse:
        """Store a note under a new key; 409 if it is taken, unless `expected_revision` fits."""
        self.access.require("add_note", "change_note", tool="remember")
        fields = read_fields(
            read_json(request._request),
            required=("key", "body"),
            optional=("workspace", *self._fields),
        )
        memory = self.access.memory(fields.get("workspace"), place="send the field 'workspace'")
        self.access.require_workspace(memory)
        key = fields["key"]
        try:
            done = self._save(request, memory, key, fields, expected=0)
        except Conflict as conflict:
            if expected_revision(request._request, fields) is None:
                raise self._taken(memory, key, conflict) from None
            raise
        return self._written_note(memory, key, 201 if done == "created" else 200)

    def update(self, request: Request, pk: int) -> HttpResponse:
        """Replace summary and body; without a summary the note leaves the index.

        What else is known of it stays unless it is sent.
        """
        self.access.require("add_note", "change_note", tool="remember")
        note = self._one(pk)
        fields = read_fields(read_json(request._request), required=("body",), optional=self._fields)
        return self._rewrite(request, note, fields)

    def partial_update(self, request: Request, pk: int) -> HttpResponse:
        """Replace the summary, the body or what else is known of the note."""
        self.access.require("add_note", "change_note", tool="remember")
        note = self._one(pk)
        fields = read_fields(
            read_json(request._request), required=(), optional=("body", *self._fields)
        )
        _check_changes(fields, ("summary", "body", *KNOWN))
        kept = {"summary": note.summary}
        if "body" not in fields:
            kept["body"] = note.value
        return self._rewrite(request, note, {**kept, **fields})

    def destroy(self, request: Request, pk: int) -> HttpResponse:
        """Forget the note; 404 if it is not there (any more)."""
        self.access.require("delete_note", tool="forget")
        note = self._one(pk)
        fields = read_fields(
            read_json(request._request), required=(), optional=("expected_revision", "reason")
        )
        expected = expected_revision(request._request, fields)
        memory = self.access.memory(note.workspace.path)
        done = memory.forget(
            note.key,
            expected_revision=note.revision if expected is None else expected,
            reason=fields.get("reason", ""),
        )
        answer: dict[str, Any] = {"key": done.key, "outcome": done.outcome}
        if isinstance(done, Forgot):
            answer["revision"] = done.revision
        return json_answer({**answer, "workspace_revision": done.workspace_revision})

    @staticmethod
    def _shared() -> NoteQuerySet:
        notes = Note.objects.seen_in("").select_related("workspace").defer("haystack")
        return notes.with_size().annotate(summary=F("entry__summary"))

    def _rewrite(self, request: Request, note: Note, fields: dict[str, Any]) -> HttpResponse:
        memory = self.access.memory(note.workspace.path)
        self._save(request, memory, note.key, fields, expected=note.revision)
        return self._written_note(memory, note.key, 200)

    def _save(
        self, request: Request, memory: Memory, key: str, fields: dict[str, Any], *, expected: int
    ) -> str:
        given = expected_revision(request._request, fields)
        done = memory.remember(
            key,
            fields.get("summary"),
            fields["body"],
            expected_revision=expected if given is None else given,
            reason=fields.get("reason", ""),
            **read_known(fields),
        )
        return done.outcome

    def _taken(self, memory: Memory, key: str, conflict: Conflict) -> Conflict:
        """Return the conflict of one who did not know of the note, with its address if it stays."""
        rows = Note.objects.live().filter(workspace__path=memory.path, key=key)
        pk = rows.values_list("pk", flat=True).first()
        if pk is None:
            return conflict
        return Conflict(
            f"The key exists already; change the note with PATCH or PUT notes/{pk}/.",
            current_revision=conflict.current_revision,
        )

    def _written_note(self, memory: Memory, key: str, status: int) -> HttpResponse:
        note = self.rows().filter(workspace__path=memory.path, key=key).first()
        if note is None:
            raise NotFound("The note was written, and removed by someone else since.")
        return self._written(note, status)


class IndexEntryViewSet(Resource):
    """The entries of the index; written with their notes."""

    filters = filters.IndexEntryFilters
    line = whole = serializers.IndexEntrySerializer
    orderings = ("key",)
    permission = "view_indexentry"
    list_tool = whole_tool = "list_memories"

    def rows(self) -> QuerySet[IndexEntry]:
        """Return the entries, but those of expired notes and of private ones."""
        return IndexEntry.objects.live().select_related("workspace")


class RevisionViewSet(Resource):
    """The history, newest first unless asked otherwise; never changed."""

    filters = filters.RevisionFilters
    line = serializers.RevisionLineSerializer
    whole = serializers.RevisionSerializer
    orderings = ("-number", "created_at")
    permission = "view_revision"
    list_tool = whole_tool = "recall"

    def rows(self) -> QuerySet[Revision]:
        """Return the revisions, but private ones."""
        return Revision.objects.seen_in("").select_related("workspace")

    def lines(self) -> QuerySet[Revision]:
        """Return the revisions without their bodies."""
        return self.rows().defer("body")


def _check_changes(fields: dict[str, Any], changeable: tuple[str, ...]) -> None:
    """Raise `Refused` if a PATCH sets none of what it could."""
    if not any(name in fields for name in changeable):
        raise Refused(f"There is nothing to change; send one or more of: {', '.join(changeable)}.")
