"""The filters of the lists. Values are taken as they are: never stripped, coerced or ignored.

Django's form fields trim text, read times by the language of the request and skip what they cannot
read; these refuse in one sentence instead.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, ClassVar, cast

import django_filters  # type: ignore[import-untyped]
from django import forms
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db.models import Exists, OuterRef, Q, QuerySet, Value
from django.db.models.functions import StrIndex
from django.utils import timezone

from django_agent_memory.associations import tied_to
from django_agent_memory.conf import conf
from django_agent_memory.exceptions import Refused
from django_agent_memory.models import (
    AgentKey,
    Grant,
    IndexEntry,
    Note,
    NoteUsage,
    Revision,
    Workspace,
)
from django_agent_memory.models.note import NoteQuerySet, after_all_with, at_or_below
from django_agent_memory.search import matching
from django_agent_memory.text import gate
from django_agent_memory.writing.details import check_contexts, check_label, check_name

from .moments import parse_moment
from .parsing import primary_key, whole_number

PAGING = ("cursor", "page_size", "ordering")
_MAY_BE_BLANK = ("search", "key_prefix")


class _Field(forms.Field):
    """A field without opinions; the filters' own checks raise `Refused`."""

    widget = forms.TextInput


class _Filter(django_filters.Filter):  # type: ignore[misc]
    """A filter on one text value that `check` has passed; `kind` says what the text is."""

    field_class = _Field
    kind: ClassVar[str] = "text"

    def filter(self, qs: QuerySet[Any], value: Any) -> QuerySet[Any]:
        """Return the rows that fit; all of them if the parameter is not there."""
        if value is None:
            return qs
        return super().filter(qs, self.check(value))  # type: ignore[no-any-return]

    def check(self, value: str) -> Any:
        """Return the value to compare with."""
        gate.check_characters(value, name=self.name)
        return value

    @property
    def name(self) -> str:
        """The query parameter."""
        return str(self.field_name)


class _Path(_Filter):
    kind = "path"

    def check(self, value: str) -> str:
        return gate.check_path(value)


class _Within(_Filter):
    """A filter on a path and all below it; a path that only begins alike is another's."""

    kind = "path"

    def filter(self, qs: QuerySet[Any], value: Any) -> QuerySet[Any]:
        if value is None:
            return qs
        return qs.filter(at_or_below(gate.check_path(value), str(self.field_name)))


class _Key(_Filter):
    kind = "key"

    def check(self, value: str) -> str:
        return gate.check_key(value, limit=conf.max_key_length)


class _KeyPrefix(_Filter):
    kind = "key_prefix"

    def filter(self, qs: QuerySet[Any], value: Any) -> QuerySet[Any]:
        if not value:
            return qs
        gate.check_text(value, name="key_prefix", limit=conf.max_key_length)
        rows = qs.filter(key__gte=value)
        end = after_all_with(value)
        return rows if end is None else rows.filter(key__lt=end)


class _Moment(_Filter):
    kind = "moment"

    def check(self, value: str) -> Any:
        return parse_moment(value, name=f"A time for {self.field_name}")


class _Number(_Filter):
    kind = "number"

    def check(self, value: str) -> int:
        return whole_number(value, name=f"A {self.field_name}")


class _Choice(_Filter):
    """A filter on one of the values that there are."""

    kind = "choice"

    def __init__(self, values: list[str]) -> None:
        super().__init__()
        self.values = [str(value) for value in values]

    def check(self, value: str) -> str:
        if value not in self.values:
            raise Refused(f"{self.field_name} must be one of: {', '.join(self.values)}.")
        return value


class _State(_Choice):
    """A filter on whether a key works; one that was revoked is revoked, expired or not."""

    def __init__(self) -> None:
        super().__init__(["active", "expired", "revoked"])

    def filter(self, qs: QuerySet[Any], value: Any) -> QuerySet[Any]:
        if value is None:
            return qs
        kept, over = Q(revoked_at=None), Q(expires_at__lte=timezone.now())
        cases = {"active": kept & ~over, "expired": kept & over, "revoked": ~kept}
        return qs.filter(cases[self.check(value)])


class _Person(_Filter):
    """A filter on a user or a group, by primary key."""

    kind = "person"

    def filter(self, qs: QuerySet[Any], value: Any) -> QuerySet[Any]:
        if value is None:
            return qs
        model = Group if self.field_name == "group" else get_user_model()
        return qs.filter(**{f"{self.field_name}_id": primary_key(model, value, name=self.name)})


class _PartOf(_Filter):
    """A filter on what has the text in it as it is: the position, as LIKE folds case somewhere."""

    kind = "key_prefix"

    def filter(self, qs: QuerySet[Any], value: Any) -> QuerySet[Any]:
        if not value:
            return qs
        gate.check_text(value, name="search", limit=conf.max_key_length)
        found: QuerySet[Any] = qs.alias(found_at=StrIndex(self.field_name, Value(value)))
        return found.filter(found_at__gt=0)


class _Flag(_Filter):
    """A filter on what is so or not; `said` is the condition."""

    kind = "flag"

    def __init__(self, said: Q) -> None:
        super().__init__()
        self.said = said

    def filter(self, qs: QuerySet[Any], value: Any) -> QuerySet[Any]:
        if value is None:
            return qs
        if value not in ("true", "false"):
            raise Refused(f"{self.field_name} must be true or false.")
        return qs.filter(self.said if value == "true" else ~self.said)


class _Expired(_Filter):
    kind = "flag"

    def filter(self, qs: Any, value: Any) -> Any:
        if value not in ("true", "false"):
            raise Refused("expired must be true or false.")
        return qs.expired() if value == "true" else qs.unexpired()


class _WrittenBy(_Filter):
    """A filter on who wrote the revision that the note says."""

    kind = "label"

    def filter(self, qs: QuerySet[Any], value: Any) -> QuerySet[Any]:
        if value is None:
            return qs
        same = {"workspace": OuterRef("workspace"), "number": OuterRef("revision")}
        return qs.filter(Exists(Revision.objects.filter(**same, actor=check_label(value, "actor"))))


class _Name(_Filter):
    kind = "name"

    def check(self, value: str) -> str:
        return check_name(value, self.name)


class _Label(_Filter):
    kind = "label"

    def check(self, value: str) -> str:
        return check_label(value, self.name)


class _Context(_Filter):
    kind = "context"

    def filter(self, qs: QuerySet[Any], value: Any) -> QuerySet[Any]:
        if value is None:
            return qs
        (context,) = check_contexts(value)
        return qs.filter(tied_to(context))


class _Search(_Filter):
    kind = "any"

    def filter(self, qs: Any, value: Any) -> Any:
        return qs if value is None else matching(qs, value)


def _recalled() -> Exists:
    """Return the condition that a note was recalled, as far as that is written already."""
    same = {"workspace": OuterRef("workspace"), "position": OuterRef("position")}
    return Exists(NoteUsage.objects.filter(**same))


class _Filters(django_filters.FilterSet):  # type: ignore[misc]
    """What the filter sets share: they know every parameter there is, and read none as absent."""

    def __init__(self, data: dict[str, str], queryset: QuerySet[Any]) -> None:
        super().__init__(data, queryset=queryset)
        _check_names(data, list(self.filters))

    def filter_queryset(self, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the rows that pass every filter that is given."""
        for name, value in self.data.items():
            if name in self.filters:
                queryset = self.filters[name].filter(queryset, value)
        return queryset


def _check_names(data: dict[str, str], filters: Collection[str]) -> None:
    for name, value in data.items():
        if name not in filters and name not in PAGING:
            known = ", ".join([*filters, *PAGING])
            raise Refused(f"The query parameter '{name[:32]}' is unknown; there are: {known}.")
        if not value and name not in _MAY_BE_BLANK:
            raise Refused(f"The query parameter '{name}' is empty; give it a value or drop it.")


class WorkspaceFilters(_Filters):
    """Of workspaces."""

    path = _Path()
    path_within = _Within("path")
    created_after = _Moment("created_at", "gte")
    created_before = _Moment("created_at", "lt")
    updated_after = _Moment("updated_at", "gte")
    updated_before = _Moment("updated_at", "lt")

    class Meta:
        model = Workspace
        fields: tuple[str, ...] = ()


class NoteFilters(_Filters):
    """Of notes; `search` is the tool's search, sizes are code points of the body.

    `actor` wrote what the note says now. `never_recalled` knows of what is written of recalls, once
    a minute. Notes that are past their expiry are there only for `expired=true`, and alone.
    """

    workspace = _Path("workspace__path")
    workspace_within = _Within("workspace__path")
    key = _Key()
    key_prefix = _KeyPrefix()
    search = _Search()
    kind = _Name()
    slot = _Name()
    subject = _Label()
    source = _Label()
    context = _Context()
    actor = _WrittenBy()
    has_summary = _Flag(Q(summary__isnull=False))
    never_recalled = _Flag(~Q(_recalled()))
    expired = _Expired()
    size_min = _Number("size", "gte")
    size_max = _Number("size", "lte")
    created_after = _Moment("created_at", "gte")
    created_before = _Moment("created_at", "lt")
    updated_after = _Moment("updated_at", "gte")
    updated_before = _Moment("updated_at", "lt")
    happened_after = _Moment("happened_at", "gte")
    happened_before = _Moment("happened_at", "lt")

    class Meta:
        model = Note
        fields: tuple[str, ...] = ()

    def filter_queryset(self, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the notes that pass; the expired ones only where they are asked for."""
        notes = cast("NoteQuerySet", super().filter_queryset(queryset))
        return notes if "expired" in self.data else notes.unexpired()


class IndexEntryFilters(_Filters):
    """Of index entries."""

    workspace = _Path("workspace__path")
    workspace_within = _Within("workspace__path")
    key = _Key()
    key_prefix = _KeyPrefix()

    class Meta:
        model = IndexEntry
        fields: tuple[str, ...] = ()


class RevisionFilters(_Filters):
    """Of revisions."""

    workspace = _Path("workspace__path")
    workspace_within = _Within("workspace__path")
    key = _Key()
    key_prefix = _KeyPrefix()
    actor = _Filter()
    operation = _Choice(Revision.Operation.values)
    created_after = _Moment("created_at", "gte")
    created_before = _Moment("created_at", "lt")

    class Meta:
        model = Revision
        fields: tuple[str, ...] = ()


class AgentKeyFilters(_Filters):
    """Of agent keys; `search` is a part of the name."""

    workspace = _Path("workspace__path")
    workspace_within = _Within("workspace__path")
    name = _Filter()
    search = _PartOf("name")
    prefix = _Filter()
    access = _Choice(AgentKey.Access.values)
    state = _State()
    user = _Person("user")
    created_after = _Moment("created_at", "gte")
    created_before = _Moment("created_at", "lt")
    expires_after = _Moment("expires_at", "gte")
    expires_before = _Moment("expires_at", "lt")
    last_used_after = _Moment("last_used_at", "gte")
    last_used_before = _Moment("last_used_at", "lt")

    class Meta:
        model = AgentKey
        fields: tuple[str, ...] = ()


class GrantFilters(_Filters):
    """Of grants."""

    workspace = _Path("workspace__path")
    workspace_within = _Within("workspace__path")
    user = _Person("user")
    group = _Person("group")
    access = _Choice(Grant.Access.values)
    created_after = _Moment("created_at", "gte")
    created_before = _Moment("created_at", "lt")

    class Meta:
        model = Grant
        fields: tuple[str, ...] = ()
