"""Who calls: an agent by its bearer key, or a person by their session."""

from __future__ import annotations

import datetime
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser
from django.db import DatabaseError, router, transaction
from django.db.models import Q
from django.utils import timezone
from django.views.decorators.debug import sensitive_variables
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied

from django_agent_memory.models import AgentKey

from .parsing import check_media_type, declares_body

SCHEME = "Bearer"
_SAFE = ("GET", "HEAD")
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
USE_NOTED_EVERY = datetime.timedelta(minutes=1)


class AgentKeyAuthentication(BaseAuthentication):
    """`Authorization: Bearer dam_…`: one indexed query; never any CSRF.

    `request.auth` is the `AgentKey`, with its workspace; `request.user` its user or anonymous. With
    such a header no other authentication is tried. A key whose user is gone or inactive is refused.
    """

    @sensitive_variables("secret")
    def authenticate(self, request: Any) -> tuple[Any, AgentKey] | None:
        """Return the key's user and the key, None without a bearer header, or raise 401."""
        scheme, _, secret = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        key = _key_with(secret.strip())
        user = _owner(key)
        _note_use(key)
        return user, key

    def authenticate_header(self, request: Any) -> str:
        """Return the challenge of every 401."""
        return SCHEME


class UserAuthentication(SessionAuthentication):
    """Django's session, with its CSRF check on everything that writes."""

    def enforce_csrf(self, request: Any) -> None:
        """Raise 403 unless the CSRF token is there; a form is refused before it would be parsed.

        Without a body the type is nobody's word: some servers make one up.
        """
        may_be_form = request.method not in _SAFE and request._request.content_type in _FORMS
        if may_be_form or declares_body(request._request):
            check_media_type(request._request)
        try:
            # Not REST framework's request: its POST would consume the JSON body.
            super().enforce_csrf(request._request)
        except PermissionDenied:
            raise PermissionDenied(
                "The CSRF token is missing or wrong. A session needs the X-CSRFToken header; "
                "an agent sends Authorization: Bearer with its key instead.",
                code="csrf_failed",
            ) from None


@sensitive_variables("secret")
def _key_with(secret: str) -> AgentKey:
    keys = AgentKey.objects.select_related("workspace")
    if _shares_database_with_users():
        keys = keys.select_related("workspace", "user")
    # Digests are unique: no order is asked for, which would cost more than the look-up.
    key = next(iter(keys.with_secret(secret).order_by()), None) if secret else None
    if key is None:
        raise AuthenticationFailed("This agent key is unknown.", code="unknown_key")
    if key.revoked_at is not None:
        raise AuthenticationFailed("This agent key has been revoked.", code="revoked_key")
    if not key.is_usable:
        raise AuthenticationFailed("This agent key has expired.", code="expired_key")
    return key


def _shares_database_with_users() -> bool:
    return router.db_for_read(AgentKey) == router.db_for_read(get_user_model())


def _owner(key: AgentKey) -> Any:
    """Return the user of the key, anonymous if it has none; raise 401 if they may not log in."""
    if key.user_id is None:
        return AnonymousUser()
    user = key.user if _shares_database_with_users() else _user_elsewhere(key.user_id)
    if user is None or not user.is_active:
        raise AuthenticationFailed("The user of this agent key is inactive.", code="inactive_user")
    return user


def _user_elsewhere(pk: Any) -> Any:
    """Read the user where users are; the key's own relation would ask the key's database."""
    users = get_user_model()._base_manager
    return users.using(router.db_for_read(users.model)).filter(pk=pk).first()


def _note_use(key: AgentKey) -> None:
    """Stamp the key at most once a minute; a database that takes no writes is no reason to fail."""
    now = timezone.now()
    stale = now - USE_NOTED_EVERY
    if key.last_used_at is not None and key.last_used_at > stale:
        return
    unstamped = Q(last_used_at=None) | Q(last_used_at__lte=stale)
    alias = router.db_for_write(AgentKey)
    try:
        with transaction.atomic(using=alias):
            keys = AgentKey.objects.using(alias).filter(unstamped, pk=key.pk)
            keys.update(last_used_at=now)
    except DatabaseError:
        return
