"""The tag of the admin's pages."""

from __future__ import annotations

from typing import Any

from django import template

register = template.Library()


@register.simple_tag(takes_context=True)
def memory_dashboard(context: template.RequestContext, /) -> Any:
    """`{% memory_dashboard as board %}`: a `Dashboard` of what this person may see, or None."""
    # The checks of templates import this module, where the admin may not be installed.
    from django_agent_memory.admin.dashboard import dashboard

    request = context.request
    return dashboard(request, getattr(request, "current_app", "admin"))
