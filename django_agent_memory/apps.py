"""The app's configuration: its label never changes, whatever the host's settings."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig, apps
from django.core.signals import request_finished
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _


class AgentMemoryConfig(AppConfig):
    """Label `agent_memory` (tables, permissions), 64-bit ids; checks are registered on start."""

    name = "django_agent_memory"
    label = "agent_memory"
    verbose_name = _("Agent memory")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from django.contrib.auth.signals import user_logged_out

        from . import checks  # noqa: F401  (importing registers them)
        from .sessions import after_logout
        from .signals import erased
        from .usage import after_request

        # For every sender: one is known by its address, which the next may have.
        post_migrate.connect(_after_migrate)
        user_logged_out.connect(after_logout)
        request_finished.connect(after_request)
        if apps.is_installed("django.contrib.admin"):
            from .admin_log import after_erase

            erased.connect(after_erase)


def _after_migrate(*, app_config: AppConfig, **options: Any) -> None:
    """Bring back what a migration may have taken, then run the sources that the site names."""
    from .search import upkeep
    from .sources import starting

    if app_config.label == AgentMemoryConfig.label:
        upkeep.after_migrate(**options)
        starting.after_migrate(**options)
