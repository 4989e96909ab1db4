"""What is asked of a column in the words of each database."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.sql.compiler import SQLCompiler


class OctetLength(models.Func):
    """The length of a text in bytes of UTF-8, which is how each database keeps it."""

    function = "OCTET_LENGTH"
    arity = 1
    output_field = models.IntegerField()

    def as_sqlite(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **given: Any
    ) -> tuple[str, Any]:
        """Return the SQL for SQLite, which has the function from 3.43 on only."""
        return self.as_sql(
            compiler, connection, template="LENGTH(CAST(%(expressions)s AS BLOB))", **given
        )
