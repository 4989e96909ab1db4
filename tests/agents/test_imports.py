"""Where the frameworks are installed, the app imports none of them either."""

from __future__ import annotations

from tests.test_packaging import test_the_app_with_its_urls_imports_no_framework_for_agents

__all__ = ["test_the_app_with_its_urls_imports_no_framework_for_agents"]
