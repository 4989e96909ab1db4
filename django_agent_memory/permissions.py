"""A user's model permissions, their own and those of their groups, in one statement.

Django's `ModelBackend` reads them in two and keeps them on the user; here they are put where it
keeps them. It is asked as always, and where it looks elsewhere, it reads for itself.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_backends
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import Permission, PermissionsMixin
from django.db import router
from django.db.models import BooleanField, QuerySet, Value

_KEPT = ("_user_perm_cache", "_group_perm_cache")
_READING = ("_get_permissions", "_get_user_permissions", "_get_group_permissions")


def read_at_once(user: Any) -> None:
    """Read the permissions of a user of whom Django would, but has not yet; else do nothing."""
    if not isinstance(user, PermissionsMixin) or user.is_superuser:
        return
    if any(hasattr(user, name) for name in _KEPT) or not _is_asked_of_the_tables():
        return
    found: dict[bool, set[str]] = {False: set(), True: set()}
    for app, codename, by_group in _rows(user):
        found[bool(by_group)].add(f"{app}.{codename}")
    for name, by_group in zip(_KEPT, (False, True), strict=True):
        setattr(user, name, found[by_group])


def _is_asked_of_the_tables() -> bool:
    """Whether Django's own backend is there, and no other keeps something else in its place."""
    kinds = [type(backend) for backend in get_backends() if isinstance(backend, ModelBackend)]
    own = [
        all(getattr(kind, name) is getattr(ModelBackend, name) for name in _READING)
        for kind in kinds
    ]
    return any(own) and all(own)


def _rows(user: Any) -> QuerySet[Any, tuple[str, str, bool]]:
    alias = router.db_for_read(Permission, instance=user)
    groups = user.groups.using(alias).order_by().values("pk")
    own = user.user_permissions.using(alias)
    of_groups = Permission.objects.using(alias).filter(group__in=groups)
    both = _named(own, by_group=False).union(_named(of_groups, by_group=True), all=True)
    # A union is in the order of the model again, by columns that it does not have.
    rows: QuerySet[Any, tuple[str, str, bool]] = both.order_by()
    return rows


def _named(rows: QuerySet[Permission], *, by_group: bool) -> Any:
    told = rows.annotate(by_group=Value(by_group, output_field=BooleanField())).order_by()
    return told.values_list("content_type__app_label", "codename", "by_group")
