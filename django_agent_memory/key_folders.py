"""Folders of keys: `user/` of `user/tea` and `user/work/desk`, as if keys were paths of files.

The first key of a folder tells where the next one begins, so that the index of keys is asked once
for each folder, however many notes are in it.
"""

from __future__ import annotations

from django.db import connections

from .models import Note
from .models.note import after_all_with
from .rows import columns_of, read

MOST = 50
"""Folders that are listed."""

_KEY = columns_of(Note, "key")
_BEHIND = chr(ord("/") + 1)
"""Behind all keys of a folder come those that have this where the slash of the folder is."""


def key_folders(workspace_pk: int, prefix: str, *, using: str) -> list[str]:
    """Return the first 50 folders directly below `prefix` in key order, each whole, with its slash.

    Those in which some note is that all share, expired or not. In one statement; on MariaDB, which
    asks no index for what it has found within the same statement, in one for each folder. A prefix
    that no database can hold is for the caller to refuse.
    """
    level = _Level(workspace_pk, prefix, using)
    return level.one_by_one() if connections[using].vendor == "mysql" else level.at_once()


class _Level:
    """What is directly below a prefix."""

    def __init__(self, workspace_pk: int, prefix: str, using: str) -> None:
        self.workspace_pk, self.prefix, self.using = workspace_pk, prefix, using
        self.end = after_all_with(prefix) or chr(0x10FFFF)

    def one_by_one(self) -> list[str]:
        """Return the folders by one statement for each, and one to see that there is no more."""
        folders: list[str] = []
        sql, start = self._first_from("%s"), self.prefix
        while len(folders) < MOST:
            rows = read(sql, [self.workspace_pk, start, self.end], _KEY, self.using)
            if not rows:
                break
            folders.append(self._folder_of(rows[0][0]))
            start = folders[-1][:-1] + _BEHIND
        return folders

    def at_once(self) -> list[str]:
        """Return the folders by one statement that goes from each to the next."""
        slash = self._slash_in("f.first")
        following = f"substr(f.first, 1, {len(self.prefix)} + {slash} - 1) || '{_BEHIND}'"
        sql = (
            f"WITH RECURSIVE f(first, place) AS (SELECT ({self._first_from('%s')}), 1"
            f" UNION ALL SELECT ({self._first_from(following)}), f.place + 1 FROM f"
            f" WHERE f.first IS NOT NULL AND f.place < {MOST})"
            " SELECT first FROM f WHERE first IS NOT NULL ORDER BY place"
        )
        parameters = [self.workspace_pk, self.prefix, self.end, self.workspace_pk, self.end]
        rows = read(sql, parameters, _KEY, self.using)
        return [self._folder_of(first) for (first,) in rows]

    def _first_from(self, start: str) -> str:
        """Return the statement for the first key from there on that lies in a folder."""
        quote = connections[self.using].ops.quote_name
        key = f"n.{quote('key')}"
        return (
            f"SELECT {key} FROM {quote(Note._meta.db_table)} n WHERE n.workspace_id = %s"
            f" AND {key} >= {start} AND {key} < %s AND {self._slash_in(key)} > 0"
            f" AND NOT (n.session > '') ORDER BY {key} LIMIT 1"
        )

    def _slash_in(self, key: str) -> str:
        """Return the place of the first slash behind the prefix, 0 without one."""
        place = "strpos" if connections[self.using].vendor == "postgresql" else "instr"
        return f"{place}(substr({key}, {len(self.prefix) + 1}), '/')"

    def _folder_of(self, key: str) -> str:
        return key[: key.index("/", len(self.prefix)) + 1]
