"""Rows for tests: people and keys directly, memories through `Memory`, as in life."""

from __future__ import annotations

from typing import Any

import factory
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from factory.django import DjangoModelFactory

from django_agent_memory.memory import Memory
from django_agent_memory.models import AgentKey, Note, Workspace


class UserFactory(DjangoModelFactory):
    """A user; `permissions` are codenames of the app's model permissions."""

    class Meta:
        model = get_user_model()
        skip_postgeneration_save = True

    username = factory.Sequence(lambda n: f"user{n}")

    @factory.post_generation
    def permissions(self: Any, create: bool, codenames: tuple[str, ...], **_: Any) -> None:
        if codenames:
            found = Permission.objects.filter(
                content_type__app_label="agent_memory", codename__in=codenames
            )
            assert len(found) == len(codenames), codenames
            self.user_permissions.set(found)


class WorkspaceFactory(DjangoModelFactory):
    """A workspace that nothing has been written to."""

    class Meta:
        model = Workspace

    path = factory.Sequence(lambda n: f"workspace-{n}")


class NoteFactory(factory.Factory):
    """A note, remembered; `workspace` is a path and `actor` signs."""

    class Meta:
        model = Note

    workspace = "core"
    actor = "scribe"
    key = factory.Sequence(lambda n: f"note/{n}")
    summary = "A summary"
    body = "A body"

    @classmethod
    def _create(cls, model_class: type[Note], workspace: str, actor: str, **arguments: Any) -> Note:
        Memory(workspace, actor=actor).remember(**arguments)
        return model_class.objects.get(workspace__path=workspace, key=arguments["key"])


class AgentKeyFactory(factory.Factory):
    """An agent key, issued; its secret is in `secret`."""

    class Meta:
        model = AgentKey

    workspace = "core"
    name = factory.Sequence(lambda n: f"agent-{n}")

    @classmethod
    def _create(cls, model_class: type[AgentKey], **arguments: Any) -> AgentKey:
        key, secret = model_class.objects.issue(**arguments)
        key.secret = secret
        return key
