"""What all our admin pages share: writes outside of anybody's transaction, no delete, our style."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import django
from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.views.main import ChangeList, ChangeListSearchForm
from django.contrib.admin.widgets import AutocompleteSelect
from django.contrib.auth import get_permission_codename
from django.db import models, router, transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern
from django.utils.decorators import method_decorator
from django.utils.translation import gettext_lazy as _
from django.views.decorators.csrf import csrf_protect

from django_agent_memory import admin_trail
from django_agent_memory.models import Workspace
from django_agent_memory.policy import signature_of
from django_agent_memory.text.gate import is_storable

from .access import may, may_somewhere, policy_of, within, within_any
from .forms import WrittenForm
from .numbers import is_number
from .paging import CappedPaginator, SizeFilter, size_of

Crumb = tuple[Any, str]
# What Django's filters of a field make of its name.
_LOOKUPS = ("", "__exact", "__in", "__isnull", "__gte", "__gt", "__lt", "__lte")


class _SearchForm(ChangeListSearchForm):
    """Takes any term. Django refuses a NUL, and then lists every row below its refusal."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            field.validators = []


class _WorkspaceSelect(AutocompleteSelect):
    """Offers the workspace that was sent; Django fails where that is no number."""

    def build_attrs(self, base_attrs: Any, extra_attrs: Any = None) -> Any:
        """Return the attributes; what says that nothing is chosen is the name of the field too."""
        attrs = super().build_attrs(base_attrs, extra_attrs)
        return {**attrs, "data-placeholder": _("Choose a workspace")}

    def optgroups(self, name: str, value: Any, attr: Any = None) -> Any:
        """Return the chosen option, none for what can be no row."""
        return super().optgroups(name, [row for row in value if is_number(str(row))], attr)


class MemoryChangeList(ChangeList):
    """A list of what this user may see, searched for exactly what was asked."""

    search_form_class = _SearchForm

    def get_queryset(self, request: HttpRequest, *args: Any, **kwargs: Any) -> QuerySet[Any]:
        """Return the rows; a row that one may only delete is in no list."""
        rows: QuerySet[Any] = super().get_queryset(request, *args, **kwargs)
        page: Any = self.model_admin
        seen: QuerySet[Any] = page.seen(request, rows)
        return seen

    def get_results(self, request: HttpRequest) -> None:
        """Read a page of the size that was asked for."""
        if SizeFilter in self.list_filter:
            self.list_per_page = size_of(request) or self.list_per_page
        super().get_results(request)


class MemoryAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """A page whose forms are `WrittenForm`s, and whose rows are those that the policy allows.

    The channel locks before it reads and tries again when the database is busy. It can do neither
    inside a transaction that has begun by reading, so neither the request (ATOMIC_REQUESTS) nor the
    form view gets one.
    """

    show_full_result_count = False
    paginator = CappedPaginator
    # The lookup from a row to its workspace.
    workspace_lookup: ClassVar[str] = "workspace"
    # A count beside every choice of every filter would read all rows several times.
    show_facets = admin.ShowFacets.NEVER
    untouched: Any = _("Nothing was changed: exactly this is stored already.")

    class Media:
        css = {"all": ["agent_memory/admin.css", "agent_memory/other_looks.css"]}

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

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        """Whether it is one that our filters make; an address with any other is answered 400.

        Django would put every lookup of every field to the database, with values that it fails at.
        """
        allowed: set[Any] = set()
        for given in self.get_list_filter(request):
            if isinstance(given, type) and issubclass(given, admin.SimpleListFilter):
                allowed.add(given.parameter_name)  # Each answers for what it is given.
                continue
            field = given[0] if isinstance(given, (list, tuple)) else given
            if is_storable(str(value)):
                allowed.update(f"{field}{suffix}" for suffix in _LOOKUPS)
        return lookup in allowed and super().lookup_allowed(lookup, value, request)

    def response_action(
        self, request: HttpRequest, queryset: QuerySet[Any], *args: Any, **kwargs: Any
    ) -> Any:
        """Run the action on the rows that were selected, without what can be no row."""
        selected = request.POST.getlist(ACTION_CHECKBOX_NAME)
        numbers = [row for row in selected if is_number(row)]
        if len(numbers) < len(selected):
            ignored = _("What was selected and is no number of a row was ignored.")
            self.message_user(request, ignored, messages.WARNING)
            data = request.POST.copy()
            data.setlist(ACTION_CHECKBOX_NAME, numbers)
            request.POST = data  # type: ignore[assignment]
        return super().response_action(request, queryset, *args, **kwargs)

    def formfield_for_foreignkey(self, db_field: Any, request: Any, **kwargs: Any) -> Any:
        """Return the field; one that completes what is typed takes any word that is sent."""
        if db_field.name in self.get_autocomplete_fields(request):
            kwargs.setdefault("widget", _WorkspaceSelect(db_field, self.admin_site))
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    # What the policy allows

    def permission_to(self, verb: str) -> str:
        """Return the permission to view, add, change or delete rows of this model."""
        return get_permission_codename(verb, self.opts)

    def path_of(self, row: Any) -> str:
        """Return the path of the row's workspace."""
        path: str = row.workspace.path
        return path

    def _may(self, request: HttpRequest, verb: str, row: Any) -> bool:
        permission = self.permission_to(verb)
        if row is None:
            return may_somewhere(request, permission)
        return may(request, permission, path=self.path_of(row))

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Whether there is anything here for this user."""
        return any(self.get_model_perms(request).values())

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whether this user may view or change the row, or without one some row."""
        return any(self._may(request, verb, obj) for verb in ("view", "change"))

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Whether this user may add rows to some workspace."""
        return self._may(request, "add", None)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whether this user may change the row, or without one some row."""
        return self._may(request, "change", obj)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Return the rows that there is a page of for this user; others are not there."""
        verbs = map(self.permission_to, ("view", "change", "delete"))
        rows = super().get_queryset(request)
        return within_any(request, rows, *verbs, workspace=self.workspace_lookup)

    def seen(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
        """Return those of the rows that this user may see."""
        verbs = map(self.permission_to, ("view", "change"))
        return within_any(request, rows, *verbs, workspace=self.workspace_lookup)

    def seen_workspaces(self, request: HttpRequest) -> QuerySet[Workspace]:
        """Return the workspaces of which this user may see rows."""
        verbs = map(self.permission_to, ("view", "change"))
        return within_any(request, Workspace.objects.all(), *verbs, workspace="pk")

    def _workspaces_for(self, request: HttpRequest, row: Any) -> QuerySet[Workspace]:
        """Return what a form offers: where one may add, or where the row is."""
        workspaces = Workspace.objects.all()
        if row is not None:
            return workspaces.filter(pk=row.workspace_id)
        return within(request, workspaces, self.permission_to("add"), workspace="pk")

    # Pages and forms

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
        """Return the form class, which writes in this user's name, and where they may."""
        form: Any = super().get_form(request, obj, *args, **kwargs)
        # The class is a fresh one every time.
        form.actor = actor_of(request)
        form.person, form.policy = request.user, policy_of(request)
        if "workspace" in form.base_fields:
            form.base_fields["workspace"].queryset = self._workspaces_for(request, obj)
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
    return signature_of(request.user)


def log(request: HttpRequest, rows: Sequence[models.Model], flag: int, message: str) -> None:
    """Leave a line for each row in Django's own log of what people did in the admin."""
    admin_trail.leave(request.user, rows, flag, message)
