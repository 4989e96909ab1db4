"""Changes to notes by those who write text and no summary."""

from __future__ import annotations

from django_agent_memory.conf import conf
from django_agent_memory.exceptions import Refused
from django_agent_memory.results import Recalled
from django_agent_memory.text import gate
from django_agent_memory.writing import KEEP, Save


def saved(key: str, found: Recalled | None, text: str) -> Save:
    """Return the change that makes `text` what stands under `key`, where `found` stands now.

    The summary is the first line with anything in it, as long as the one that is there is such a
    line too; one that somebody wrote stays, and so does having none. What was JSON is JSON as long
    as it can be read as such.
    """
    if found is None:
        return Save(key=key, body=text, summary=first_line(text), expected_revision=0)
    derived = found.summary == first_line(found.text)
    return Save(
        key=key,
        body=text if isinstance(found.body, str) else _json_or_text(text),
        summary=first_line(text) if derived else KEEP,
        expected_revision=found.revision,
    )


def first_line(text: str) -> str:
    """Return the first line with anything in it, "" if there is none."""
    lines = (line.strip() for line in text.splitlines())
    return next(filter(None, lines), "")[: conf.max_summary_length]


def _json_or_text(text: str) -> object:
    try:
        value = gate.parse_json(text)
        gate.check_json(value, name="body")
    except Refused:
        return text
    return value
