"""Pages by position: each begins behind the last row of the one before.

REST framework's cursor counts on from the first of equal values and gives up after 1,000; a hundred
thousand notes of one `apply` share their time. Here every order ends in the primary key.
"""

from __future__ import annotations

import base64
import datetime
import json
import re
from typing import Any
from urllib.parse import urlencode

from django.db.models import Q, QuerySet

from django_agent_memory.conf import conf
from django_agent_memory.encoding import render_moment
from django_agent_memory.exceptions import Refused
from django_agent_memory.text import gate

from .moments import parse_moment

DEFAULT_PAGE_SIZE = 50
MAX_PAGE_SIZE = 200
_LARGEST_INTEGER = 9_223_372_036_854_775_807
_TEXT_FIELDS = ("key", "path", "name")


class CursorPagination:
    """`page_size` (1 to 200, more is taken as 200; 50 without) and `cursor`, as `next_url` has it.

    `ordering` is the field to order by, with `-` in front for descending.
    """

    def __init__(self, query: dict[str, str], ordering: str) -> None:
        self.query = query
        self.ordering = ordering
        self.field = ordering.removeprefix("-")
        self.descending = ordering.startswith("-")

    def page(self, queryset: QuerySet[Any], path: str) -> tuple[list[Any], str | None]:
        """Return the rows, and the address of the next page under `path`; one statement.

        Raises `Refused` for a bad size or cursor.
        """
        size = self._size()
        sign = "-" if self.descending else ""
        rows = queryset.order_by(self.ordering, f"{sign}pk")
        if "cursor" in self.query:
            rows = rows.filter(self._behind(self.query["cursor"]))
        page = list(rows[: size + 1])
        if len(page) <= size:
            return page, None
        page.pop()
        return page, f"{path}?{urlencode({**self.query, 'cursor': self._cursor(page[-1])})}"

    def _size(self) -> int:
        digits = self.query.get("page_size", str(DEFAULT_PAGE_SIZE))
        if not re.fullmatch("0*[1-9][0-9]*", digits):
            raise Refused(
                f"page_size must be a whole number of at least 1; more than {MAX_PAGE_SIZE} "
                f"is taken as {MAX_PAGE_SIZE}."
            )
        # Python converts only so many digits.
        figures = digits.lstrip("0")
        return min(int(figures), MAX_PAGE_SIZE) if len(figures) <= 9 else MAX_PAGE_SIZE

    def _behind(self, cursor: str) -> Q:
        """Return the condition that a row comes after the position."""
        value, pk = self._position(cursor)
        op = "lt" if self.descending else "gt"
        return Q(**{f"{self.field}__{op}": value}) | Q(
            **{self.field: value, f"pk__{op}": pk},
        )

    def _cursor(self, row: Any) -> str:
        value = getattr(row, self.field)
        if isinstance(value, datetime.datetime):
            value = render_moment(value)
        position = json.dumps([self.ordering, value, row.pk]).encode()
        return base64.urlsafe_b64encode(position).decode().rstrip("=")

    def _position(self, cursor: str) -> tuple[Any, int]:
        """Return the value and primary key in a cursor that this ordering has made."""
        try:
            raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
            ordering, value, pk = gate.parse_json(raw)
            if ordering == self.ordering:
                return self._value(value), _whole(pk)
        except (ValueError, TypeError):
            pass
        raise Refused("The cursor is not one of this list; take it from 'next' or leave it out.")

    def _value(self, value: Any) -> Any:
        if self.field.endswith("_at"):
            return parse_moment(value, name="cursor")
        if self.field in _TEXT_FIELDS:
            return gate.check_text(value, name="cursor", limit=conf.max_key_length)
        return _whole(value)


def _whole(value: object) -> int:
    if type(value) is not int or not 0 <= value <= _LARGEST_INTEGER:
        raise ValueError("not a number of a row")
    return value
