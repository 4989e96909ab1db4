"""The form of a grant: one grantee, and nothing that the granter may not do."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy as _

from django_agent_memory.exceptions import Refused
from django_agent_memory.models import Grant

from .forms import WrittenForm


class GrantForm(WrittenForm):
    """Who gets which access to which workspace; of one that is there, only the access changes."""

    class Meta:
        model = Grant
        fields = ("workspace", "user", "group", "access")

    def _post_clean(self) -> None:
        """Skip the model's own validation: it would look for the user in the grants' database."""

    @property
    def wrote(self) -> bool:
        """Whether the access is another one."""
        return self.instance._state.adding or "access" in self.changed_data

    def clean(self) -> dict[str, Any]:
        """Refuse none or two grantees, a second grant, and what the granter may not do."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if self.instance._state.adding:
            self._check_grantee(cleaned)
            workspace = cleaned.get("workspace")
        else:
            workspace = self.instance.workspace
        if workspace is not None and "access" in cleaned:
            self._check_granter(workspace.path, cleaned["access"])
        return cleaned

    def _check_grantee(self, cleaned: dict[str, Any]) -> None:
        given = {name: cleaned[name] for name in ("user", "group") if cleaned.get(name)}
        if len(given) != 1:
            if not {"user", "group"} & self.errors.keys():
                self.add_error(None, _("Choose a user or a group: one of them, not both."))
            return
        ((name, grantee),) = given.items()
        theirs = {"workspace": cleaned.get("workspace"), f"{name}_id": grantee.pk}
        if Grant.objects.filter(**theirs).exists():
            self.add_error(name, _("There is a grant of this workspace already; change that one."))

    def _check_granter(self, path: str, access: str) -> None:
        missing = self.policy.missing_to_give(self.person, access, path=path)
        if missing is not None:
            self.add_error("access", missing)

    def write(self) -> Grant:
        """Give the access, or change it where there is a grant."""
        given = self.cleaned_data
        grant: Grant = self.instance
        if grant._state.adding:
            return Grant.objects.give(**given)
        if self.wrote:
            if not Grant.objects.filter(pk=grant.pk).update(access=given["access"]):
                raise Refused("This grant was taken back meanwhile; give a new one.")
            grant.access = given["access"]
        return grant
