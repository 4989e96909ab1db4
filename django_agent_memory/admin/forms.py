"""Forms that write: their last step of validation is the write itself.

Only the channel, inside its lock, can say whether a change may be made; so a form is valid when it
has been written, and what the channel refuses is an error of the form like any other.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from django import forms
from django.contrib.admin.widgets import AdminTextareaWidget
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from django_agent_memory.exceptions import Busy, Conflict, Refused
from django_agent_memory.memory import Memory
from django_agent_memory.models import AgentKey, Workspace
from django_agent_memory.models.access import LAST_YEAR
from django_agent_memory.policy import ADDS, Policy
from django_agent_memory.text import gate
from django_agent_memory.tools import TOOLS

from . import issued, newlines

BUSY = _(
    "The memory is busy: the database stayed locked, so nothing was written. "
    "Your text is still here; save it again in a moment."
)


class WrittenForm(forms.ModelForm):  # type: ignore[type-arg]
    """A form whose `write` runs once everything else is valid; `written` is the row it wrote.

    No field of it is trimmed: what a person types is stored or refused, and never repaired.
    """

    actor: ClassVar[str] = ""
    person: ClassVar[Any] = None
    policy: ClassVar[Policy]
    written: Any = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            if isinstance(field, forms.CharField):
                field.strip = False

    @property
    def wrote(self) -> bool:
        """Whether anything was written; not, where the form says what is stored already."""
        return True

    def full_clean(self) -> None:
        """Validate, and write if there is nothing to object to."""
        super().full_clean()
        if not self.is_bound or self.errors:
            return
        try:
            self.written = self.write()
        except Refused as error:
            self.add_error(None, str(error))
        except Busy:
            self.add_error(None, ValidationError(BUSY, code="busy"))
        except Conflict as error:
            self.explain(error)

    def write(self) -> Any:
        """Write what was cleaned and return the row; raises what the channel raises."""
        raise NotImplementedError

    def explain(self, conflict: Conflict) -> None:
        """Say what stands in the way of a write that found something else than it expected."""
        self.add_error(None, str(conflict))


@contextmanager
def refusals_as_errors() -> Iterator[None]:
    """Turn what the gate refuses into an error of the field that is being cleaned."""
    try:
        yield
    except Refused as error:
        raise ValidationError(str(error), code=error.code) from None


class ExactTextField(forms.CharField):
    """Any text, nothing stripped. Line ends alone are no change: browsers send them all alike."""

    widget = AdminTextareaWidget

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(strip=False, required=False, **kwargs)

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Whether anything but line ends differs."""
        return newlines.plain(initial or "") != newlines.plain(data or "")


class ExactLineField(forms.CharField):
    """One line, nothing stripped. Browsers drop the line ends of a line: that is no change."""

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Whether anything but line ends differs."""
        return newlines.dropped(initial or "") != newlines.dropped(data or "")


class FixedValue(forms.Widget):
    """Shows a value that cannot be changed, and sends it along."""

    def __init__(self, shown: object) -> None:
        super().__init__()
        self.shown = shown

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        """Return the shown text and a hidden input."""
        return format_html(
            '<bdi class="agent-memory-key">{}</bdi><input type="hidden" name="{}" value="{}">',
            self.shown,
            name,
            "" if value is None else str(value),
        )


def refusal_to_issue(
    policy: Policy, person: Any, access: str, *, path: str, user_id: Any, name: str
) -> Any | None:
    """Return why this person may not issue such a key: it would give away what is not theirs."""
    missing = policy.missing_to_give(person, access, path=path)
    if missing is not None:
        return missing
    if not policy.may_name(person, user_id):
        return _("The key of another user takes the permission to change users.")
    if not policy.may_sign_as(person, name):
        return _("A user has this name, which would sign what the key writes.")
    return None


class WorkspaceForm(WrittenForm):
    """What people call a workspace, and how much of its index an agent gets."""

    description = ExactTextField(
        label=_("Description"), help_text=_("For people only; agents never see it.")
    )

    class Meta:
        model = Workspace
        fields = ("path", "title", "description", "index_budget")
        field_classes: ClassVar = {"title": ExactLineField}

    def clean_path(self) -> str:
        """Return the path itself, or refuse it with the rule it breaks."""
        with refusals_as_errors():
            path = gate.check_path(self.cleaned_data["path"])
        if self.instance._state.adding and not self.policy.user_may(self.person, ADDS, path):
            raise ValidationError(_("You may not make this workspace."))
        return path

    def clean_title(self) -> str:
        """Return the title exactly, with its line ends where nothing else of it was changed."""
        title: str = self.cleaned_data["title"]
        return title if "title" in self.changed_data else self.initial.get("title", "")

    def clean_description(self) -> str:
        """Return the text with the line ends it had."""
        return newlines.restored(
            self.cleaned_data["description"], self.initial.get("description", "")
        )

    @property
    def wrote(self) -> bool:
        """Whether anything was changed."""
        return self.instance._state.adding or bool(self._values())

    def _values(self) -> dict[str, Any]:
        """Return what is to be set: all of a new workspace, of an old one what was changed."""
        names = ["title", "description", "index_budget"]
        given = {name: self.cleaned_data[name] for name in names}
        if self.instance._state.adding:
            return given
        return {name: value for name, value in given.items() if name in self.changed_data}

    def write(self) -> Workspace:
        """Set what was changed, through the channel; where nothing was, touch nothing."""
        workspace: Workspace = self.instance
        if not self.wrote:
            return workspace
        values: Any = self._values()
        return Memory(workspace.path).configure(**values)


class AgentKeyForm(WrittenForm):
    """What a new key may do; `secret` is the one thing of it that is stored nowhere."""

    tools = forms.MultipleChoiceField(
        label=_("Tools"),
        required=False,
        choices=[(name, name) for name in TOOLS],
        widget=forms.CheckboxSelectMultiple,
        help_text=_("The only tools this key may use. None ticked: all that its access allows."),
    )
    nonce = forms.CharField(
        widget=forms.HiddenInput,
        max_length=100,
        error_messages={"required": _("This form is incomplete; open it again.")},
    )
    secret = ""
    session: ClassVar[Any] = None

    class Meta:
        model = AgentKey
        fields = ("workspace", "name", "access", "tools", "user", "expires_at")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "nonce" in self.fields:  # else a key is only looked at
            self.initial["nonce"] = secrets.token_urlsafe(16)

    def _post_clean(self) -> None:
        """Skip the model's own validation: it would look for the user in the key's database."""

    def clean_name(self) -> str:
        """Return the name exactly: it is the actor of every revision that the key writes."""
        name: str = self.cleaned_data["name"]
        if not name.strip():
            raise ValidationError(_("A name of blanks alone names nobody."))
        return name

    def clean_expires_at(self) -> Any:
        """Return the time, which must be to come."""
        expires_at = self.cleaned_data["expires_at"]
        if expires_at is not None and expires_at <= timezone.now():
            raise ValidationError(_("This time has passed: the key would never work."))
        if expires_at is not None and expires_at.year > LAST_YEAR:
            raise ValidationError(_("This is too far away; leave it empty for never."))
        return expires_at

    def clean(self) -> dict[str, Any]:
        """Refuse a key that only reads and is limited to tools that write."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        writing = [name for name in cleaned.get("tools", []) if not TOOLS[name].read_only]
        if writing and cleaned.get("access") == AgentKey.Access.READ:
            self.add_error(
                "tools",
                ValidationError(
                    _("A key that only reads cannot use %(tools)s."),
                    params={"tools": ", ".join(writing)},
                ),
            )
        if not self.errors:
            self._check_issuer(cleaned)
        return cleaned

    def _check_issuer(self, given: dict[str, Any]) -> None:
        user = given["user"]
        refusal = refusal_to_issue(
            self.policy,
            self.person,
            given["access"],
            path=given["workspace"].path,
            user_id=None if user is None else user.pk,
            name=given["name"],
        )
        if refusal is not None:
            self.add_error(None, refusal)

    def write(self) -> AgentKey:
        """Issue the key, and remember that this form has issued one."""
        given = self.cleaned_data
        issued.remember(self.session, given["nonce"])
        key, self.secret = AgentKey.objects.issue(
            workspace=given["workspace"],
            name=given["name"],
            access=given["access"],
            tools=given["tools"] or None,
            user=given["user"],
            expires_at=given["expires_at"],
        )
        return key
