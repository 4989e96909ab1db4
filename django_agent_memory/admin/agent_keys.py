"""Agent keys: issued once, shown once, then only ever replaced or revoked."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.exceptions import ObjectDoesNotExist, PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.cache import add_never_cache_headers
from django.utils.html import format_html
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from django_agent_memory import admin_trail
from django_agent_memory.models import AgentKey

from . import issued, links
from .access import may, may_somewhere, within
from .base import Crumb, MemoryAdmin
from .filters import KeyStateFilter, WorkspaceFilter
from .forms import AgentKeyForm
from .numbers import is_number
from .rotating import RotationForm
from .shown import quiet

_SAMPLE = 20
_REVOKING = ("change_agentkey",)
# It makes a key, and sets an end to another.
_ROTATING = ("add_agentkey", "change_agentkey")


@admin.register(AgentKey)
class AgentKeyAdmin(MemoryAdmin):
    """The keys with which agents come in over HTTP.

    A new key's secret is part of the answer to the form that made it and of nothing else: not of
    the session (its store may be a database or a cookie), not of a message, not of the log.
    """

    form = AgentKeyForm
    actions = ("revoke_selected",)
    autocomplete_fields = ("workspace",)
    raw_id_fields = ("user",)
    list_display = (
        "name",
        "workspace",
        "access",
        "shown_tools",
        "prefix",
        "created_at",
        "expires_at",
        "last_used_at",
        "state",
    )
    list_filter = (WorkspaceFilter, KeyStateFilter, "access")
    list_select_related = ("workspace",)
    ordering = ("-created_at",)
    search_fields = ("name", "prefix")

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return the form of a new key, or everything that is known of an old one."""
        if obj is None:
            fields = ("workspace", "name", "access", "tools", "user", "expires_at", "nonce")
            about = _("The secret is shown once, after saving. Nobody can look it up later.")
            return ((None, {"fields": fields, "description": about}),)
        user = "user" if _user_exists(obj) else "gone_user"
        known = ["workspace", "name", "access", "shown_tools", user, "prefix", "state"]
        if obj.replaced_by_id is not None:
            known.append("replacement")
        times = ("created_at", "expires_at", "last_used_at", "revoked_at")
        return ((None, {"fields": known}), (_("Times"), {"fields": times}))

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody: a key stays what it was issued as, so that its history can be trusted."""
        return False

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        """Whether this user may revoke keys of some workspace."""
        return may_somewhere(request, *_REVOKING)

    def has_rotate_permission(self, request: HttpRequest) -> bool:
        """Whether this user may replace keys of some workspace."""
        return may_somewhere(request, *_ROTATING)

    def get_form(self, request: HttpRequest, obj: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Return the form class, which remembers in this session what it has issued."""
        form: Any = super().get_form(request, obj, *args, **kwargs)
        form.session = request.session
        return form

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Take the form once: the page with the secret, reloaded, sends it again."""
        nonce = request.POST.get("nonce", "")
        if object_id is not None or not issued.is_known(request.session, nonce):
            return super().changeform_view(request, object_id, form_url, extra_context)
        return self._already_issued(request)

    def save_form(self, request: HttpRequest, form: Any, change: Any) -> Any:
        """Return the key, with its secret beside it for as long as the request lasts."""
        key = super().save_form(request, form, change)
        key.shown_once = form.secret
        return key

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Offer no way of saving that would lead past the secret."""
        context.update(show_save_and_add_another=False, show_save_and_continue=False)
        return super().render_change_form(request, context, *args, **kwargs)

    def response_add(
        self, request: HttpRequest, obj: Any, post_url_continue: str | None = None
    ) -> HttpResponse:
        """Show the secret, this once, on a page that nothing keeps."""
        return self._secret_page(request, obj, obj.shown_once)

    def _secret_page(self, request: HttpRequest, key: AgentKey, secret: str) -> HttpResponse:
        page = self.page(
            request,
            "secret.html",
            title=_("The key was issued"),
            crumbs=[],
            key=key,
            secret=secret,
            list_url=links.to_list(self.admin_site.name, "agentkey"),
        )
        add_never_cache_headers(page)
        return page

    def _already_issued(self, request: HttpRequest) -> HttpResponse:
        sentence = _("This key was already issued, and its secret cannot be shown again.")
        self.message_user(request, sentence, messages.WARNING)
        return HttpResponseRedirect(links.to_list(self.admin_site.name, "agentkey"))

    # Pages of one key

    def own_urls(self) -> list[URLPattern]:
        """Return the pages that ask before one key is replaced or revoked."""
        views = {"rotate": self.rotate_view, "revoke": self.revoke_view}
        return [
            path(
                f"<path:object_id>/{name}/",
                self.admin_site.admin_view(view),
                name=f"agent_memory_agentkey_{name}",
            )
            for name, view in views.items()
        ]

    def object_tools(self, request: HttpRequest, obj: Any) -> list[Crumb]:
        """Return the ways to replacing it and to revoking it, while that can be done."""
        offered = []
        path = obj.workspace.path
        if obj.is_usable and obj.replaced_by_id is None and may(request, *_ROTATING, path=path):
            offered.append((_("Replace…"), "rotate"))
        if obj.revoked_at is None and may(request, *_REVOKING, path=path):
            offered.append((_("Revoke…"), "revoke"))
        return [(name, self._page_of(page, obj.pk)) for name, page in offered]

    def _page_of(self, page: str, pk: int | str) -> str:
        return links.to_page(self.admin_site.name, "agentkey", page, pk)

    def _one(
        self, request: HttpRequest, object_id: str, permissions: tuple[str, ...]
    ) -> QuerySet[AgentKey]:
        """Return the key if this user has the permissions there, or nothing, having said so."""
        keys = within(request, self.get_queryset(request), *permissions)
        keys = keys.filter(pk=object_id) if is_number(object_id) else keys.none()
        if not keys:
            self.message_user(request, _("This key does not exist."), messages.WARNING)
        return keys

    # Replacing

    def rotate_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask for the overlap, and on POST replace the key and show the secret of the new one."""
        if not self.has_rotate_permission(request):
            raise PermissionDenied
        if issued.is_known(request.session, request.POST.get("nonce", "")):
            return self._already_issued(request)
        keys = self._one(request, object_id, _ROTATING)
        key = keys.select_related("workspace").first()
        if key is None:
            return HttpResponseRedirect(links.to_list(self.admin_site.name, "agentkey"))
        form = RotationForm(request.POST if request.method == "POST" else None)
        made = form.rotate(key, request) if form.is_valid() else None
        if made is not None:
            new, secret = made
            admin_trail.replaced(request.user, key, new)
            return self._secret_page(request, new, secret)
        return self.page(
            request,
            "rotate.html",
            title=_("Replace this key?"),
            crumbs=[],
            key=key,
            form=form,
            back=self._page_of("change", key.pk),
        )

    # Revoking

    def revoke_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask, and on POST revoke one key."""
        if not self.has_revoke_permission(request):
            raise PermissionDenied
        keys = self._one(request, object_id, _REVOKING)
        if not keys:
            return HttpResponseRedirect(links.to_list(self.admin_site.name, "agentkey"))
        return self._ask_or_revoke(request, keys, back=self._page_of("change", object_id))

    @admin.action(permissions=["revoke"], description=_("Revoke selected agent keys"))
    def revoke_selected(self, request: HttpRequest, queryset: QuerySet[AgentKey]) -> HttpResponse:
        """Ask, and once confirmed revoke the keys."""
        keys = within(request, queryset, *_REVOKING)
        return self._ask_or_revoke(request, keys, back=request.get_full_path())

    def _ask_or_revoke(
        self, request: HttpRequest, keys: QuerySet[AgentKey], *, back: str
    ) -> HttpResponse:
        if request.method == "POST" and "confirmed" in request.POST:
            self._revoke(request, keys)
            return HttpResponseRedirect(back)
        selected = request.POST.getlist(ACTION_CHECKBOX_NAME)
        across = request.POST.get("select_across") == "1"
        total = keys.count()
        return self.page(
            request,
            "revoke.html",
            title=_("Revoke these keys?") if total > 1 else _("Revoke this key?"),
            crumbs=[],
            keys=keys[:_SAMPLE],
            total=total,
            more=max(0, total - _SAMPLE),
            selected=selected[:1] if across else selected,
            across=across,
            checkbox=ACTION_CHECKBOX_NAME,
            back=back,
        )

    def _revoke(self, request: HttpRequest, keys: QuerySet[AgentKey]) -> None:
        """Revoke those that are not; a key that was revoked before keeps its time."""
        revoked = list(keys.filter(revoked_at=None))
        AgentKey.objects.filter(pk__in=[key.pk for key in revoked], revoked_at=None).update(
            revoked_at=timezone.now()
        )
        admin_trail.revoked(request.user, revoked)
        count = len(revoked)
        message = ngettext("%(count)d key was revoked.", "%(count)d keys were revoked.", count)
        self.message_user(request, message % {"count": count}, messages.SUCCESS)

    # Columns

    @admin.display(description=_("tools"))
    def shown_tools(self, key: AgentKey) -> Any:
        """The tools it is limited to."""
        if not isinstance(key.tools, list):
            return _("all that its access allows")
        return ", ".join(map(str, key.tools))

    @admin.display(description=_("user"))
    def gone_user(self, key: AgentKey) -> str:
        """Whose it was, where that user is gone."""
        gone = gettext("user %(id)s is gone: the key is refused")
        return quiet(gone % {"id": key.user_id})

    @admin.display(description=_("replaced by"))
    def replacement(self, key: AgentKey) -> str:
        """The key that is to be used in its place."""
        address = self._page_of("change", str(key.replaced_by_id))
        return format_html('<a href="{}">{}</a>', address, key.replaced_by)

    @admin.display(description=_("state"))
    def state(self, key: AgentKey) -> str:
        """Whether it works."""
        if key.revoked_at is not None:
            word, name = gettext("revoked"), "over"
        elif not key.is_usable:
            word, name = gettext("expired"), "over"
        else:
            word, name = gettext("active"), "active"
        return format_html('<span class="agent-memory-{}">{}</span>', name, word)


def _user_exists(key: AgentKey) -> bool:
    """Whether the user of a key is there, or it has none: nothing in the database promises it."""
    try:
        return key.user is not None or key.user_id is None
    except ObjectDoesNotExist:
        return False
