"""The baseline of the conformance suite, with the reasons that its comments give."""

from __future__ import annotations

import re
from pathlib import Path

BASELINE = Path(__file__).with_name("baseline.yml")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "mcp.md"


def not_offered() -> dict[str, str]:
    """Return what is not offered by the check that asks for it, `scenario:check`."""
    entries = re.findall(r"^  - (.*)$", BASELINE.read_text(encoding="utf-8"), re.MULTILINE)
    return dict(re.fullmatch(r"(\S+:\S+)  # (.+)", entry).groups() for entry in entries)


def scenarios_by_first_cell() -> dict[str, list[str]]:
    """Return the scenarios in the rows of the tables of the page's section on conformance."""
    section = PAGE.read_text(encoding="utf-8").partition("\n## Conformance\n")[2]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line[:1] == "|"]
    return {row[0].strip("`"): re.findall(r"`(.+?)`", row[-1]) for row in rows if "`" in row[-1]}
