"""People who look at the admin, and what they do there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from django_agent_memory.memory import Memory
from django_agent_memory.models import Note, Workspace

from .browser import fields_of

Submit = Callable[..., HttpResponse]


@pytest.fixture
def operator(db: None) -> User:
    return User.objects.create_superuser("ada", "", "pw")


@pytest.fixture
def admin(operator: User) -> Client:
    """A browser in which an operator who may do everything is logged in."""
    client = Client()
    client.force_login(operator)
    return client


@pytest.fixture
def member(db: None) -> Callable[..., Client]:
    """Make a browser of a staff member with just these permissions."""

    def login(*codenames: str) -> Client:
        user = User.objects.create_user("bob", "", "pw", is_staff=True)
        user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
        client = Client()
        client.force_login(user)
        return client

    return login


def note_of(memory: Memory, key: str = "k") -> Note:
    return Note.objects.get(workspace__path=memory.path, key=key)


def url(model: str, page: str, row: Any = None) -> str:
    return reverse(f"admin:agent_memory_{model}_{page}", args=[] if row is None else [row.pk])


def note_url(memory: Memory, key: str = "k", page: str = "change") -> str:
    return url("note", page, note_of(memory, key))


def workspace_of(memory: Memory) -> Workspace:
    return Workspace.objects.get(path=memory.path)


@pytest.fixture
def submit(admin: Client) -> Submit:
    """Open a form, type into some of its fields, and send all of it as a browser does."""

    def send(address: str, *, opened: HttpResponse | None = None, **typed: Any) -> HttpResponse:
        page = opened if opened is not None else admin.get(address)
        data = {**fields_of(page), **typed}
        data = {name: value for name, value in data.items() if value is not None}
        return admin.post(address, data)

    return send
