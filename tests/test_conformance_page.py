"""docs/mcp.md says of the conformance suite what its baseline does."""

from __future__ import annotations

from tests.conformance.baseline import not_offered, scenarios_by_first_cell


def test_the_page_says_why_as_the_baseline_does() -> None:
    expected: dict[str, set[str]] = {}
    for check, reason in not_offered().items():
        expected.setdefault(reason, set()).add(check.partition(":")[0])
    on_page = scenarios_by_first_cell()
    said = {reason: on_page.get(reason, []) for reason in expected}
    assert {reason: set(names) for reason, names in said.items()} == expected
    assert {reason: len(names) for reason, names in said.items()} == {
        reason: len(names) for reason, names in expected.items()
    }


def test_what_is_not_offered_is_in_no_table_twice() -> None:
    revisions = {"2026-07-28", "2025-11-25"}
    assert set(scenarios_by_first_cell()) == revisions | set(not_offered().values())
