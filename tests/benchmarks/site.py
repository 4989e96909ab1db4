"""Settings of the benchmarks: those of the tests, connected to the test database itself."""

from __future__ import annotations

from tests.settings import *  # noqa: F403
from tests.settings import DATABASES

DATABASES["default"]["NAME"] = DATABASES["default"]["TEST"]["NAME"]
DATABASES["default"]["CONN_MAX_AGE"] = 60
ROOT_URLCONF = "tests.benchmarks.plain_site"
