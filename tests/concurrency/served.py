"""Settings of the test site as gunicorn serves it: on the database of the running tests."""

from __future__ import annotations

import os

from tests.settings import *  # noqa: F403
from tests.settings import DATABASES

DATABASES["default"]["NAME"] = os.environ["AGENT_MEMORY_SERVED_DATABASE"]
