"""The hostile site: two mounts, one of them below a language."""

from __future__ import annotations

from django.conf.urls.i18n import i18n_patterns
from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("plain/", include("django_agent_memory.urls")),
    *i18n_patterns(
        path("memory/", include("django_agent_memory.urls", namespace="below_a_language"))
    ),
]
