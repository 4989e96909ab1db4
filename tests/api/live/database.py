"""`python -m tests.api.live.database create|drop`: the database, a superuser and an agent key.

`create` prints the secret of the key; the superuser is root with the password root.
"""

from __future__ import annotations

import sys

import django
from django.core.management import call_command
from django.db import connection


def create() -> str:
    """Make and fill the database; return the secret of a key to the workspace core."""
    _outside(f"CREATE DATABASE {_name()}")
    call_command("migrate", verbosity=0)
    from django.contrib.auth import get_user_model

    from django_agent_memory.models import AgentKey

    get_user_model().objects.create_superuser("root", password="root")
    _key, secret = AgentKey.objects.issue(workspace="core", name="scribe")
    return secret


def drop() -> None:
    """Remove the database."""
    connection.close()
    _outside(f"DROP DATABASE IF EXISTS {_name()}")


def _name() -> str:
    return connection.ops.quote_name(connection.settings_dict["NAME"])


def _outside(statement: str) -> None:
    """Run a statement without being connected to the database; on SQLite a file needs none."""
    if connection.vendor != "sqlite":
        with connection._nodb_cursor() as cursor:
            cursor.execute(statement)


if __name__ == "__main__":
    django.setup()
    if sys.argv[1] == "create":
        print(create())  # noqa: T201
    else:
        drop()
