"""Configuration of the hostile site's users."""

from __future__ import annotations

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """Users with UUIDs."""

    name = "tests.hostile.accounts"
    label = "accounts"
