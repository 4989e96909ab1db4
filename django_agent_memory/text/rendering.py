"""What a model reads, fixed to the character (models and prompt caches depend on it).

Every function is pure: names, summaries, bodies and numbers in, text out. Lengths are code points.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

INDEX_HEADER = "[memory index]"
NO_MEMORIES = "(no memories saved yet.)"
SUMMARY_SHOWN = 120
SUMMARY_CUT = "…(summary cut)"
NO_SUMMARY = "(no summary)"
EMPTY_BODY = "(the body is empty)"
EXCERPT_SHOWN = 240
EXCERPT_LEAD = 60
EXCERPT_CUT = "…(excerpt cut — recall this key for the full note)"
MATCHES_SHOWN = 8
HISTORY_LINE_SHOWN = 300
HISTORY_CUT = "…(cut)"
SENTENCE_SHOWN = 300
SENTENCE_HEAD = 140
CHARACTERS_A_TOKEN = 4
GONE = object()
"""Stands for the body after a forget: JSON's null is a body."""

# Shown nowhere, so that a line reads the way it is stored: Unicode tag characters (invisible text)
# and the explicit directional formatting characters (embeddings, overrides, isolates).
_HIDDEN = re.compile("[\U000e0000-\U000e007f\u202a-\u202e\u2066-\u2069]")
_SHOWING = re.compile(r"\(showing (\d+) of (\d+) memories — .*\)")
_UNSENDABLE = re.compile("[\x00\ud800-\udfff]")
_BLOCK = 1_000


def one_line(text: str) -> str:
    """Fold to one line: no hidden characters, each run of white space one space, ends stripped."""
    if not text.isascii():
        text = _HIDDEN.sub("", text)
    return " ".join(text.split())


def sentence(text: str) -> str:
    """Fold what an error says to one line of at most 300 cp; what is cut out is the middle.

    NUL and lone surrogates, which strict parsers refuse even escaped, are spelled out.
    """
    line = _UNSENDABLE.sub(lambda found: f"U+{ord(found[0]):04X}", one_line(text))
    if len(line) <= SENTENCE_SHOWN:
        return line
    return f"{line[:SENTENCE_HEAD]}…{line[SENTENCE_HEAD + 1 - SENTENCE_SHOWN :]}"


def fit_summary(summary: str) -> str:
    """Return the folded summary in at most 120 cp: of a longer one 106 and `…(summary cut)`."""
    return _fit(one_line(summary), SUMMARY_SHOWN, SUMMARY_CUT) or NO_SUMMARY


def index_line(key: str, summary: str) -> str:
    """Return `- key: summary` as one line. An unknown summary is given as ""."""
    return f"- {one_line(key)}: {fit_summary(summary)}"


def index_text(
    entries: Iterable[tuple[str, str]],
    *,
    budget: int | None = None,
    count: Callable[[], int] | None = None,
) -> str:
    """Return the header and one line an entry, "" without entries; no final newline.

    A text longer than `budget` (cp) is cut to as many lines as leave room for a last one that says
    how many there are; header and last line stand whatever the budget. `count` returns the number
    of entries, and spares reading those that are not shown. Nothing but what is shown is held.
    """
    return _whole(entries) if budget is None else _within(entries, budget, count)


def index_head(entries: Iterable[tuple[str, str]], most: int) -> tuple[str, bool]:
    """Return the header and as many lines as fit into `most` cp, and whether that is all of them.

    No more entries are read than are returned, and one. Without entries it is "" and all.
    """
    lines, left_out = _fitting(iter(entries), most)
    return ("\n".join(lines) if len(lines) > 1 or left_out else ""), not left_out


def index_size(text: str) -> tuple[int, int]:
    """Return how many entries an index text shows, and of how many."""
    cut = _SHOWING.fullmatch(text, text.rfind("\n") + 1)
    if cut:
        return int(cut[1]), int(cut[2])
    return text.count("\n"), text.count("\n")


def too_many(budget: int) -> int:
    """Return a number of entries that never all fit into `budget` cp."""
    return budget // (1 + len(index_line("", "s"))) + 1


def memory_list(lines: Iterable[str]) -> str:
    """Return the index lines, or `(no memories saved yet.)`."""
    return "\n".join(lines) or NO_MEMORIES


def excerpt(body: str, hit: int | None) -> tuple[str, bool]:
    """Return 240 cp of `body` from 60 before the hit, on one line, and whether its end is cut.

    `hit` is an offset in `body`; None, for a match on key or summary alone, starts at 0.
    """
    if not body.strip():
        return EMPTY_BODY, False
    start = max(0, (hit or 0) - EXCERPT_LEAD)
    end = start + EXCERPT_SHOWN
    cut = end < len(body)
    lead = "…" if start else ""
    return f"{lead}{one_line(body[start:end])}{EXCERPT_CUT if cut else ''}", cut


def hit_block(key: str, summary: str, excerpt_text: str) -> str:
    """Return the two lines of a search hit: its index line, then two blanks and the excerpt."""
    return f"{index_line(key, summary)}\n  {excerpt_text}"


def search_answer(pattern: str, blocks: Sequence[str], total: int) -> str:
    """Return the hit blocks, and a last line that says so where more notes match than are shown."""
    if not total:
        return f'(no memory matches "{pattern}".)'
    lines = list(blocks)
    if total > len(blocks):
        lines.append(
            f"(showing {len(blocks)} of {total} matches — narrow the pattern to see the rest.)"
        )
    return "\n".join(lines)


def found_answer(blocks: Sequence[str]) -> str:
    """Return the blocks of what find found, best first, or `(no memory is about this.)`."""
    return "\n".join(blocks) or "(no memory is about this.)"


def forgot_matching(count: int) -> str:
    """Answer a forget_matching: how many memories are gone."""
    if not count:
        return "no memory matches, so nothing was deleted."
    return f"forgot {count} {'memory' if count == 1 else 'memories'} — their revisions are kept."


def saved(key: str, *, replaced_revision: int | None = None) -> str:
    """Answer a remember that wrote; `replaced_revision` keeps the old text of a replaced note."""
    if replaced_revision is None:
        return f'saved "{key}".'
    return (
        f'saved "{key}" (the note that was there is replaced; '
        f"its old text is kept as revision {replaced_revision})."
    )


def unchanged(key: str) -> str:
    """Answer a remember of exactly what is stored."""
    return f'"{key}" already says exactly this; nothing changed.'


def forgot(key: str) -> str:
    """Answer a forget that removed something."""
    return f'forgot "{key}" — its summary and its note are both gone.'


def was_absent(key: str, suggestions: Sequence[str] = ()) -> str:
    """Answer a forget of an unknown key."""
    answer = f'nothing was stored under "{key}", so nothing was deleted.'
    hint = did_you_mean(suggestions)
    return f"{answer} {hint}" if hint else answer


def unknown_key(key: str, suggestions: Sequence[str] = ()) -> str:
    """Answer a recall of an unknown key."""
    hint = did_you_mean(suggestions)
    middle = f". {hint} " if hint else " "
    return f'(no memory is saved under "{key}"{middle}— list_memories shows every key.)'


def did_you_mean(suggestions: Sequence[str]) -> str:
    """Return `Did you mean "a", "b" or "c"?`, "" without suggestions."""
    if not suggestions:
        return ""
    quoted = [f'"{suggestion}"' for suggestion in suggestions]
    *others, last = quoted
    names = f"{', '.join(others)} or {last}" if others else last
    return f"Did you mean {names}?"


def estimated_tokens(characters: int) -> int:
    """Estimate the tokens of a text of that many cp, at four to a token, rounded up."""
    return -(-characters // CHARACTERS_A_TOKEN)


def history_line(
    number: int, operation: str, key: str, value: object, moment: datetime.datetime
) -> str:
    """Return `[v3] remember 'name' = ada lovelace (2026-11-30T08:15:00Z)`, a forget without value.

    `value` is the body after the revision, `GONE` where there was none; `moment` is aware.
    """
    said = "" if value is GONE else f" = {history_value(value)}"
    utc = moment.astimezone(datetime.UTC)
    return f"[v{number}] {operation} '{one_line(key)}'{said} ({utc:%Y-%m-%dT%H:%M:%SZ})"


def history_answer(key: str, lines: Sequence[str], total: int) -> str:
    """Return the lines, each fitted to 300 cp, and a last one where there are more revisions."""
    if not total:
        return f'(nothing was ever saved under "{key}".)'
    fitted = [_fit(line, HISTORY_LINE_SHOWN, HISTORY_CUT) for line in lines]
    if total > len(lines):
        fitted.append(f"(showing the last {len(lines)} of {total} revisions.)")
    return "\n".join(fitted)


def history_value(value: object) -> str:
    """Return a JSON value as history shows it: text raw on one line, null `nil`, lists `[1, b]`."""
    if value is None:
        return "nil"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(map(history_value, value))}]"
    if isinstance(value, dict):
        pairs = (f"{one_line(key)}: {history_value(item)}" for key, item in value.items())
        return f"{{{', '.join(pairs)}}}"
    return one_line(str(value))


def _fit(line: str, shown: int, cut: str) -> str:
    return line if len(line) <= shown else line[: shown - len(cut)] + cut


def _whole(entries: Iterable[tuple[str, str]]) -> str:
    lines = (index_line(key, summary) for key, summary in entries)
    # In blocks, as a list of all lines takes twice the memory of the text.
    blocks = [INDEX_HEADER]
    while block := "\n".join(islice(lines, _BLOCK)):
        blocks.append(block)
    return "\n".join(blocks) if len(blocks) > 1 else ""


def _within(
    entries: Iterable[tuple[str, str]], budget: int, count: Callable[[], int] | None
) -> str:
    rows = iter(entries)
    lines, left_out = _fitting(rows, budget)
    if not left_out:
        return "\n".join(lines) if len(lines) > 1 else ""
    used = sum(1 + len(line) for line in lines) - 1
    seen = len(lines)  # The header stands for the one that did not fit.
    total = max(seen, count()) if count is not None else seen + sum(1 for _ in rows)
    while len(lines) > 1 and used + 1 + len(_showing(len(lines) - 1, total)) > budget:
        used -= 1 + len(lines.pop())
    return "\n".join([*lines, _showing(len(lines) - 1, total)])


def _fitting(rows: Iterator[tuple[str, str]], most: int) -> tuple[list[str], bool]:
    """Return the header and the first lines that fit into `most` cp, and whether one did not."""
    lines, used = [INDEX_HEADER], len(INDEX_HEADER)
    for key, summary in rows:
        line = index_line(key, summary)
        if used + 1 + len(line) > most:
            return lines, True
        lines.append(line)
        used += 1 + len(line)
    return lines, False


def _showing(shown: int, total: int) -> str:
    return f"(showing {shown} of {total} memories — search(pattern) finds the rest.)"
