"""`manage.py demo`: the whole package on one's own machine, in one command."""

from __future__ import annotations

import json
import socket
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.utils.crypto import get_random_string

from demo_project import knowledge
from demo_project.memories import seed
from django_agent_memory.models import AgentKey

HOST = "127.0.0.1"
WORKSPACE = "core"
USERNAME = "admin"
KEY_NAME = "demo"
EXAMPLE = {
    "key": "user/tea",
    "summary": "Drinks green tea, never coffee",
    "body": "Said on 2026-05-20: green tea, no sugar.",
}
TEXT = """
People   {site}/admin/
         user {username}, password {password}
Agents   {site}/memory/
         key {secret} (workspace {workspace}, read and write)

What an agent does, to paste into another terminal: read the index, recall, search, remember.

{curls}

Every run prints a new password and a new key; those of the run before end.
"""


class Command(BaseCommand):
    """Migrate, fill three workspaces, make a login and an agent key, say how to use them, serve."""

    help = "Fill the demo with memories, print a login and an agent key, and serve it."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=8000, help="default: 8000")
        parser.add_argument(
            "--no-serve", action="store_false", dest="serve", help="prepare and print only"
        )

    def handle(self, *args: Any, port: int, serve: bool, **options: Any) -> None:
        if settings.PRODUCTION:
            raise CommandError("The demo is for one's own machine; unset DEMO_PRODUCTION.")
        if serve:
            _check_free(port)
        call_command("migrate", verbosity=0, interactive=False)
        filled = seed()
        self.stdout.write(f"Workspaces filled: {', '.join(filled) or 'none, they were there'}.")
        for line in (*knowledge.fill(), "", *knowledge.answer()):
            self.stdout.write(line)
        self.stdout.write(_guide(port, password=_new_password(), secret=_new_key()))
        self.stdout.flush()
        if serve:
            call_command("runserver", f"{HOST}:{port}", use_reloader=False)


def _check_free(port: int) -> None:
    """Raise unless the port can be listened on: before anything is written or printed."""
    if not 1 <= port <= 65_535:
        raise CommandError(f"--port must be 1 to 65535, not {port}.")
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
        except PermissionError:
            raise CommandError(
                f"Port {port} is not allowed; take another, as --port 8001."
            ) from None
        except OSError:
            other = 8001 if port == 8000 else 8000
            raise CommandError(
                f"Port {port} is taken; stop what uses it or take another, as --port {other}."
            ) from None


def _new_password() -> str:
    users = get_user_model()._default_manager
    user, _made = users.get_or_create(
        username=USERNAME, defaults={"is_staff": True, "is_superuser": True}
    )
    password = get_random_string(14)
    user.set_password(password)
    user.save(update_fields=["password"])
    return password


def _new_key() -> str:
    """Return the secret of a fresh key named demo; those of former runs are revoked."""
    for key in AgentKey.objects.usable().filter(workspace__path=WORKSPACE, name=KEY_NAME):
        key.revoke()
    _key, secret = AgentKey.objects.issue(workspace=WORKSPACE, name=KEY_NAME)
    return secret


def _guide(port: int, *, password: str, secret: str) -> str:
    site = f"http://{HOST}:{port}"
    return TEXT.format(
        site=site,
        username=USERNAME,
        password=password,
        secret=secret,
        workspace=WORKSPACE,
        curls="\n".join(_curls(f"{site}/memory", secret)),
    )


def _curls(memory: str, secret: str) -> list[str]:
    # The answers of the tools end without a newline; a prompt should not stand right behind them.
    curl = f'curl -w "\\n" -H "Authorization: Bearer {secret}"'
    example = json.dumps(EXAMPLE)
    return [
        f"{curl} {memory}/index/",
        f'{curl} "{memory}/tools/recall/?key=user/preferences"',
        f'{curl} "{memory}/tools/search/?pattern=greenhouse"',
        f"{curl} -H \"Content-Type: application/json\" -d '{example}' {memory}/tools/remember/",
    ]
