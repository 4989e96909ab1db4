"""The demo's URLs: the admin for people, the memory for agents."""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="admin:index")),
    path("admin/", admin.site.urls),
    path("memory/", include("django_agent_memory.urls")),
]
