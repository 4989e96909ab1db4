"""Text columns that compare code point by code point on every database.

Default collations fold case, accents or trailing blanks (MariaDB) or order by language
(PostgreSQL with ICU); keys must not. The collation is chosen when the column is made, by vendor,
so that one migration serves all of them and no host setting takes part.
"""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper


class _ByteOrder:
    """Gives a text field the byte-order, no-padding collation of the database it is made in."""

    def db_parameters(self, connection: BaseDatabaseWrapper) -> dict[str, Any]:
        parameters = super().db_parameters(connection)  # type: ignore[misc]
        return {**parameters, "collation": byte_order_collation(connection)}


class KeyField(_ByteOrder, models.CharField):  # type: ignore[type-arg]
    """A string with the identity and order of its code points."""


class ExactTextField(_ByteOrder, models.TextField):  # type: ignore[type-arg]
    """Unbounded text that is searched by code points."""


def byte_order_collation(connection: BaseDatabaseWrapper) -> str | None:
    """Return the collation by code points, without padding; None where there is no other."""
    if connection.vendor == "postgresql":
        return "C"
    if connection.vendor == "mysql":
        mariadb = connection.mysql_is_mariadb  # type: ignore[attr-defined]
        return "utf8mb4_nopad_bin" if mariadb else "utf8mb4_0900_bin"
    return None
