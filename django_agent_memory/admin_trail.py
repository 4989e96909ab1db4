"""Lines in Django's own log of the admin, the same whether a page or a program did it.

Below both: the API leaves them too, and they are left only where the admin is installed.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from django.apps import apps
from django.db import DatabaseError, models, router, transaction
from django.utils.translation import gettext

logger = logging.getLogger(__name__)

# Django's flags, which nobody can import where the admin is not installed.
ADDITION, CHANGE, DELETION = 1, 2, 3

# What Django's admin says of a form.
_ADDED: list[Any] = [{"added": {}}]
_ACCESS_CHANGED: list[Any] = [{"changed": {"fields": ["Access"]}}]


def leave(
    user: Any, rows: Sequence[models.Model], flag: int, message: str | list[Any] = ""
) -> None:
    """Leave a line for each row, where Django's router has the log; none without the admin.

    What a line is about has been done. If the log cannot be written, that is logged as an error and
    not raised: whoever has made a key would otherwise never get its secret.
    """
    if not rows or not apps.is_installed("django.contrib.admin"):
        return
    lines: Any = apps.get_model("admin", "LogEntry")
    try:
        with transaction.atomic(using=router.db_for_write(lines)):
            lines.objects.log_actions(user.pk, rows, flag, message)
    except DatabaseError:
        logger.exception("Django's log of the admin could not be written.")


def added(user: Any, row: models.Model) -> None:
    """Say that a key was issued or a grant given."""
    leave(user, [row], ADDITION, _ADDED)


def access_changed(user: Any, grant: models.Model) -> None:
    """Say that the access of a grant was changed."""
    leave(user, [grant], CHANGE, _ACCESS_CHANGED)


def deleted(user: Any, row: models.Model) -> None:
    """Say that a grant was taken back."""
    leave(user, [row], DELETION)


def revoked(user: Any, keys: Sequence[models.Model]) -> None:
    """Say that keys were revoked."""
    leave(user, keys, CHANGE, gettext("Revoked."))


def replaced(user: Any, old: models.Model, new: models.Model) -> None:
    """Say that a key was replaced, and by which."""
    leave(user, [old], CHANGE, gettext("Replaced."))
    leave(user, [new], ADDITION, gettext("Replaces another."))
