"""Pages of the admin at a thousand notes and at a million: time, statements and bytes.

The ratio of a row is to the same page at a thousand notes.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils.http import urlencode

from django_agent_memory.admin.paging import MOST_COUNTED
from django_agent_memory.models import Workspace

from . import accelerator
from .fill import analyze, fill, report
from .patience import call_each, milliseconds, take_turns_within
from .planted import PATTERNS
from .timing import Row

NOTES = 1_000_000
_FEW = 1_000
_SECONDS = 4
_PATH = "bench/pages"
_RARE = PATTERNS[0].text
_LISTS: Mapping[str, dict[str, str]] = {
    "notes, first page": {},
    "notes, 500 rows": {"rows": "500"},
    "notes of a workspace": {"workspace": _PATH},
    "notes by size": {"o": "-3"},
    "notes, rare text": {"q": _RARE},
    "notes, folders": {"workspace": _PATH, "below": ""},
    "notes, never recalled": {"recalled": "never"},
    "notes, flagged": {"flag": "any"},
    "notes, updated in 7 days": {"updated": "7"},
}
_GOALS = {
    "notes, first page": "≤ 1.5, ≤ 12 statements",
    "confirmation of forgetting all": "< 200 KB, constant statements",
}

Page = Callable[[], Any]


@override_settings(ROOT_URLCONF="tests.urls", ALLOWED_HOSTS=["testserver"])
def run(scale: float) -> list[Row]:
    """Measure each page at a thousand notes, then at the size of this scale."""
    few: dict[str, float] = {}
    rows = []
    for count in (_FEW, max(_FEW, round(NOTES * scale))):
        call_command("flush", verbosity=0, interactive=False)
        browser = _filled(count)
        for name, page in _pages(browser, count).items():
            report(f"{name} at {count} notes")
            rows.append(_measured(name, page, count, few, seconds=_SECONDS * min(1.0, scale)))
    return rows


def _filled(count: int) -> Client:
    """Return a browser with an operator, on a site with so many notes."""
    is_accelerated = accelerator.can_be_built()
    if is_accelerated:
        accelerator.drop()  # Building it over what is there is quicker.
    fill({_PATH: count})
    if is_accelerated:
        accelerator.build()
    analyze()
    browser = Client(raise_request_exception=True)
    browser.force_login(User.objects.create_superuser("ada"))
    return browser


def _pages(browser: Client, count: int) -> dict[str, Page]:
    notes = reverse("admin:agent_memory_note_changelist")
    workspace = Workspace.objects.get(path=_PATH)
    pages: dict[str, Page] = {
        name: partial(browser.get, notes, query) for name, query in _LISTS.items()
    }
    last = str(min(count, MOST_COUNTED) // 100)
    pages["notes, last page"] = partial(browser.get, notes, {"p": last})
    for name in ("index", "prune"):
        address = reverse(f"admin:agent_memory_workspace_{name}", args=[workspace.pk])
        pages[f"workspace, {name}"] = partial(browser.get, address)
    chosen = {"action": "forget_selected", "select_across": "1", "_selected_action": ["1"]}
    everything = f"{notes}?{urlencode({'workspace': _PATH})}"
    pages["confirmation of forgetting all"] = partial(browser.post, everything, chosen)
    pages["list of the app"] = partial(
        browser.get, reverse("admin:app_list", kwargs={"app_label": "agent_memory"})
    )
    return pages


def _measured(name: str, page: Page, count: int, few: dict[str, float], *, seconds: float) -> Row:
    with CaptureQueriesContext(connection) as queries:
        response = page()
    statements = len(queries)  # Another request clears what was captured.
    assert response.status_code == 200, (name, response.status_code)
    first, _answers = call_each({name: page})
    times = take_turns_within(seconds, {name: page}, first)[name]
    median = statistics.median(times)
    p50, p95 = milliseconds(times)
    kilobytes = len(response.content) / 1_000
    return Row(
        case=f"{name}, {count} notes",
        contender=f"{statements} statements, {kilobytes:.0f} KB",
        p50=p50,
        p95=p95,
        ratio=f"{median / few.setdefault(name, median):.2f}",
        goal=_GOALS.get(name, "") if count > _FEW else "",
    )
