"""The test site on the database that AGENT_MEMORY_LIVE_DB names (on SQLite: a file)."""

from __future__ import annotations

import os

from tests.settings import *  # noqa: F403
from tests.settings import DATABASES

DATABASES["default"]["NAME"] = os.environ["AGENT_MEMORY_LIVE_DB"]
