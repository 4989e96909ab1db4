"""The test site: the admin, and the memory mounted twice."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("memory/", include("django_agent_memory.urls")),
    path("second/", include("django_agent_memory.urls", namespace="second")),
]
