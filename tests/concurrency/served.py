"""Settings of the test site as gunicorn serves it: on the database of the running tests."""

from __future__ import annotations

import os

from tests.settings import *  # noqa: F403
from tests.settings import DATABASES

# A loaded machine may take its time: what is tested is that nothing is lost or refused.
AGENT_MEMORY_WRITE_DEADLINE = 60

DATABASES["default"]["NAME"] = os.environ["AGENT_MEMORY_SERVED_DATABASE"]
