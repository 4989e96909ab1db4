"""`find` in workspaces of three sizes, and what keeping its postings costs a write.

The notes are turns of made-up dialogues: what is said in the test set of relevance, some words
changed for names and rare words, so that the vocabulary grows with the workspace as it does in
life. The questions are those of the test set.
"""

from __future__ import annotations

import math
import random
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from django_agent_memory import Memory, writing
from django_agent_memory.analysing import NoteTerms
from django_agent_memory.models import Note, Posting, Workspace
from django_agent_memory.relevance import rank
from django_agent_memory.writing import channel, postings
from django_agent_memory.writing.postings import Document
from django_agent_memory.writing.state import State
from tests.relevance.testset import Note as Said
from tests.relevance.testset import workspaces

from .fill import analyze
from .timing import Row, take_turns

NOTES = 100_000
_GOALS = {1_000: 5, 10_000: 50, 100_000: 200}
_TURNS = 20
_FEWEST = 100
_SEED = 20_261_130
_STORED = datetime(2026, 1, 1, tzinfo=UTC)


def run(scale: float) -> Iterator[Row]:
    """Measure find in each size, then writes with postings and without."""
    spaces = workspaces()
    said = [note for space in spaces for note in space.notes]
    questions = [question.text for space in spaces for question in space.questions]
    for size in (1_000, 10_000, 100_000):
        count = max(_FEWEST, round(size * scale))
        path = f"bench/find-{size}"
        took = _store(path, count, said)
        yield Row(
            case=f"apply, {count} turns, with postings",
            contender="Memory.apply",
            p50=f"{count / took:.0f} notes/s",
        )
        analyze()
        goal = f"p95 ≤ {_GOALS[size]} ms" if scale == 1 else ""
        yield from _find(path, count, questions, goal=goal)
    yield from _stored_at_once(said, max(_FEWEST, round(NOTES * scale)))
    yield from _stored_singly(said, max(10, round(300 * scale)))


def _find(path: str, count: int, questions: list[str], *, goal: str) -> Iterator[Row]:
    """Each question three times and each time both ways; the best of each counts.

    `rank` is the part of `Memory.find` that a ranker of the site's own would take the place of.
    """
    memory = Memory(path)
    workspace = Workspace.objects.get(path=path).pk
    notes = Note.objects.filter(workspace=workspace).live()
    ways: dict[str, Callable[[str], object]] = {
        "Memory.find": memory.find,
        "rank": lambda text: rank(notes, text, workspace=workspace, limit=10, using="default"),
    }
    best = {name: [math.inf] * len(questions) for name in ways}
    for question in questions[:20]:
        memory.find(question)
    for number, question in enumerate(questions):
        for _ in range(3):
            for name, ask in ways.items():
                started = time.perf_counter()
                ask(question)
                took = 1000 * (time.perf_counter() - started)
                best[name][number] = min(took, best[name][number])
    postings = Posting.objects.filter(workspace=workspace).count()
    for name, times in best.items():
        yield Row(
            case=f"find, {count} notes, {postings} postings",
            contender=f"{name}, limit 10",
            p50=f"{statistics.median(times):.1f} ms",
            p95=f"{statistics.quantiles(times, n=20, method='inclusive')[-1]:.1f} ms",
            goal=goal if name == "Memory.find" else "",
        )


def _stored_at_once(said: list[Said], count: int) -> Iterator[Row]:
    """Each way into a workspace of its own, twice in turns; the best counts."""
    best: dict[str, float] = {}
    for turn in range(2):
        for name, path in (("with postings", "with"), ("without", "without")):
            with _postings(kept=path == "with"):
                took = _store(f"bench/{path}-{turn}", count, said)
            best[name] = min(took, best.get(name, took))
    for name, took in best.items():
        yield Row(
            case=f"apply, {count} turns",
            contender=name,
            p50=f"{count / took:.0f} notes/s",
            ratio=f"{took / best['without']:.2f}",
            goal="≤ 3" if name != "without" else "",
        )


def _stored_singly(said: list[Said], rounds: int) -> Iterator[Row]:
    chance = random.Random(_SEED)
    # Under other keys than those stored at once: what is there already is left alone.
    changes = [_change(NOTES + number, chance, said) for number in range(2 * rounds + 200)]
    upcoming = iter(changes)

    def store(path: str) -> None:
        with _postings(kept=path == "with"):
            writing.apply(f"bench/{path}-0", [next(upcoming)])

    taken = take_turns(
        {"with postings": lambda _: store("with"), "without": lambda _: store("without")}, rounds
    )
    base = statistics.median(taken["without"])
    for name, times in taken.items():
        yield Row(
            case="store",
            contender=name,
            p50=f"{statistics.median(times):.3f} ms",
            p95=f"{statistics.quantiles(times, n=20, method='inclusive')[-1]:.3f} ms",
            ratio=f"{statistics.median(times) / base:.2f}",
            goal="≤ 1.8" if name != "without" else "",
        )


@contextmanager
def _postings(*, kept: bool) -> Iterator[None]:
    # By hand: to patch by name takes as long as what is measured.
    if not kept:
        channel.documents, channel.store_postings = _nothing_said, _nothing_stored
    try:
        yield
    finally:
        channel.documents, channel.store_postings = postings.documents, postings.store_postings


def _nothing_stored(*_: object) -> postings.Removed:
    """Store no postings."""
    return postings.Removed(0, 0)


def _nothing_said(states: dict[str, State]) -> dict[str, Document]:
    """Analyse no note."""
    nothing = NoteTerms(terms=[], told=0, has_number=False)
    return {key: Document(state.position, (), nothing) for key, state in states.items()}


def _store(path: str, count: int, said: list[Said]) -> float:
    chance = random.Random(_SEED)
    changes = [_change(number, chance, said) for number in range(count)]
    started = time.perf_counter()
    writing.apply(path, changes)
    return time.perf_counter() - started


def _change(number: int, chance: random.Random, said: list[Said]) -> writing.Store:
    words = chance.choice(said).body.split()
    for at in range(len(words)):
        if chance.random() < 0.15:
            words[at] = chance.choice(chance.choice(said).body.split() or ["so"])
        elif chance.random() < 0.05:
            # The n-th word of a language is about 1/n as frequent as its first.
            words[at] = f"w{int(10 ** (5 * chance.random())):x}ish"
    session, turn = divmod(number, _TURNS)
    pair = 2 * (session % 20)
    return writing.Store(
        key=f"session-{session}/{turn:02}-{number}",
        body=" ".join(words),
        subject=_NAMES[(pair + turn % 2) % len(_NAMES)],
        context=f"session-{session}",
        happened_at=_STORED + timedelta(hours=session, seconds=30 * turn),
    )


_NAMES = sorted({note.subject for space in workspaces() for note in space.notes if note.subject})
