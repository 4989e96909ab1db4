"""The rows of the resources as JSON: which fields, under which names; nothing is read from them.

Each row names its workspace and that workspace's revision. Bodies come with one row, never with a
list of them.
"""

from __future__ import annotations

import datetime
from typing import Any

from rest_framework import serializers

from django_agent_memory.encoding import render_moment
from django_agent_memory.text.rendering import index_line


class Moment(serializers.DateTimeField):
    """A time in ISO 8601 with an offset, whatever the host's DATETIME_FORMAT is."""

    def to_representation(self, value: datetime.datetime) -> str:
        """Return the text."""
        return render_moment(value)


class PrimaryKey(serializers.Field):  # type: ignore[type-arg]
    """A primary key of whatever type: a number as one, all else as text."""

    def to_representation(self, value: Any) -> int | str:
        """Return the number or the text."""
        return value if isinstance(value, int) else str(value)


class Body(serializers.Field):  # type: ignore[type-arg]
    """A body with the JSON type it was stored with."""

    def to_representation(self, value: Any) -> Any:
        """Return the value itself."""
        return value


class WorkspaceReceiptSerializer(serializers.Serializer):  # type: ignore[type-arg]
    """What a writer who may not read learns of a workspace."""

    id = serializers.IntegerField()
    path = serializers.CharField()
    workspace_revision = serializers.IntegerField(source="revision")
    created_at = Moment()
    updated_at = Moment()


class WorkspaceSerializer(WorkspaceReceiptSerializer):
    """A workspace."""

    title = serializers.CharField()
    description = serializers.CharField()
    index_budget = serializers.IntegerField(allow_null=True)


class _InWorkspaceSerializer(serializers.Serializer):  # type: ignore[type-arg]
    id = serializers.IntegerField()
    workspace = serializers.CharField(source="workspace.path")
    workspace_revision = serializers.IntegerField(source="workspace.revision")


class _RowSerializer(_InWorkspaceSerializer):
    key = serializers.CharField()


class NoteReceiptSerializer(_RowSerializer):
    """What a writer who may not read learns of a note; `size` is its body's, in code points."""

    size = serializers.IntegerField()
    revision = serializers.IntegerField()
    created_at = Moment()
    updated_at = Moment()


class _DetailsSerializer(serializers.Serializer):  # type: ignore[type-arg]
    """What a note has beside its text; `known` of the row holds it."""

    kind = serializers.CharField(source="known.kind")
    slot = serializers.CharField(source="known.slot")
    subject = serializers.CharField(source="known.subject")
    weight = serializers.FloatField(source="known.weight")
    contexts = serializers.ListField(source="known.contexts")
    source = serializers.CharField(source="known.source")  # type: ignore[assignment]
    happened_at = Moment(source="known.happened_at", allow_null=True)
    expires_at = Moment(source="known.expires_at", allow_null=True)


class NoteLineSerializer(NoteReceiptSerializer, _DetailsSerializer):
    """A note in a list."""

    summary = serializers.CharField(allow_null=True)


class NoteSerializer(NoteLineSerializer):
    """A note with its body."""

    body = Body(source="value")


class IndexEntrySerializer(_RowSerializer):
    """An index entry: the whole summary, and the line that the index shows of it."""

    summary = serializers.CharField()
    line = serializers.SerializerMethodField()

    def get_line(self, entry: Any) -> str:
        """Return the line."""
        return index_line(entry.key, entry.summary)


class RevisionLineSerializer(_RowSerializer):
    """A revision in a list."""

    number = serializers.IntegerField()
    operation = serializers.CharField()
    summary = serializers.CharField(allow_null=True)
    actor = serializers.CharField()
    reason = serializers.CharField()
    created_at = Moment()


class RevisionSerializer(RevisionLineSerializer, _DetailsSerializer):
    """A revision with what was known; its body is null after a forget (and `has_body` false)."""

    has_body = serializers.SerializerMethodField()
    body = Body(source="value")

    def get_has_body(self, revision: Any) -> bool:
        """Return whether there was a note after it; its body may itself be null."""
        return revision.body is not None


class AgentKeyReceiptSerializer(_InWorkspaceSerializer):
    """What one who may revoke an agent key and not see it learns of it."""

    revoked = serializers.SerializerMethodField()
    revoked_at = Moment(allow_null=True)

    def get_revoked(self, key: Any) -> bool:
        """Return whether it was revoked."""
        return key.revoked_at is not None


class AgentKeySerializer(AgentKeyReceiptSerializer):
    """An agent key, never with its secret; `actor` signs what it writes, `tools` null is all."""

    prefix = serializers.CharField()
    name = serializers.CharField()
    actor = serializers.CharField(source="name")
    access = serializers.CharField()
    tools = Body()
    user = PrimaryKey(source="user_id", allow_null=True)
    created_at = Moment()
    expires_at = Moment(allow_null=True)
    last_used_at = Moment(allow_null=True)
    replaced_by = serializers.IntegerField(source="replaced_by_id", allow_null=True)


class GrantSerializer(_InWorkspaceSerializer):
    """A grant: to a user or to a group, of whom it names the primary key."""

    user = PrimaryKey(source="user_id", allow_null=True)
    group = PrimaryKey(source="group_id", allow_null=True)
    access = serializers.CharField()
    created_at = Moment()
