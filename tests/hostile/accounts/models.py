"""A user whose primary key is no number."""

from __future__ import annotations

import uuid

from django.contrib.auth.models import AbstractUser
from django.db import models


class Account(AbstractUser):
    """Django's user under a UUID."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
