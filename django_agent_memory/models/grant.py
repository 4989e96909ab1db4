"""Which people reach which memories, one workspace at a time."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db import models, router
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from django_agent_memory.exceptions import Refused
from django_agent_memory.text.gate import check_path

from .workspace import Workspace


class GrantQuerySet(models.QuerySet["Grant"]):
    """Sets of grants, and the one way to give one."""

    def of(self, user: Any) -> GrantQuerySet:
        """Those of the user and of the groups the user is in. Whether they may log in is not asked.

        One statement where users and grants share a database, else the groups are read first.
        """
        theirs = Q(user_id=user.pk)
        # A user model of the site's own may do without groups.
        groups = getattr(user, "groups", None)
        if groups is not None:
            theirs |= Q(group_id__in=self._groups(user))
        return self.filter(theirs)

    def _groups(self, user: Any) -> Any:
        alias = router.db_for_read(Group)
        ids = user.groups.using(alias).order_by().values("pk")
        return ids if alias == self.db else [row["pk"] for row in ids]

    def that_write(self) -> GrantQuerySet:
        """Those that allow writing too."""
        return self.filter(access=Grant.Access.READ_WRITE)

    def give(
        self,
        *,
        workspace: Workspace | str,
        user: Any = None,
        group: Any = None,
        access: str = "read",
    ) -> Grant:
        """Give the user, or the group, this access to the workspace, in place of what they had.

        A path whose workspace is missing makes it. Raises `Refused` unless there is one grantee,
        and for an access that does not exist.
        """
        if (user is None) == (group is None):
            raise Refused("A grant is for one user or for one group.")
        if access not in Grant.Access.values:
            raise Refused(f"access must be one of: {', '.join(Grant.Access.values)}.")
        # By their keys: users may live in another database, and then none may be assigned.
        grantee = {"user_id": user.pk} if user is not None else {"group_id": group.pk}
        grant, _made = self.update_or_create(
            workspace=_made_if_missing(workspace), **grantee, defaults={"access": access}
        )
        return grant

    def give_new(
        self, *, workspace: Workspace | str, user_id: Any, group_id: Any, access: str
    ) -> tuple[Grant, bool]:
        """Give access where there is no such grant; return the one there is, and whether it is new.

        Of the two primary keys one is None.
        """
        grantee = {"user_id": user_id} if user_id is not None else {"group_id": group_id}
        return self.get_or_create(
            workspace=_made_if_missing(workspace), **grantee, defaults={"access": access}
        )


class Grant(models.Model):
    """A user's or a group's access to one workspace; it goes with the workspace."""

    class Access(models.TextChoices):
        """What the grantee may do with the notes."""

        READ = "read", _("read")
        READ_WRITE = "read-write", _("read and write")

    workspace = models.ForeignKey(
        Workspace, models.CASCADE, related_name="grants", verbose_name=_("workspace")
    )
    # Users and groups may live in another database: no constraint to them, and no query for grants
    # there when one is deleted. The grant of one who is gone is nobody's.
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.DO_NOTHING,
        db_constraint=False,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("user"),
    )
    group = models.ForeignKey(
        Group,
        models.DO_NOTHING,
        db_constraint=False,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("group"),
    )
    access = models.CharField(_("access"), max_length=16, choices=Access, default=Access.READ)
    created_at = models.DateTimeField(_("created"), default=timezone.now, editable=False)

    objects = GrantQuerySet.as_manager()

    class Meta:
        verbose_name = _("grant")
        verbose_name_plural = _("grants")
        ordering = ("-created_at",)
        constraints = [
            models.UniqueConstraint(
                fields=("workspace", "user"), name="agent_memory_grant_of_user"
            ),
            models.UniqueConstraint(
                fields=("workspace", "group"), name="agent_memory_grant_of_group"
            ),
            models.CheckConstraint(
                condition=Q(user__isnull=False, group__isnull=True)
                | Q(user__isnull=True, group__isnull=False),
                name="agent_memory_grant_has_one_grantee",
            ),
        ]

    def __str__(self) -> str:
        """Name the grantee by number: users may live in another database."""
        whom = f"user {self.user_id}" if self.user_id is not None else f"group {self.group_id}"
        return f"{self.access} for {whom}"


def named_grantees(grants: list[Grant]) -> dict[int, str]:
    """Return the name of each grant's user or group by the grant's number; those gone are missing.

    At most one statement for all users and one for all groups, wherever they live.
    """
    users = _found(get_user_model(), {grant.user_id for grant in grants})
    groups = _found(Group, {grant.group_id for grant in grants})
    named = {}
    for grant in grants:
        row = users.get(grant.user_id) if grant.user_id is not None else groups.get(grant.group_id)
        if row is not None:
            named[grant.pk] = str(row)
    return named


def _made_if_missing(workspace: Workspace | str) -> Workspace:
    if isinstance(workspace, Workspace):
        return workspace
    workspaces = Workspace.objects.using(router.db_for_write(Workspace))
    return workspaces.get_or_create(path=check_path(workspace))[0]


def _found(model: Any, keys: set[Any]) -> dict[Any, Any]:
    rows = model._base_manager.using(router.db_for_read(model))
    return rows.in_bulk(keys - {None}) if keys - {None} else {}
