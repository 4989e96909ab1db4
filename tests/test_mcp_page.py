"""docs/mcp.md says what is so: its lines answer as shown."""

from __future__ import annotations

from pathlib import Path

from .console import new_site, settled, steps

PAGE = Path(__file__).resolve().parent.parent / "docs" / "mcp.md"


def test_the_lines_answer_as_shown(tmp_path: Path) -> None:
    site = new_site(tmp_path)
    try:
        for command, shown in steps(PAGE.read_text(encoding="utf-8")):
            if command.startswith("curl"):
                site.serve()
            printed = site.run(command)
            if "migrate" not in command:  # what it says of the database is not about MCP
                assert settled(printed) == settled(shown), command
    finally:
        site.close()
