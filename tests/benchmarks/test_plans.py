"""Every query on notes and entries but the search goes by workspace and key, on each database."""

from __future__ import annotations

import re

import pytest
from django.core.management import call_command
from django.db import connection

from .plans import plans

# SQL of our own calls them n and e.
_TABLE = r"\b(?:agent_memory_(?:note|indexentry)|[ne])\b"
_INDEX = "agent_memory_(?:note|entry)_key"
_KEYED = {
    "sqlite": rf"SEARCH {_TABLE} USING (?:COVERING )?INDEX \w+ \(workspace_id=\?",
    "postgresql": rf"Index .*?{_INDEX}",
    "mysql": rf"{_TABLE}: (?:ref|range|const|eq_ref) on {_INDEX}",
}
_WHOLE_TABLE = {
    "sqlite": f"SCAN {_TABLE}",
    "postgresql": f"Seq Scan on {_TABLE}",
    "mysql": f"{_TABLE}: (?:ALL|index) ",
}


# MariaDB commits when it analyses: what is stored has to be flushed.
@pytest.mark.django_db(transaction=True)
def test_notes_and_entries_are_found_by_workspace_and_key() -> None:
    # What other tests left of their rows would scatter these, and plans go by that.
    call_command("flush", verbosity=0, interactive=False)
    found = plans(6_000)
    on_notes = {name: "\n".join(plan) for name, plan in found.items()}
    on_notes = {name: plan for name, plan in on_notes.items() if re.search("note|indexentry", plan)}
    verbs = {name.partition(",")[0] for name in on_notes}
    assert verbs == {"recall", "index", "remember", "near keys"}
    vendor = connection.vendor
    assert {n: p for n, p in on_notes.items() if re.search(_WHOLE_TABLE[vendor], p)} == {}
    assert {n: p for n, p in on_notes.items() if not re.search(_KEYED[vendor], p)} == {}
    near = [plan for name, plan in on_notes.items() if name.startswith("near keys")]
    assert [plan for plan in near if re.search("Sort|TEMP B-TREE", plan)] == []
