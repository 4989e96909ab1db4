"""Reference, scan and index give the same keys, order and totals, whatever is written."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from django_agent_memory import Drop, Memory, Save, writing
from django_agent_memory.models import Note
from django_agent_memory.text.folding import fold, haystack
from tests.text.strategies import AWKWARD

from .conftest import WAYS, found

KEYS = [f"k{n}" for n in range(12)] + ["a/b", "Ж", "é", "e\u0301", "K", "k", "日本", "🙂"]
# Words make long runs and common trigrams; the rest is what engines have got wrong.
WORDS = ["report", "weekly", "Straße", "ПРИВЕТ", "東京の会議", "cafe\u0301", "ΟΔΟΣ",
         "100%_Done", "a*b?[c]", '"quoted"', "back\\slash", "👩\u200d👧", "文b", "é1", "İstanbul",
         "\ufffe\uffff", "x" * 70]  # fmt: skip
texts = st.lists(
    st.sampled_from(WORDS) | st.text(st.sampled_from(AWKWARD + "abcABC*?[]"), max_size=6),
    max_size=5,
).map(" ".join)
writes = st.one_of(
    st.tuples(st.just("save"), st.sampled_from(KEYS), st.none() | texts, texts),
    st.tuples(st.just("forget"), st.sampled_from(KEYS)),
    st.tuples(st.just("restore"), st.sampled_from(KEYS)),
    st.tuples(st.just("erase"), st.sampled_from(KEYS)),
    st.tuples(st.just("sql"), st.sampled_from(KEYS), texts),
    st.tuples(st.just("prune")),
)


def write(memory: Memory, what: str, *args: Any) -> None:
    if what == "save":
        key, summary, body = args
        memory.apply([Save(key=key, summary=summary, body=body)])
    elif what == "forget":
        memory.apply([Drop(key=args[0])])
    elif what == "restore":
        # One it was replaced by or forgotten in, if there is any.
        revisions = [r.number for r in memory.history(args[0]) if not r.redacted]
        if revisions:
            memory.restore(args[0], revisions[0])
    elif what == "erase":
        memory.erase(args[0])
    elif what == "sql":
        key, body = args
        notes = Note.objects.filter(workspace__path=memory.path, key=key)
        notes.update(body=body, haystack=haystack(key, "", body))
        writing.repair(memory.path)
    else:
        writing.prune_revisions(
            memory.path, older_than=datetime.timedelta(0), keep=1, dry_run=False
        )


def expected(memory: Memory, pattern: str) -> tuple[list[str], int]:
    """Scan in Python what `recall` says of every key."""
    notes = [(key, memory.recall(key)) for key in memory.keys()]  # noqa: SIM118
    keys = [
        key
        for key, note in notes
        if note is not None
        and any(fold(pattern) in fold(part) for part in (key, note.summary or "", note.body))
    ]
    return sorted(keys)[:8], len(keys)


def check(memory: Memory, patterns: list[str]) -> None:
    for pattern in patterns:
        answers = {}
        for name, way in WAYS.items():
            with way():
                answers[name] = found(memory, pattern)
        assert answers == dict.fromkeys(WAYS, expected(memory, pattern)), pattern


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    written=st.lists(writes, min_size=1, max_size=14),
    others=st.lists(texts, max_size=4),
    wanted=st.lists(texts.filter(bool), max_size=3),
)
def test_every_way_finds_what_python_finds(
    memory: Memory, written: list[tuple[Any, ...]], others: list[str], wanted: list[str]
) -> None:
    memory.erase()
    neighbour = Memory("core/other")
    neighbour.apply([Save(key=f"k{n}", body=text) for n, text in enumerate(others)])
    for operation in written:
        write(memory, *operation)
    bodies = [note.body for key in memory.keys() if (note := memory.recall(key))]  # noqa: SIM118
    pieces = [body[start : start + 5] for body in bodies for start in (0, 3, 9)]
    check(memory, [*wanted, *pieces, "rep", "x" * 65, "会議", "ab", "e"])


@pytest.mark.parametrize(
    "pattern",
    [
        "rare needle", "needle", "common", "every", "nowhere", "e", "zq", "100%_done", "\\", "%",
        "x" * 60_000, "🙂🙃", "🙂", "東京", "東京の会議", "cafe\u0301", "café", '"', '""',
        "a*b?[c]",
        "commonly everything needs common words", "e1", "\ufffe",
    ],
)  # fmt: skip
def test_every_kind_of_pattern(memory: Memory, pattern: str) -> None:
    odd = [
        "100%_Done \\ a*b?[c]",
        "🙂🙃 東京の会議",
        'un café, un cafe\u0301 "x" é1',
        "x" * 60_000,
        "\ufffe",
    ]
    saves = [
        Save(
            key=f"n{n:04}",
            summary="Every note",
            body=f"{'common words' if n % 4 else 'others'} {n}",
        )
        for n in range(700)
    ]
    saves += [Save(key=f"odd{n}", body=body) for n, body in enumerate(odd)]
    saves += [Save(key=key, body="a rare needle") for key in ("n0350", "zz", "aa")]
    memory.apply(saves)
    Memory("core/other").apply([Save(key=f"k{n}", body="rare needle common") for n in range(300)])
    _analyze()
    check(memory, [pattern])


def _analyze() -> None:
    if connection.vendor != "mysql":  # where it would commit
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
