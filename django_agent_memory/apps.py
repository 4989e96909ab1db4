"""The app's configuration: its label never changes, whatever the host's settings."""

from __future__ import annotations

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
        from .search.upkeep import after_migrate
        from .sessions import after_logout
        from .signals import erased
        from .sources.starting import after_migrate as run_sources
        from .usage import after_request

        post_migrate.connect(after_migrate, sender=self)
        post_migrate.connect(run_sources, sender=self)
        user_logged_out.connect(after_logout)
        request_finished.connect(after_request)
        if apps.is_installed("django.contrib.admin"):
            from .admin_log import after_erase

            erased.connect(after_erase)
