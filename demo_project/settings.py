"""Settings of the demo: SQLite, nothing to configure, for one's own machine.

`DEMO_PRODUCTION=1` shows what a deployment adds; it needs `DEMO_SECRET_KEY` and `DEMO_HOSTS`.
"""

import os
from pathlib import Path

BASE_DIR = Path(__file__).resolve().parent.parent
PRODUCTION = os.environ.get("DEMO_PRODUCTION") == "1"

DEBUG = not PRODUCTION
SECRET_KEY = os.environ["DEMO_SECRET_KEY"] if PRODUCTION else "for-localhost-only"
ALLOWED_HOSTS = os.environ["DEMO_HOSTS"].split(",") if PRODUCTION else ["127.0.0.1", "localhost"]
ROOT_URLCONF = "demo_project.urls"
STATIC_URL = "static/"
USE_TZ = True
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "django_filters",
    "django_agent_memory",
    "demo_project",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
_PROCESSORS = [
    "django.template.context_processors.request",
    "django.contrib.auth.context_processors.auth",
    "django.contrib.messages.context_processors.messages",
]
_ENGINE = "django.template.backends.django.DjangoTemplates"
TEMPLATES = [{"BACKEND": _ENGINE, "APP_DIRS": True, "OPTIONS": {"context_processors": _PROCESSORS}}]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": os.environ.get("DEMO_DATABASE", BASE_DIR / "db.sqlite3"),
        "OPTIONS": {"transaction_mode": "IMMEDIATE", "init_command": "PRAGMA journal_mode=WAL"},
    }
}
SECURE_SSL_REDIRECT = SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = PRODUCTION
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = PRODUCTION
SECURE_HSTS_SECONDS = 31_536_000 if PRODUCTION else 0
