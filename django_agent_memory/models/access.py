"""Who may reach a memory: the keys that agents carry."""

from __future__ import annotations

import datetime
import hashlib
import secrets
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.db import models, router, transaction
from django.db.models import Q, Value
from django.db.models.functions import Coalesce, Least
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.views.decorators.debug import sensitive_variables

from django_agent_memory.exceptions import Refused
from django_agent_memory.text.gate import check_path

from .fields import KeyField
from .workspace import Workspace

SECRET_PREFIX = "dam_"  # noqa: S105  (a public marker that secret scanners can look for)
MAX_OVERLAP = datetime.timedelta(days=365)
LAST_YEAR = 9998
"""The last year in which a key may expire: a database may hand a later time out in a zone where it
is beyond the calendar, and then no row beside it can be read."""
_SHOWN = len(SECRET_PREFIX) + 6


@sensitive_variables("secret")
def digest_of(secret: str) -> str:
    """Return the SHA-256 of a secret: 256 random bits need no slow hash."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


class AgentKeyQuerySet(models.QuerySet["AgentKey"]):
    """Sets of keys, and the one way to make a key."""

    def usable(self) -> AgentKeyQuerySet:
        """Those neither revoked nor expired."""
        unexpired = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
        return self.filter(unexpired, revoked_at=None)

    @sensitive_variables("secret")
    def with_secret(self, secret: str) -> AgentKeyQuerySet:
        """The key whose secret this is, or none."""
        return self.filter(digest=digest_of(secret))

    @sensitive_variables("secret")
    def issue(
        self,
        *,
        workspace: Workspace | str,
        name: str,
        access: str = "read-write",
        tools: Sequence[str] | None = None,
        user: Any = None,
        user_id: Any = None,
        expires_at: datetime.datetime | None = None,
    ) -> tuple[AgentKey, str]:
        """Make a key and return it with its secret, which is stored nowhere: show it now.

        `workspace` is one, or a path whose workspace is made if it is missing. `tools` limits the
        key to those tools; None is every tool that `access` allows. The user it belongs to is given
        as such or by primary key. Raises `Refused` for an expiry after the year 9998.
        """
        if expires_at is not None and expires_at.year > LAST_YEAR:
            raise Refused(f"expires_at must be in the years up to {LAST_YEAR}, or none for never.")
        return self._issue(
            workspace=workspace,
            name=name,
            access=access,
            # By its key: users may live in another database, and then no object may be assigned.
            user_id=user_id if user is None else user.pk,
            tools=None if tools is None else list(tools),
            expires_at=expires_at,
        )

    @sensitive_variables("secret")
    def _issue(
        self, *, workspace: Workspace | str, first_id: int | None = None, **terms: Any
    ) -> tuple[AgentKey, str]:
        if isinstance(workspace, str):
            workspaces = Workspace.objects.using(self.db)
            workspace, _made = workspaces.get_or_create(path=check_path(workspace))
        secret = SECRET_PREFIX + secrets.token_urlsafe(32)
        key = self.create(
            workspace=workspace,
            prefix=secret[:_SHOWN],
            digest=digest_of(secret),
            first_id=first_id,
            **terms,
        )
        return key, secret

    @sensitive_variables("secret")
    def rotate(self, key: AgentKey, *, overlap: datetime.timedelta) -> tuple[AgentKey, str]:
        """Make a key on the terms of `key`, its expiry too; return it with its secret.

        To the memory it is the same caller: its recorded calls and its sessions go on.

        The old key expires when the overlap (0 to 365 days) is over, or before, if it was to.
        Raises `Refused` if it is revoked or has expired, as who holds it is not to get another, and
        if it has been replaced already.
        """
        if not datetime.timedelta(0) <= overlap <= MAX_OVERLAP:
            raise Refused(f"The overlap must be 0 to {MAX_OVERLAP.days} days.")
        alias = router.db_for_write(AgentKey)
        keys = AgentKey.objects.using(alias)
        with transaction.atomic(using=alias):
            # The write comes first: SQLite could not make a writer of a transaction that has read,
            # and elsewhere whoever rotates or revokes the same key meanwhile waits.
            end = Value(timezone.now() + overlap, output_field=models.DateTimeField())
            soonest = Least(Coalesce("expires_at", end), end)
            rotatable = keys.usable().filter(pk=key.pk, replaced_by=None)
            if not rotatable.update(expires_at=soonest):
                raise Refused(_not_rotatable(keys.filter(pk=key.pk).first()))
            new, secret = keys._issue(
                workspace=key.workspace,
                name=key.name,
                access=key.access,
                tools=key.tools,
                user_id=key.user_id,
                expires_at=key.expires_at,
                first_id=key.caller_id,
            )
            keys.filter(pk=key.pk).update(replaced_by=new)
        return new, secret


def _not_rotatable(key: AgentKey | None) -> str:
    if key is not None and key.replaced_by_id is not None:
        return f"This key was replaced already, by key {key.replaced_by_id}; rotate that one."
    return "This key is revoked or has expired; issue a new one."


class AgentKey(models.Model):
    """A bearer key for one workspace: what it may do, until when, and whose it is."""

    class Access(models.TextChoices):
        """What a key may do at all."""

        READ = "read", _("read")
        READ_WRITE = "read-write", _("read and write")

    workspace = models.ForeignKey(
        Workspace, models.CASCADE, related_name="agent_keys", verbose_name=_("workspace")
    )
    name = KeyField(
        _("name"), max_length=200, help_text=_("The agent's label in every revision it writes.")
    )
    prefix = models.CharField(_("prefix"), max_length=16, editable=False)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    access = models.CharField(_("access"), max_length=16, choices=Access, default=Access.READ_WRITE)
    tools = models.JSONField(
        _("tools"),
        null=True,
        blank=True,
        help_text=_("The only tools this key may use; empty is all that its access allows."),
    )
    # Users may live in another database: no constraint to them, and no query for keys there when
    # one is deleted. The key of a user who is gone is refused.
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.DO_NOTHING,
        db_constraint=False,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("user"),
    )
    created_at = models.DateTimeField(_("created"), default=timezone.now, editable=False)
    expires_at = models.DateTimeField(_("expires"), null=True, blank=True)
    revoked_at = models.DateTimeField(_("revoked"), null=True, blank=True, editable=False)
    last_used_at = models.DateTimeField(_("last used"), null=True, blank=True, editable=False)
    replaced_by = models.ForeignKey(
        "self",
        models.SET_NULL,
        null=True,
        blank=True,
        editable=False,
        related_name="+",
        verbose_name=_("replaced by"),
    )

    # Not a relation: who is known by it stays so when that key is deleted.
    first_id = models.BigIntegerField(null=True, editable=False)

    objects = AgentKeyQuerySet.as_manager()

    class Meta:
        verbose_name = _("agent key")
        verbose_name_plural = _("agent keys")
        ordering = ("-created_at",)

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    @property
    def is_usable(self) -> bool:
        """Whether it is neither revoked nor expired."""
        return self.revoked_at is None and (
            self.expires_at is None or self.expires_at > timezone.now()
        )

    @property
    def caller_id(self) -> int:
        """The number under which its calls and sessions are kept: that of the first key of all
        that replaced each other.
        """
        return self.pk if self.first_id is None else self.first_id

    def revoke(self) -> None:
        """Make it unusable from now on; doing it again keeps the first time."""
        if self.revoked_at is None:
            self.revoked_at = timezone.now()
            self.save(update_fields=["revoked_at"])
