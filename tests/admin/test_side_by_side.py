"""Two texts beside each other: exact, word by word, and bounded whatever their size."""

from __future__ import annotations

import pytest

from django_agent_memory.admin.side_by_side import Row, Table, side_by_side


def told(table: Table) -> list[tuple[str, str, str]]:
    """Return the rows as texts, with what is marked in brackets."""
    return [(row.kind, text_of(row, "left"), text_of(row, "right")) for row in table.rows]


def text_of(row: Row, side: str) -> str:
    cell = getattr(row, side)
    if cell is None:
        return ""
    marks = {"same": "{}", "changed": "[{}]", "cut": "<{}>", "end": "({})"}
    shown = "".join(marks[piece.kind].format(piece.text) for piece in cell.pieces)
    return f"{cell.number} {shown}"


@pytest.mark.parametrize("text", [None, "", "a", "a\n", "\n\n", "a\r\nb\rc\n", " "])
def test_equal_texts_have_no_rows(text: str | None) -> None:
    assert side_by_side(text, text) == Table([], cut=False)


def test_words_are_marked_within_a_changed_line() -> None:
    found = side_by_side("one\nthe red fox ran\nend", "one\nthe  red cat ran\nend")
    assert told(found) == [
        ("same", "1 one", "1 one"),
        ("changed", "2 the red [fox] ran", "2 the [ ]red [cat] ran"),
        ("same", "3 end", "3 end"),
    ]


def test_a_line_stands_beside_what_became_of_it() -> None:
    found = side_by_side("call deploy now", "wait for it\ncall deploy later")
    assert told(found) == [
        ("changed", "", "1 [wait for it]"),
        ("changed", "1 call deploy [now]", "2 call deploy [later]"),
    ]


def test_no_text_is_not_an_empty_one() -> None:
    assert told(side_by_side(None, "")) == [("changed", "", "1 ")]
    assert told(side_by_side("", None)) == [("changed", "1 ", "")]
    assert told(side_by_side(None, "a\nb")) == [("changed", "", "1 [a]"), ("changed", "", "2 [b]")]


@pytest.mark.parametrize(
    ("left", "right", "ends"),
    [
        ("a\r\n", "a\n", ("1 a(CRLF)", "1 a(LF)")),
        ("a\r", "a", ("1 a(CR)", "1 a")),
        ("a", "a\n", ("1 a", "1 a(LF)")),
    ],
)
def test_line_ends_count(left: str, right: str, ends: tuple[str, str]) -> None:
    assert told(side_by_side(left, right)) == [("changed", *ends)]


def test_blanks_are_kept_and_marked() -> None:
    assert told(side_by_side("\ta b ", "\ta b")) == [("changed", "1 \ta b[ ]", "1 \ta b")]


def test_gaps_between_differences_far_from_each_other() -> None:
    left = [f"line {n}" for n in range(100)]
    right = [*left]
    right[10], right[90] = "x", "y"
    found = side_by_side("\n".join(left), "\n".join(right))
    assert [row.kind for row in found.rows] == [
        *["same"] * 2, "changed", *["same"] * 2, "gap", *["same"] * 2, "changed", *["same"] * 2
    ]  # fmt: skip
    assert found.rows[0].left is not None
    assert found.rows[0].left.number == "9"
    assert not found.cut


def test_a_million_characters_on_one_line_show_the_place() -> None:
    left = "x y " * 125_000 + "old" + " z" * 250_000
    found = side_by_side(left, left.replace("old", "new"))
    ((kind, before, after),) = told(found)
    assert kind == "changed"
    assert before.startswith("1 <…>")
    assert "[old] z" in before
    assert "[new] z" in after
    assert len(before) < 300
    assert found.cut


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("a\n" * 400_000, "b\n" * 400_000),
        ("y" * 1_000_000, "z" * 1_000_000),
        ("a b " * 200_000, "b a " * 200_000),
        ("\n".join(map(str, range(100_000))), ""),
        ("".join(f"{n % 7}\n" for n in range(300_000)), "".join(f"{n % 5}\n" for n in range(9))),
    ],
)
def test_it_is_bounded_and_says_so(left: str, right: str) -> None:
    found = side_by_side(left, right)
    assert found.cut
    assert len(found.rows) <= 200
    assert sum(len(line) for row in told(found) for line in row) < 250_000


def test_lines_that_both_have_at_the_end_are_not_shown_as_lost() -> None:
    added = "".join(f"new {n}\n" for n in range(600))
    found = side_by_side("head\ntail\n", f"head\n{added}tail\n")
    assert found.cut
    assert [row for row in told(found) if row[1] and row[0] == "changed"] == []


def test_a_change_at_the_start_of_a_long_text_is_all_there_is() -> None:
    rest = "".join(f"line {n}\n" for n in range(5_000))
    found = side_by_side(f"a\n{rest}", f"b\n{rest}")
    assert not found.cut
    assert [row.kind for row in found.rows] == ["changed", "same", "same"]


@pytest.mark.parametrize("right", ["🔑b", "e\u0301x", "שלום"])
def test_any_script(right: str) -> None:
    ((_kind, before, after),) = told(side_by_side("🔑a", right))
    assert before.replace("[", "").replace("]", "") == "1 🔑a"
    assert after.replace("[", "").replace("]", "") == f"1 {right}"
