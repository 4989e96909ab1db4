"""Search by the letters of words, as the stores of pydantic-ai-harness do it."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic_ai_harness.memory import MemorySearchMatch, MemorySearchResult


def search(
    files: Iterable[tuple[str, str]],
    query: str,
    *,
    prefix: str,
    limit: int,
    max_files: int,
    max_chars: int,
) -> MemorySearchResult:
    """Return the files in which words of the query stand, those with most of them first.

    A word in the path below `prefix` counts twice. At most `limit` files are returned, of the first
    `max_files`, and at most `max_chars` of paths and snippets together.
    """
    words = query.lower().split()
    scanned = list(files)[:max_files]
    scored = [
        (_score(path.removeprefix(prefix), text, words), path, text) for path, text in scanned
    ]
    hits = sorted((hit for hit in scored if hit[0]), key=lambda hit: (-hit[0], hit[1]))
    matches: list[MemorySearchMatch] = []
    for score, path, text in hits[:limit]:
        max_chars -= len(path.removeprefix(prefix))
        if max_chars <= 0:
            break
        snippet = _snippet(text, words, max_chars)
        max_chars -= len(snippet)
        matches.append(MemorySearchMatch(path=path, snippet=snippet, score=score))
    return MemorySearchResult(
        matches=matches, scanned=len(scanned), truncated=len(matches) < len(hits)
    )


def _score(name: str, text: str, words: list[str]) -> float:
    name, text = name.lower(), text.lower()
    return float(sum(text.count(word) + 2 * name.count(word) for word in words))


def _snippet(text: str, words: list[str], length: int) -> str:
    """Return `length` characters around the first of the words, with dots where there are more."""
    folded = text.lower()
    first = min((at for at in map(folded.find, words) if at >= 0), default=0)
    start = max(0, first - length // 3)
    end = min(len(text), start + length)
    start = max(0, end - length)
    snippet = text[start:end]
    if start:
        snippet = f"...{snippet[3:]}"[: len(snippet)]
    if end < len(text):
        snippet = f"{snippet[:-3]}..."[-len(snippet) :]
    return snippet
