"""The tests of pages see what goes wrong on one."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser

from .watching import watch

WRONG = {
    "console": "console.error('a fault')",
    "exception": "setTimeout(() => missing())",
    "dialog": "alert('a fault')",
    "policy": "document.body.innerHTML = '<img src=/static/admin/img/icon-yes.svg onload=hit()>'",
    "elsewhere": "fetch('http://192.0.2.1/').catch(() => 0)",
    "not found": "fetch('/static/missing.js')",
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_fault_is_seen(chromium: Browser, site: str, wrong: str) -> None:
    faults: list[str] = []
    context = chromium.new_context(base_url=site)
    page = context.new_page()
    watch(page, site, faults)
    page.goto("/admin/login/")
    assert faults == []
    page.evaluate(WRONG[wrong])
    page.wait_for_timeout(200)
    context.close()
    assert faults
