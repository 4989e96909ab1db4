"""Who may do what on the pages: the policy is asked, one for each request, and nothing else."""

from __future__ import annotations

from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpRequest

from django_agent_memory.policy import Policy, current_policy


def policy_of(request: HttpRequest) -> Policy:
    """Return the policy of this request, which keeps what it has looked up."""
    page: Any = request
    if not hasattr(page, "agent_memory_policy"):
        page.agent_memory_policy = current_policy()
    policy: Policy = page.agent_memory_policy
    return policy


def may(request: HttpRequest, *permissions: str, path: str) -> bool:
    """Whether this user has all of the permissions in the workspace at `path`."""
    policy = policy_of(request)
    return all(policy.user_may(request.user, name, path) for name in permissions)


def may_somewhere(request: HttpRequest, *permissions: str) -> bool:
    """Whether there is a workspace in which this user has all of the permissions."""
    if may_everywhere(request, *permissions):
        return True
    policy, user = policy_of(request), request.user
    # Every page of the admin asks of every model, for people too who have no right to any memory.
    return policy.reaches_any(user) and policy.missing(user, permissions, path=None) is None


def may_everywhere(request: HttpRequest, *permissions: str) -> bool:
    """Whether this user has all of the permissions in every workspace there is or will be."""
    policy = policy_of(request)
    return all(policy.everywhere(request.user, name) for name in permissions)


def within(
    request: HttpRequest, rows: QuerySet[Any], *permissions: str, workspace: str = "workspace"
) -> QuerySet[Any]:
    """Return the rows in whose workspace this user has all of the permissions."""
    policy = policy_of(request)
    return policy.visible(request.user, rows, workspace=workspace, permissions=permissions)


def within_any(
    request: HttpRequest, rows: QuerySet[Any], *permissions: str, workspace: str = "workspace"
) -> QuerySet[Any]:
    """Return the rows in whose workspace this user has one of the permissions."""
    policy, reached = policy_of(request), Q(pk__in=[])
    for permission in permissions:
        workspaces = policy.user_workspaces(request.user, permission)
        if workspaces is None:
            return rows
        reached |= Q(**{f"{workspace}__in": workspaces.order_by().values("pk")})
    return rows.filter(reached)
