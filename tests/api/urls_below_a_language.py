"""A site that has the memory below its languages."""

from __future__ import annotations

from django.conf.urls.i18n import i18n_patterns
from django.urls import include, path

urlpatterns = i18n_patterns(path("memory/", include("django_agent_memory.urls")))
