"""The same notes put, got and searched through other memories for agents, by turns with ours.

Also whether what they answer is right. The ratio is to ours: above 1 the other is slower.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from itertools import cycle

from . import stores
from .fill import report
from .patience import call_each, milliseconds, take_turns_within
from .planted import PATTERNS, planted
from .put_at_once import PUTS, put_at_once
from .stores import Store, ours
from .stores.langgraph import ByQuery
from .timing import Row

NOTES = 20_000
_FEWEST = 10
_SECONDS = 20
_RARE = PATTERNS[0]
# What is stored and what is asked for, each with a word before it that no other note has.
_FOLDED = {
    "привет in Привет": ("qqvv Привет", "qqvv привет"),
    "STRASSE in Straße": ("qqww Straße", "qqww STRASSE"),
    "composed é in decomposed é": ("qqxx cafe\u0301", "qqxx caf\u00e9"),
}


def run(scale: float) -> Iterator[Row]:
    """Measure puts, gets and searches, then ask what is right."""
    count = max(_FEWEST, round(NOTES * scale))
    names = list(_installed())
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        opened = {
            name: stack.enter_context(stores.opened(name, f"{folder}/{number}"))
            for number, name in enumerate(names)
        }
        for name, store in opened.items():
            store.fill(planted(number, count) for number in range(count))
            report(f"{name} holds {count} notes")
        yield from _times(opened, count, min(_SECONDS, count / 100))
        yield from _folding(opened)
        yield from _by_query(opened)
        for number, name in enumerate(names):
            said = put_at_once(name, f"{folder}/two-{number}")
            yield _said(f"two processes put {PUTS} notes each", name, said)


def _installed() -> Iterator[str]:
    for name, missing in stores.installed():
        if missing:
            report(f"{name} is skipped: {missing}")
        else:
            yield name


def _times(opened: Mapping[str, Store], count: int, seconds: float) -> Iterator[Row]:
    # Made beforehand: the quickest answer in less time than it takes to make a note.
    notes = cycle([planted(number, count) for number in range(0, count, max(1, count // 500))])
    numbers = iter(range(10**9))

    def put(store: Store) -> None:
        _, summary, body = next(notes)
        store.put(f"new/{next(numbers)}", summary, body)

    def get(store: Store) -> None:
        key, _, body = next(notes)
        assert store.get(key) == body, key

    def search(store: Store) -> None:
        assert len(store.search(_RARE.text)) >= _RARE.total(count)

    # Searches first: what is put holds planted text too.
    actions: dict[str, Callable[[Store], None]] = {
        f"search, {_RARE.name}": search,
        "get": get,
        "put": put,
    }
    for action, call in actions.items():
        calls = {name: partial(call, store) for name, store in opened.items()}
        first, _ = call_each(calls)
        taken = take_turns_within(seconds, calls, first)
        base = statistics.median(taken[ours.NAME])
        for name, times in taken.items():
            p50, p95 = milliseconds(times)
            is_filtered = action.startswith("search") and isinstance(opened[name], ByQuery)
            ratio = f"{statistics.median(times) / base:.3g}"
            yield Row(
                case=f"{action}, {count} notes",
                contender=f"{name}, all items read and filtered" if is_filtered else name,
                p50=p50,
                p95=p95,
                ratio=ratio,
            )


def _folding(opened: Mapping[str, Store]) -> Iterator[Row]:
    for case, (text, asked) in _FOLDED.items():
        key = f"folding/{case}"
        for name, store in opened.items():
            store.put(key, "", f"say {text} again")
            if isinstance(store, ByQuery):
                yield _said(f"finds {case}", name, "has no search by text")
                continue
            # As it was stored every store must find it, or "no" would say nothing.
            assert key in store.search(text), f"{name} does not find {text}"
            yield _said(f"finds {case}", name, "yes" if key in store.search(asked) else "no")


def _by_query(opened: Mapping[str, Store]) -> Iterator[Row]:
    """What a store's own search by text returns, where that is not what was measured."""
    for name, store in opened.items():
        if isinstance(store, ByQuery):
            keys = store.search_by_query(_RARE.text)
            right = sum(_RARE.text in " ".join(str(store.get(key)).split()).lower() for key in keys)
            said = f"{len(keys)} notes, {right} of them hold the text"
            yield _said(f"search(query=…), {_RARE.name}", name, said)


def _said(case: str, name: str, answer: str) -> Row:
    return Row(case=case, contender=name, p50=answer)
