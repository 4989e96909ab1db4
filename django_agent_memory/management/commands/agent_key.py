"""`manage.py agent_key create|list|rotate|revoke`: the keys agents carry, from a shell."""

from __future__ import annotations

import datetime
from argparse import ArgumentParser
from collections.abc import Iterable
from typing import Any, cast

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from django_agent_memory.exceptions import Refused
from django_agent_memory.key_terms import check_name, check_tools
from django_agent_memory.models import AgentKey, Workspace
from django_agent_memory.models.access import MAX_OVERLAP
from django_agent_memory.text import gate, rendering

MAX_DAYS = 36_500
MAX_HOURS = MAX_OVERLAP // datetime.timedelta(hours=1)
_MAX_ID_DIGITS = 18
_MEANT = "as `list` shows it; a whole secret does too"
_HEADINGS = ("ID", "PREFIX", "NAME", "WORKSPACE", "ACCESS", "TOOLS", "STATE", "LAST USED")


class Command(BaseCommand):
    """Make, show, rotate and revoke agent keys. What cannot be done is said in one sentence."""

    help = "Make, list, rotate and revoke the keys with which agents reach a workspace over HTTP."

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        create = actions.add_parser("create", help="make a key and print its secret, once")
        create.add_argument("workspace", help="path of the workspace; made if it is missing")
        create.add_argument("name", help="the agent's label in every revision it writes")
        create.add_argument(
            "--access", choices=AgentKey.Access.values, default=AgentKey.Access.READ_WRITE.value
        )
        create.add_argument(
            "--tool", action="append", metavar="NAME", help="only this tool; may be repeated"
        )
        create.add_argument("--user", metavar="USERNAME", help="the user the key belongs to")
        create.add_argument("--days", type=int, metavar="N", help="expires after N days")
        listing = actions.add_parser("list", help="show the keys, newest first")
        listing.add_argument("--workspace", metavar="PATH", help="only those of this workspace")
        rotate = actions.add_parser(
            "rotate", help="make a key on the same terms and print its secret, once"
        )
        rotate.add_argument("key", metavar="PREFIX_OR_ID", help=_MEANT)
        rotate.add_argument(
            "--overlap",
            type=int,
            default=24,
            metavar="HOURS",
            help="hours for which the old key goes on working (default: 24)",
        )
        revoke = actions.add_parser("revoke", help="make a key unusable from now on")
        revoke.add_argument("key", metavar="PREFIX_OR_ID", help=_MEANT)

    def handle(self, *args: Any, action: str, **options: Any) -> None:
        actions = {
            "create": self._create,
            "list": self._list,
            "rotate": self._rotate,
            "revoke": self._revoke,
        }
        try:
            actions[action](options)
        except Refused as refusal:
            raise CommandError(str(refusal)) from refusal

    def _create(self, options: dict[str, Any]) -> None:
        path = gate.check_path(options["workspace"])
        name = check_name(options["name"])
        tools = check_tools(options["tool"], access=options["access"])
        expires_at = _expiry(options["days"])
        user = _user(options["user"])
        is_new = not Workspace.objects.filter(path=path).exists()
        key, secret = AgentKey.objects.issue(
            workspace=path,
            name=name,
            access=options["access"],
            tools=tools,
            user=user,
            expires_at=expires_at,
        )
        # The secret alone goes to stdout, so that a script can take it.
        made = f"Made the workspace {path} and key" if is_new else "Made key"
        self.stderr.write(
            f"{made} {key.pk} ({key.prefix}…). This is its secret, shown only now:", style_func=str
        )
        self.stdout.write(secret)

    def _list(self, options: dict[str, Any]) -> None:
        keys = AgentKey.objects.select_related("workspace")
        if options["workspace"] is not None:
            keys = keys.filter(workspace__path=gate.check_path(options["workspace"]))
        rows = [_row(key) for key in keys]
        if rows:
            self.stdout.write(_table([_HEADINGS, *rows]))
        else:
            self.stdout.write("There are no agent keys.")

    def _rotate(self, options: dict[str, Any]) -> None:
        hours = options["overlap"]
        if not 0 <= hours <= MAX_HOURS:
            raise CommandError(f"--overlap must be 0 to {MAX_HOURS} hours, not {hours}.")
        old = _find(options["key"])
        new, secret = AgentKey.objects.rotate(old, overlap=datetime.timedelta(hours=hours))
        old.refresh_from_db(fields=["expires_at"])
        end = cast("datetime.datetime", old.expires_at).isoformat(" ", "minutes")
        self.stderr.write(
            f"Key {new.pk} ({new.prefix}…) replaces key {old.pk} ({old.prefix}…), "
            f"which works until {end}. This is its secret, shown only now:",
            style_func=str,
        )
        self.stdout.write(secret)

    def _revoke(self, options: dict[str, Any]) -> None:
        key = _find(options["key"])
        if key.revoked_at is not None:
            self.stdout.write(f"Key {key.pk} ({key.prefix}…) was already revoked.")
            return
        key.revoke()
        self.stdout.write(f"Revoked key {key.pk} ({key.prefix}…), {key.name}.")


def _expiry(days: int | None) -> datetime.datetime | None:
    if days is None:
        return None
    if not 1 <= days <= MAX_DAYS:
        raise CommandError(f"--days must be 1 to {MAX_DAYS}, not {days}.")
    return timezone.now() + datetime.timedelta(days=days)


def _user(username: str | None) -> AbstractBaseUser | None:
    if username is None:
        return None
    model = get_user_model()
    try:
        return model._default_manager.get_by_natural_key(username)
    except model.DoesNotExist:
        raise CommandError(f"There is no user '{username}'.") from None


def _find(text: str) -> AgentKey:
    """Return the one key that `text` means: an id, a whole secret, or the start of a prefix."""
    keys = AgentKey.objects.all()
    if text.isdecimal():
        found = list(keys.filter(pk=int(text))) if len(text) <= _MAX_ID_DIGITS else []
    else:
        found = list(keys.with_secret(text)) or _with_prefix(text.removesuffix("…"))
    if not found:
        raise CommandError("No agent key has that prefix or id; `agent_key list` shows them.")
    if len(found) > 1:
        raise CommandError(f"{len(found)} agent keys start like that; give more of the prefix.")
    return found[0]


def _with_prefix(start: str) -> list[AgentKey]:
    # In Python: databases differ in whether a prefix match tells upper and lower case apart.
    return [key for key in AgentKey.objects.all() if start and key.prefix.startswith(start)]


def _row(key: AgentKey) -> tuple[str, ...]:
    return (
        str(key.pk),
        key.prefix,
        rendering.one_line(key.name),
        key.workspace.path,
        key.access,
        "all" if key.tools is None else ",".join(key.tools),
        _state(key),
        _day(key.last_used_at),
    )


def _state(key: AgentKey) -> str:
    if key.revoked_at is not None:
        return f"revoked {_day(key.revoked_at)}"
    if key.expires_at is None:
        return "usable"
    return f"{'expires' if key.is_usable else 'expired'} {_day(key.expires_at)}"


def _day(moment: datetime.datetime | None) -> str:
    return "never" if moment is None else moment.date().isoformat()


def _table(rows: Iterable[tuple[str, ...]]) -> str:
    """Return the rows as text, every column as wide as its longest cell."""
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
    return "\n".join(lines)
