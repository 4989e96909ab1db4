"""Who reaches a memory, for users who may decide it: agent keys and grants.

A user sees and gives in the workspaces that they may view themselves, and gives no more than they
may do there. An agent key does neither. A secret is in the one answer that made it and nowhere
else: no call of these is recorded, so that none is answered again.
"""

from __future__ import annotations

import datetime
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db import router
from django.db.models import QuerySet
from django.http import HttpResponse
from django.views.decorators.debug import sensitive_variables
from rest_framework.exceptions import APIException, NotFound
from rest_framework.request import Request

from django_agent_memory import admin_trail
from django_agent_memory.exceptions import Refused
from django_agent_memory.key_terms import check_access, check_expiry, check_name, check_tools
from django_agent_memory.models import AgentKey, Grant
from django_agent_memory.models.access import MAX_OVERLAP

from . import filters, serializers
from .moments import parse_moment
from .parsing import primary_key, read_fields, read_json, refuse_precondition
from .rendering import json_answer
from .resources import Resource

MAX_OVERLAP_HOURS = MAX_OVERLAP // datetime.timedelta(hours=1)
OVERLAP_HOURS = 24
_NO_STORE = {"Cache-Control": "private, no-store"}


class Exists(APIException):
    """There is such a row already."""

    status_code = 409
    default_code = "exists"


class AgentKeyViewSet(Resource):
    """Agent keys. A key stays what it was issued as; it is replaced or revoked."""

    filters = filters.AgentKeyFilters
    line = whole = serializers.AgentKeySerializer
    receipt = serializers.AgentKeyReceiptSerializer
    orderings = ("-created_at", "name")
    permission = "view_agentkey"
    list_actions = {"get": "list", "post": "create"}
    one_actions = {"get": "retrieve", "delete": "destroy"}

    @classmethod
    def of_rotation(cls) -> Any:
        """Return the view that replaces a key."""
        return cls.as_view({"post": "rotate"})

    def rows(self) -> QuerySet[AgentKey]:
        """Return the keys."""
        return AgentKey.objects.select_related("workspace")

    @sensitive_variables("secret")
    def create(self, request: Request) -> HttpResponse:
        """Issue a key; the answer has its `secret`, this once."""
        self.access.require("add_agentkey")
        fields = read_fields(
            read_json(request._request),
            required=("workspace", "name"),
            optional=("access", "tools", "user", "expires_at"),
        )
        memory = self.access.memory(fields["workspace"], place="send the field 'workspace'")
        self.access.require_workspace(memory)
        access = check_access(fields.get("access", AgentKey.Access.READ_WRITE.value))
        terms = {
            "name": check_name(fields["name"]),
            "tools": check_tools(fields.get("tools"), access=access),
            "user_id": _pk_of(get_user_model(), fields, "user"),
            "expires_at": check_expiry(_moment(fields, "expires_at")),
        }
        self.access.require_giving(access, memory.path)
        self.access.require_naming(terms["user_id"], terms["name"])
        _check_person(get_user_model(), terms["user_id"], "user")
        key, secret = AgentKey.objects.issue(workspace=memory.path, access=access, **terms)
        admin_trail.added(request.user, key)
        return self._issued(key, secret)

    def destroy(self, request: Request, pk: int) -> HttpResponse:
        """Revoke the key: it works no more, and stays to be seen; again it keeps the first time."""
        self.access.require("change_agentkey")
        key = self._one(pk)
        _read_nothing(request)
        if key.revoked_at is None:
            key.revoke()
            admin_trail.revoked(request.user, [key])
        return self._written(key)

    @sensitive_variables("secret")
    def rotate(self, request: Request, pk: int) -> HttpResponse:
        """Issue a key on the same terms; the old one works on for `overlap_hours`, 24 without."""
        self.access.require("add_agentkey", "change_agentkey")
        key = self._one(pk)
        refuse_precondition(request._request)
        fields = read_fields(read_json(request._request), required=(), optional=("overlap_hours",))
        overlap = _overlap(fields.get("overlap_hours", OVERLAP_HOURS))
        self.access.require_giving(key.access, key.workspace.path)
        self.access.require_naming(key.user_id, key.name)
        new, secret = AgentKey.objects.rotate(key, overlap=overlap)
        admin_trail.replaced(request.user, key, new)
        return self._issued(new, secret)

    @sensitive_variables("secret", "shown")
    def _issued(self, key: AgentKey, secret: str) -> HttpResponse:
        """Return the key to whoever issued it, with the secret, for nobody to keep in between."""
        shown = {**self.whole(key).data, "secret": secret}
        return json_answer(shown, status=201, headers=_NO_STORE)


class GrantViewSet(Resource):
    """Grants: given, changed in their access, and taken back."""

    filters = filters.GrantFilters
    line = whole = receipt = serializers.GrantSerializer
    orderings = ("-created_at",)
    permission = "view_grant"
    list_actions = {"get": "list", "post": "create"}
    one_actions = {"get": "retrieve", "patch": "partial_update", "delete": "destroy"}

    def rows(self) -> QuerySet[Grant]:
        """Return the grants."""
        return Grant.objects.select_related("workspace")

    def create(self, request: Request) -> HttpResponse:
        """Give a user or a group access; 409 if they have a grant there already."""
        self.access.require("add_grant")
        fields = read_fields(
            read_json(request._request),
            required=("workspace", "access"),
            optional=("user", "group"),
        )
        memory = self.access.memory(fields["workspace"], place="send the field 'workspace'")
        self.access.require_workspace(memory)
        access = check_access(fields["access"], Grant.Access.values)
        if (fields.get("user") is None) == (fields.get("group") is None):
            raise Refused("A grant is for one user or for one group: send user or group.")
        user_id = _pk_of(get_user_model(), fields, "user")
        group_id = _pk_of(Group, fields, "group")
        self.access.require_giving(access, memory.path)
        _check_person(get_user_model(), user_id, "user")
        _check_person(Group, group_id, "group")
        grant, made = Grant.objects.give_new(
            workspace=memory.path, user_id=user_id, group_id=group_id, access=access
        )
        if not made:
            raise Exists(f"There is this grant already; change it with PATCH grants/{grant.pk}/.")
        admin_trail.added(request.user, grant)
        return json_answer(self.whole(grant).data, status=201)

    def partial_update(self, request: Request, pk: int) -> HttpResponse:
        """Change the access."""
        self.access.require("change_grant")
        grant = self._one(pk)
        refuse_precondition(request._request)
        fields = read_fields(read_json(request._request), required=("access",), optional=())
        access = check_access(fields["access"], Grant.Access.values)
        self.access.require_giving(access, grant.workspace.path)
        is_changed = grant.access != access
        grant.access = access
        if not Grant.objects.filter(pk=grant.pk).update(access=access):
            raise NotFound("There is nothing with this number.")
        if is_changed:
            admin_trail.access_changed(request.user, grant)
        return self._written(grant)

    def destroy(self, request: Request, pk: int) -> HttpResponse:
        """Take the grant back."""
        self.access.require("delete_grant")
        grant = self._one(pk)
        _read_nothing(request)
        taken, _ = Grant.objects.filter(pk=grant.pk).delete()
        if taken:
            admin_trail.deleted(request.user, grant)
        return json_answer({"id": grant.pk, "deleted": True})


def _read_nothing(request: Request) -> None:
    refuse_precondition(request._request)
    read_fields(read_json(request._request), required=(), optional=())


def _overlap(hours: object) -> datetime.timedelta:
    if type(hours) is not int or not 0 <= hours <= MAX_OVERLAP_HOURS:
        raise Refused(f"overlap_hours must be a whole number from 0 to {MAX_OVERLAP_HOURS}.")
    return datetime.timedelta(hours=hours)


def _moment(fields: dict[str, Any], name: str) -> datetime.datetime | None:
    value = fields.get(name)
    if value is None:
        return None
    if not isinstance(value, str):
        raise Refused(f"{name} must be a time with its offset, or null for none.")
    return parse_moment(value, name=name)


def _pk_of(model: Any, fields: dict[str, Any], name: str) -> Any:
    value = fields.get(name)
    return None if value is None else primary_key(model, value, name=name)


def _check_person(model: Any, pk: Any, name: str) -> None:
    """Raise `Refused` unless there is such a user or group; nothing in the database promises it."""
    rows = model._base_manager.using(router.db_for_read(model))
    if pk is not None and not rows.filter(pk=pk).exists():
        raise Refused(f"There is no {name} with this id.")
