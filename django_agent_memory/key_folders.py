"""Folders of keys: `user/` of `user/tea` and `user/work/desk`, as if keys were paths of files.

The first key of a folder tells where the next one begins, so that an index is asked once for each
folder, however many notes are in it.
"""

from __future__ import annotations

from django.db import connections

from .models import Note
from .models.note import after_all_with
from .rows import columns_of, read

MOST = 50
"""Folders that are listed."""


def key_folders(workspace_pk: int, prefix: str, *, using: str) -> list[str]:
    """Return the first 50 folders directly below `prefix` in key order, each whole, with its slash.

    Those in which some note is that all share, expired or not; in one statement. A prefix that no
    database can hold is refused by it: check it before.
    """
    connection = connections[using]
    note, key = map(connection.ops.quote_name, (Note._meta.db_table, "key"))
    place = "strpos" if connection.vendor == "postgresql" else "instr"

    def first_from(start: str) -> str:
        return (
            f"(SELECT n.{key} FROM {note} n WHERE n.workspace_id = %s"
            f" AND n.{key} >= {start} AND n.{key} < %s"
            f" AND {place}(substr(n.{key}, {len(prefix) + 1}), '/') > 0 AND NOT (n.session > '')"
            f" ORDER BY n.{key} LIMIT 1)"
        )

    # Behind all of a folder comes its name with what follows the slash, which is "0".
    name = f"substr(f.first, 1, {len(prefix)} + {place}(substr(f.first, {len(prefix) + 1}), '/')"
    following = (
        f"concat({name} - 1), '0')" if connection.vendor != "sqlite" else f"{name} - 1) || '0'"
    )
    end = after_all_with(prefix) or chr(0x10FFFF)
    sql = (
        f"WITH RECURSIVE f(first, place) AS (SELECT {first_from('%s')}, 1"
        f" UNION ALL SELECT {first_from(following)}, f.place + 1 FROM f"
        f" WHERE f.first IS NOT NULL AND f.place < {MOST})"
        " SELECT first FROM f WHERE first IS NOT NULL ORDER BY place"
    )
    rows = read(sql, [workspace_pk, prefix, end, workspace_pk, end], columns_of(Note, "key"), using)
    return [first[: first.index("/", len(prefix)) + 1] for (first,) in rows]
