"""A TOML file: what it says, and each sentence it can be refused with."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path

import pytest

from django_agent_memory import Memory, toml_files
from django_agent_memory.exceptions import Refused
from django_agent_memory.models import Note
from django_agent_memory.sources import SourceMemory, toml_file

Into = Callable[..., SourceMemory]

GOOD = """
[[memory]]
content = "Ask before a refund."
context = ["shop/refunds.py", "shop/orders.py"]
slot = "system"
weight = 2.5

[[memory]]
content = {mon = ["Ada"], sun = []}
key = "rota"
summary = "Who is on call"
kind = "fact"
subject = "team"
happened_at = 2026-03-04T05:06:07+02:00
expires_at = 2999-01-01T00:00:00Z
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "rules.toml"


def test_what_the_file_says_is_stored(into: Into, file: Path) -> None:
    file.write_text(GOOD)
    for outcome in ("created", "unchanged"):
        memory = into()
        toml_file(memory, file)
        memory.flush()
        assert memory.counts == {outcome: 2}
    rota = Memory("core").recall("rota")
    assert rota is not None
    assert (rota.body, rota.summary) == ({"mon": ["Ada"], "sun": []}, "Who is on call")
    assert (rota.kind, rota.subject, rota.source) == ("fact", "team", "s")
    assert rota.happened_at == datetime.datetime(2026, 3, 4, 3, 6, 7, tzinfo=datetime.UTC)
    (found,) = Memory("core").find(slot="system")
    assert found.contexts == ("shop/orders.py", "shop/refunds.py")
    assert (found.body, found.weight) == ("Ask before a refund.", 2.5)


def test_an_empty_file_has_nothing(into: Into, file: Path) -> None:
    file.write_text("# nothing yet\n")
    memory = into()
    toml_file(memory, str(file))
    memory.flush()
    assert not Note.objects.exists()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('[[memory]]\ncontent = "a', "{} is not valid TOML: "),
        ('[[memory]]\ncontent = "a"\nweight = x\n', "at line 3, column 10"),
        ("memory = 1", '{}: "memory" must be tables, each headed [[memory]].'),
        ("memory = [1]", '{}: "memory" must be tables, each headed [[memory]].'),
        ("[memory]\ncontent = 'a'", '{}: "memory" must be tables, each headed [[memory]].'),
        ("[[memories]]\n", '{}: There is "memories" beside [[memory]], which is all it holds.'),
        ("[[memory]]\nkey = 'a'", "{}, [[memory]] number 1: It has no content."),
        (
            "[[memory]]\ncontent = 'a'\n[[memory]]\ncontent = 'b'\nwieght = 1",
            '{}, [[memory]] number 2: There is no field "wieght"; there are content, key, ',
        ),
        (
            "[[memory]]\ncontent = 'a'\nweight = -1",
            "{}, [[memory]] number 1: The weight must be a finite number of at least 0.",
        ),
        ("[[memory]]\ncontent = 'a'\nkey = 1", "number 1: The key must be a string, not a number."),
        ("[[memory]]\ncontent = 'a'\nkey = ['b']", "number 1: The key must be a string"),
        ("[[memory]]\ncontent = 'a'\nhappened_at = 2026-03-04", "number 1: happened_at must be"),
        ("[[memory]]\ncontent = 'a'\nhappened_at = 2026-03-04T05:06:07", "happened_at must be"),
        ("[[memory]]\ncontent = {d = 2026-03-04}", "a Python date is neither"),
        (
            "[[memory]]\ncontent = 'a'\nkey = 'k'\n[[memory]]\ncontent = 'b'\nkey = 'k'",
            '{}, [[memory]] number 2: The key "k" is that of number 1.',
        ),
        ("a = " + "[" * 100_000, " is n"),
        ("a = 1" + "0" * 5_000, "is not valid TOML"),
    ],
    ids=range(17),
)
def test_a_bad_file_is_refused_whole(into: Into, file: Path, text: str, sentence: str) -> None:
    file.write_text(text)
    memory = into()
    with pytest.raises(Refused) as refused:
        toml_file(memory, file)
    memory.flush()
    assert sentence.replace("{}", str(file)) in str(refused.value)
    assert "\n" not in str(refused.value)
    assert not Note.objects.exists()


def test_nothing_is_stored_before_all_is_checked(into: Into, file: Path) -> None:
    good = "".join(f"[[memory]]\ncontent = 'good {n}'\n" for n in range(600))
    file.write_text(good + "[[memory]]\ncontent = 'bad'\nslot = 1\n")
    memory = into()
    with pytest.raises(Refused, match="number 601: The slot must be a string"):
        toml_file(memory, file)
    memory.flush()
    assert not Note.objects.exists()


def test_no_utf8_and_no_file(into: Into, file: Path, tmp_path: Path) -> None:
    memory = into()
    with pytest.raises(Refused, match="cannot be read: No such file or directory."):
        toml_file(memory, file)
    with pytest.raises(Refused, match="cannot be read: Is a directory."):
        toml_file(memory, tmp_path)
    with pytest.raises(Refused, match="cannot be read: embedded null byte."):
        toml_file(memory, "a\x00b")
    file.write_bytes(b"[[memory]]\ncontent = 'J\xf6rg'\n")
    with pytest.raises(Refused, match="is not UTF-8: see line 2."):
        toml_file(memory, file)


def test_a_byte_order_mark_is_not_part_of_it(into: Into, file: Path) -> None:
    file.write_text(GOOD, encoding="utf-8-sig")
    assert file.read_bytes().startswith(b"\xef\xbb\xbf")
    memory = into()
    toml_file(memory, file)
    memory.flush()
    assert memory.counts == {"created": 2}
    for bad in ("\ufeff\ufeff", "a = 1\n\ufeff"):
        file.write_text(bad, encoding="utf-8")
        with pytest.raises(Refused, match="is not valid TOML: Invalid statement"):
            toml_file(memory, file)
    file.write_bytes(b"\xef\xbb\xbf# 1\n# 2\n# \xff")
    with pytest.raises(Refused, match="is not UTF-8: see line 3."):
        toml_file(memory, file)


def test_the_size(into: Into, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text(GOOD)
    size = file.stat().st_size
    memory = into()
    for limit in (size + 1, size):
        monkeypatch.setattr(toml_files, "MAX_BYTES", limit)
        toml_file(memory, file)
    monkeypatch.setattr(toml_files, "MAX_BYTES", size - 1)
    with pytest.raises(Refused, match=f"is larger than {size - 1} bytes."):
        toml_file(memory, file)
