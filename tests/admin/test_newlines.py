"""Line ends come back as they were."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from django_agent_memory.admin import newlines
from django_agent_memory.admin.differences import differences

TEXT = st.text(alphabet="ab \n\r\u2028", max_size=30)


def as_sent(text: str) -> str:
    return newlines.plain(text).replace("\n", "\r\n")


@given(TEXT)
def test_an_untouched_text_is_itself(stored: str) -> None:
    assert newlines.restored(as_sent(stored), stored) == stored


@given(TEXT, TEXT)
def test_only_line_ends_are_ever_added(submitted: str, stored: str) -> None:
    restored = newlines.restored(as_sent(submitted), stored)
    assert newlines.plain(restored) == newlines.plain(submitted)


@given(TEXT)
def test_lines_put_together_are_the_text(text: str) -> None:
    assert "".join(line + end for line, end in newlines.lines(text)) == text


def test_the_edited_part_gets_the_usual_line_end() -> None:
    stored = "a\r\nb\r\nc\nd"
    assert newlines.restored("a\r\nB\r\nB2\r\nc\r\nd", stored) == "a\r\nB\r\nB2\r\nc\nd"
    assert newlines.restored("a\r\nb\r\nc\r\nd\r\ne", stored) == "a\r\nb\r\nc\nd\r\ne"
    assert newlines.restored("x\r\ny", "no ends") == "x\ny"
    assert newlines.restored("", stored) == ""


def test_differences_are_bounded() -> None:
    assert differences("same", "same") == []
    many = differences("\n".join(map(str, range(100_000))), "\n".join("x" * 100_000))
    assert len(many) == 201
    assert many[-1].side == "gap"
    (old, new) = differences("y" * 1_000_000, "z" * 1_000_000)
    assert (len(old.text), len(new.text)) == (401, 401)


def test_differences_far_down_are_found() -> None:
    lines = [str(n) for n in range(50_000)]
    changed = [*lines]
    changed[40_000] = "changed"
    found = differences("\n".join(lines), "\n".join(changed))
    assert ("stored", "40000") in found
    assert ("yours", "changed") in found
    assert len(found) <= 7
