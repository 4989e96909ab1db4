"""Settings of the test suite: SQLite, or the database that AGENT_MEMORY_TEST_DB names."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

_ENGINE = os.environ.get("AGENT_MEMORY_TEST_DB", "sqlite")
_NAME = os.environ.get("AGENT_MEMORY_TEST_DB_NAME", "test_agent_memory")
_SCRATCH = Path(tempfile.gettempdir()) / f"{_NAME}_{os.getuid()}"


def _database() -> dict[str, Any]:
    if _ENGINE == "postgres":
        return {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": "postgres",
            "HOST": os.environ.get("PGHOST", "127.0.0.1"),
            "USER": os.environ.get("PGUSER", "postgres"),
            "PASSWORD": os.environ.get("PGPASSWORD", ""),
            "TEST": {"NAME": _NAME},
        }
    if _ENGINE == "mariadb":
        return {
            "ENGINE": "django.db.backends.mysql",
            "NAME": "test",
            "HOST": os.environ.get("MYSQL_HOST", "127.0.0.1"),
            "USER": os.environ.get("MYSQL_USER", "root"),
            "PASSWORD": os.environ.get("MYSQL_PASSWORD", ""),
            "OPTIONS": {"charset": "utf8mb4"},
            "TEST": {"NAME": _NAME, "CHARSET": "utf8mb4"},
        }
    _SCRATCH.mkdir(exist_ok=True)
    # A file, not memory: threads and processes must meet the real locks.
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": _SCRATCH / "db.sqlite3",
        "TEST": {"NAME": _SCRATCH / "test.sqlite3"},
    }


DATABASES = {"default": _database()}
SECRET_KEY = "only-for-tests"
USE_TZ = True
ALLOWED_HOSTS = ["*"]
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "rest_framework",
    "django_filters",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_agent_memory",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
ROOT_URLCONF = "tests.urls"
STATIC_URL = "static/"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
