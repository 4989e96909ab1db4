"""The test site under a strict content policy; with AGENT_MEMORY_TEST_UNFOLD=1 under unfold."""

from __future__ import annotations

import os

from tests.settings import *  # noqa: F403
from tests.settings import INSTALLED_APPS, MIDDLEWARE, TEMPLATES

IS_UNFOLD = os.environ.get("AGENT_MEMORY_TEST_UNFOLD") == "1"
if IS_UNFOLD:
    INSTALLED_APPS = ["unfold", *INSTALLED_APPS]

MIDDLEWARE = [
    "django.middleware.csp.ContentSecurityPolicyMiddleware",
    *MIDDLEWARE,
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
_OWN = ["'self'"]
# Unfold's own pages need more of a browser; ours ask for nothing beyond them.
_UNFOLD = ["'self'", "'unsafe-inline'", "'unsafe-eval'"]
SECURE_CSP = {
    "default-src": ["'none'"],
    "script-src": _UNFOLD if IS_UNFOLD else _OWN,
    "style-src": _UNFOLD if IS_UNFOLD else _OWN,
    "img-src": ["'self'", "data:"] if IS_UNFOLD else _OWN,
    "font-src": _OWN,
    "connect-src": _OWN,
    "form-action": _OWN,
    "frame-ancestors": ["'none'"],
    "base-uri": ["'none'"],
}
TEMPLATES[0]["OPTIONS"]["context_processors"] += [
    "django.template.context_processors.i18n",
    "django.template.context_processors.csp",
]
USE_I18N = True
USE_THOUSAND_SEPARATOR = True
