"""What all our admin pages share: writes outside of anybody's transaction, no delete, our style."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import django
from django.contrib import admin, messages
from django.contrib.admin.models import LogEntry
from django.contrib.admin.views.main import ChangeList, ChangeListSearchForm
from django.db import models, router, transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern
from django.utils.decorators import method_decorator
from django.utils.translation import gettext_lazy as _
from django.views.decorators.csrf import csrf_protect

from django_agent_memory.text.gate import is_storable
from django_agent_memory.writing import MAX_ACTOR_LENGTH

from .forms import WrittenForm

Crumb = tuple[Any, str]


class _SearchForm(ChangeListSearchForm):
    """Takes any term. Django refuses a NUL, and then lists every row below its refusal."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            field.validators = []


class MemoryChangeList(ChangeList):
    """A list that is searched for exactly what was asked."""

    search_form_class = _SearchForm


class MemoryAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """A page whose forms are `WrittenForm`s.

    The channel locks before it reads and tries again when the database is busy. It can do neither
    inside a transaction that has begun by reading, so neither the request (ATOMIC_REQUESTS) nor the
    form view gets one.
    """

    show_full_result_count = False
    # A count beside every choice of every filter would read all rows several times.
    show_facets = admin.ShowFacets.NEVER
    untouched: Any = _("Nothing was changed: exactly this is stored already.")

    class Media:
        css = {"all": ["agent_memory/admin.css"]}

    def get_urls(self) -> list[URLPattern]:
        """Return our pages and Django's, all of them outside of ATOMIC_REQUESTS."""
        urls = [*self.own_urls(), *super().get_urls()]
        alias = router.db_for_write(self.model)
        for url in urls:
            transaction.non_atomic_requests(alias)(url.callback)
        return urls

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """Return the list that takes any term."""
        return MemoryChangeList

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Search as Django does; what no database can hold is in no row."""
        if not is_storable(search_term):
            return queryset.none(), False
        return super().get_search_results(request, queryset, search_term)

    def own_urls(self) -> list[URLPattern]:
        """Return the pages that this model has beyond Django's."""
        return []

    @method_decorator(csrf_protect)
    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Show or take the form as Django does, without its transaction around it."""
        view: Any = self._changeform_view  # type: ignore[attr-defined]
        response: HttpResponse = view(request, object_id, form_url, extra_context)
        return response

    def get_form(self, request: HttpRequest, obj: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Return the form class, which writes in this user's name."""
        form: Any = super().get_form(request, obj, *args, **kwargs)
        form.actor = actor_of(request)  # The class is a fresh one every time.
        return form

    def save_form(self, request: HttpRequest, form: Any, change: Any) -> Any:
        """Return the row that the valid form has written."""
        return (
            form.written
            if isinstance(form, WrittenForm)
            else super().save_form(request, form, change)
        )

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: Any) -> None:
        """Do nothing: the form has written."""

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: Any) -> None:
        """Do nothing: there is nothing related."""

    def log_change(self, request: HttpRequest, obj: models.Model, message: Any) -> Any:
        """Log a change, but not that nothing was changed."""
        return super().log_change(request, obj, message) if message else None

    def construct_change_message(
        self, request: HttpRequest, form: Any, *args: Any, **kwargs: Any
    ) -> Any:
        """Return what was changed; nothing, where nothing was written."""
        if isinstance(form, WrittenForm) and not form.wrote:
            form.written.is_untouched = True
            return []
        return super().construct_change_message(request, form, *args, **kwargs)

    def response_change(self, request: HttpRequest, obj: Any) -> HttpResponse:
        """Answer as Django does, and say so where nothing was written."""
        if not getattr(obj, "is_untouched", False):
            return super().response_change(request, obj)
        self.message_user(request, self.untouched, messages.INFO)
        if "_continue" in request.POST:
            return HttpResponseRedirect(request.get_full_path())
        return self.response_post_save_change(request, obj)

    def object_tools(self, request: HttpRequest, obj: Any) -> list[Crumb]:
        """Return the names and addresses of the buttons over the page of one row."""
        return []

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Render the form with our buttons in the place of Django's own history."""
        original = context.get("original")
        context["tools"] = self.object_tools(request, original) if original is not None else []
        return super().render_change_form(request, context, *args, **kwargs)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody: Django's delete would go past the write channel."""
        return False

    def page(
        self,
        request: HttpRequest,
        template: str,
        *,
        crumbs: Sequence[Crumb],
        title: object,
        **context: Any,
    ) -> TemplateResponse:
        """Render one of our own pages; `crumbs` lead to it from this model's list."""
        return TemplateResponse(
            request,
            f"admin/agent_memory/{template}",
            {
                **self.admin_site.each_context(request),
                "opts": self.opts,
                "media": self.media,
                "title": title,
                "crumbs": crumbs,
                "crumbs_are_a_list": django.VERSION >= (6, 1),
                **context,
            },
        )


def actor_of(request: HttpRequest) -> str:
    """Return the name with which this user signs revisions."""
    return request.user.get_username()[:MAX_ACTOR_LENGTH]


def log(request: HttpRequest, rows: Sequence[models.Model], flag: int, message: str) -> None:
    """Leave a line for each row in Django's own log of what people did in the admin."""
    user: Any = request.user
    if rows:
        LogEntry.objects.log_actions(user.pk, rows, flag, message)
