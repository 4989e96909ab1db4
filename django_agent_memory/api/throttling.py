"""How many requests a credential may make: `AGENT_MEMORY_THROTTLE`, none by default."""

from __future__ import annotations

import math
from typing import Any
from urllib.parse import quote

from rest_framework.exceptions import APIException
from rest_framework.throttling import SimpleRateThrottle

from django_agent_memory.conf import conf
from django_agent_memory.models import AgentKey


class TooManyRequests(APIException):
    """The credential has made all its requests of the period."""

    status_code = 429
    default_code = "throttled"

    def __init__(self, rate: str, wait: float | None) -> None:
        self.retry_after = max(1, math.ceil(wait or 1))
        super().__init__(
            f"Too many requests: the limit is {rate}. Try again in {self.retry_after} s."
        )


class CredentialThrottle(SimpleRateThrottle):
    """Counts the requests of each agent key and of each user, in Django's default cache.

    Never by address: agents share those. A key's requests are not counted as its user's. What is
    refused for its credential is not counted, nor is what is throttled.
    """

    def get_rate(self) -> str | None:
        """Return the rate, None for none."""
        return conf.throttle

    def get_cache_key(self, request: Any, view: Any) -> str:
        """Return the cache's name for the credential."""
        key = request.auth
        kind, pk = ("key", key.pk) if isinstance(key, AgentKey) else ("user", request.user.pk)
        return f"agent_memory.throttle.{kind}.{quote(str(pk))}"

    def wait(self) -> float | None:
        """Return the seconds until there is room for a request."""
        # After the limit was lowered there is more history than it allows: wait for all of it.
        return super().wait() or self.parse_rate(self.rate)[1]
