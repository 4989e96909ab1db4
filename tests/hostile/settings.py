"""Settings that a careless app breaks under; the databases are those of AGENT_MEMORY_TEST_DB."""

from __future__ import annotations

import copy
from typing import Any

from tests.settings import DATABASES as _OURS
from tests.settings import TEMPLATES as _TEMPLATES
from tests.settings import _database


def _one(name: str) -> dict[str, Any]:
    database = copy.deepcopy(_database())
    stem = database["TEST"]["NAME"]
    if hasattr(stem, "with_name"):
        database["NAME"] = stem.with_name(f"hostile_{name}_unused.sqlite3")
        database["TEST"]["NAME"] = stem.with_name(f"hostile_{name}.sqlite3")
    else:
        database["TEST"]["NAME"] = f"{stem}_hostile_{name}"
    return {**database, "ATOMIC_REQUESTS": True}


assert set(_OURS) == {"default"}
DATABASES = {"default": _one("default"), "memory": _one("memory")}
DATABASE_ROUTERS = ["tests.hostile.interference.MemoryRouter"]
AUTH_USER_MODEL = "accounts.Account"
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
USE_TZ = False
TIME_ZONE = "Asia/Kolkata"
LANGUAGE_CODE = "de"
USE_I18N = True
SECRET_KEY = "only-for-tests"
ALLOWED_HOSTS = ["testserver"]
CSRF_USE_SESSIONS = True
DATA_UPLOAD_MAX_NUMBER_FIELDS = 1
ROOT_URLCONF = "tests.hostile.urls"
STATIC_URL = "static/"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "tests.hostile.accounts",
    "rest_framework",
    "django_filters",
    "django_agent_memory",
]
MIDDLEWARE = [
    "tests.hostile.interference.ReadsBodies",
    "django.middleware.cache.UpdateCacheMiddleware",
    "django.middleware.gzip.GZipMiddleware",
    "django.middleware.http.ConditionalGetMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.cache.FetchFromCacheMiddleware",
]
REST_FRAMEWORK: dict[str, Any] = {
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.FormParser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.StaticHTMLRenderer"],
    "DEFAULT_AUTHENTICATION_CLASSES": ["rest_framework.authentication.BasicAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAdminUser"],
    "DEFAULT_THROTTLE_CLASSES": [
        "rest_framework.throttling.AnonRateThrottle",
        "rest_framework.throttling.UserRateThrottle",
    ],
    "DEFAULT_THROTTLE_RATES": {"anon": "1/min", "user": "1/min"},
    "DEFAULT_VERSIONING_CLASS": "rest_framework.versioning.URLPathVersioning",
    "DEFAULT_VERSION": "v9",
    "ALLOWED_VERSIONS": ["v1"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "tests.hostile.interference.NoNegotiation",
    "DEFAULT_PAGINATION_CLASS": "rest_framework.pagination.LimitOffsetPagination",
    "DEFAULT_FILTER_BACKENDS": ["rest_framework.filters.SearchFilter"],
    "PAGE_SIZE": 1,
    "EXCEPTION_HANDLER": "tests.hostile.interference.explode",
    "UNAUTHENTICATED_USER": "tests.hostile.interference.no_user",
    "DATETIME_FORMAT": "%d.%m.%Y",
    "UNICODE_JSON": False,
    "COMPACT_JSON": False,
    "STRICT_JSON": False,
    "FORMAT_SUFFIX_KWARG": "tool",
    "URL_FORMAT_OVERRIDE": "key",
    "ORDERING_PARAM": "key",
    "SEARCH_PARAM": "key",
}
TEMPLATES = _TEMPLATES
