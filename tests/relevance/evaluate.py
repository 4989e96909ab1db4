"""Print what each part of the ranking adds: `python -m tests.relevance.evaluate`.

Recall@k is the share of a question's evidence among the first k notes found, averaged over the
questions. "Apart" asks each workspace its own questions; "together" keeps the notes of all
workspaces in one, so that there is six times as much to confuse them with.
"""

from __future__ import annotations

import re
import sqlite3
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace
from statistics import fmean

from django_agent_memory.text.stemming import stem
from django_agent_memory.text.vocabulary import STOP_WORDS

from .reference import Formula, Ranker
from .testset import Note, Question, Workspace, workspaces

CUTS = (5, 10, 20)
Find = Callable[[str, int], list[str]]


def plain(text: str) -> list[str]:
    """Return lower-case words without stop words: no stems, no irregular forms."""
    return [word for word in re.findall(r"\w+", text.lower()) if word not in STOP_WORDS]


def stemmed(text: str) -> list[str]:
    return [stem(word) for word in plain(text)]


PLAIN = Formula(
    terms=plain,
    dated=False,
    labelled=False,
    before=0,
    after=0,
    context=0,
    subject=0,
    tied=0,
    pair=0,
    family=0,
    length=0,
    number=0,
    present=0,
)
WORDS = replace(PLAIN, terms=None)
ALL = Formula()
LADDER = {
    "plain BM25": PLAIN,
    "+ stems": replace(PLAIN, terms=stemmed),
    "+ irregular forms, identifiers": WORDS,
    "+ dates": (dated := replace(WORDS, dated=True)),
    "+ subject": (subject := replace(dated, subject=ALL.subject)),
    "+ neighbours": (near := replace(subject, before=ALL.before, after=ALL.after)),
    "+ context": (context := replace(near, context=ALL.context)),
    "+ contexts that are named": (tied := replace(context, tied=ALL.tied)),
    "+ pairs": (pairs := replace(tied, pair=ALL.pair)),
    "+ key and contexts": (labels := replace(pairs, labelled=True)),
    "+ length": (length := replace(labels, length=ALL.length)),
    "+ families of words": (families := replace(length, family=ALL.family)),
    "+ numbers asked for": (numbers := replace(families, number=ALL.number)),
    "all (+ the present asked for)": replace(numbers, present=ALL.present),
}
WITHOUT = {
    "all but dates": replace(ALL, dated=False),
    "all but subject": replace(ALL, subject=0),
    "all but neighbours": replace(ALL, before=0, after=0),
    "all but context": replace(ALL, context=0),
    "all but contexts that are named": replace(ALL, tied=0),
    "all but pairs": replace(ALL, pair=0),
    "all but key and contexts": replace(ALL, labelled=False),
    "all but length": replace(ALL, length=0),
    "all but families": replace(ALL, family=0),
    "all but numbers": replace(ALL, number=0),
    "all but the present": replace(ALL, present=0),
}


def together(apart: Iterable[Workspace]) -> Workspace:
    """Return one workspace with the notes and questions of all."""
    notes: list[Note] = []
    questions: list[Question] = []
    for workspace in apart:
        name = workspace.name
        for note in workspace.notes:
            contexts = tuple(f"{name}/{context}" for context in note.contexts)
            position = len(notes) + 1
            key = f"{name}/{note.key}"
            notes.append(replace(note, key=key, contexts=contexts, position=position))
        for question in workspace.questions:
            evidence = frozenset(f"{name}/{key}" for key in question.evidence)
            questions.append(replace(question, evidence=evidence))
    return Workspace(name="together", notes=tuple(notes), questions=tuple(questions))


def ranking(formula: Formula) -> Callable[[Workspace], Find]:
    def prepare(workspace: Workspace) -> Find:
        ranker = Ranker(workspace.notes, formula)
        return lambda query, limit: [found.note.key for found in ranker.find(query, limit)]

    return prepare


def fts5(workspace: Workspace) -> Find:
    """Rank with SQLite's FTS5: its porter tokenizer, its bm25, any of the query's words."""
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE note USING fts5(key UNINDEXED, text, tokenize=porter)")
    rows = ((note.key, f"{note.subject}\n{note.body}") for note in workspace.notes)
    connection.executemany("INSERT INTO note VALUES (?, ?)", rows)

    def find(query: str, limit: int) -> list[str]:
        match = " OR ".join(f'"{word}"' for word in plain(query)) or '""'
        found = connection.execute(
            "SELECT key FROM note WHERE note MATCH ? ORDER BY bm25(note), rowid LIMIT ?",
            (match, limit),
        )
        return [key for (key,) in found]

    return find


def recalls(
    prepare: Callable[[Workspace], Find], spaces: Iterable[Workspace]
) -> dict[tuple[str, str], list[tuple[float, ...]]]:
    """Return the recall at each cut of every question, by workspace and kind."""
    results = defaultdict(list)
    for workspace in spaces:
        find = prepare(workspace)
        for question in workspace.questions:
            keys = find(question.text, max(CUTS))
            results[workspace.name, question.kind].append(
                tuple(
                    len(question.evidence.intersection(keys[:cut])) / len(question.evidence)
                    for cut in CUTS
                )
            )
    return results


def means(rows: Iterable[tuple[float, ...]]) -> tuple[float, ...]:
    return tuple(100 * fmean(column) for column in zip(*rows, strict=True))


def overall(prepare: Callable[[Workspace], Find], spaces: Iterable[Workspace]) -> tuple[float, ...]:
    return means(row for rows in recalls(prepare, spaces).values() for row in rows)


def table(apart: list[Workspace]) -> Iterable[str]:
    """Yield the lines of the table."""
    one = together(apart)
    heads = "".join(f"{f'@{cut}':>7}" for cut in CUTS)
    yield f"{'recall, per cent':32}{'apart':>{7 * len(CUTS)}}{'together':>{7 * len(CUTS)}}"
    yield f"{'':32}{heads}{heads}"
    engines = {name: ranking(formula) for name, formula in {**LADDER, **WITHOUT}.items()}
    for name, prepare in {"SQLite FTS5, porter": fts5, **engines}.items():
        figures = overall(prepare, apart) + overall(prepare, [one])
        yield f"{name:32}" + "".join(f"{figure:7.1f}" for figure in figures)


def by(part: int, apart: list[Workspace]) -> Iterable[str]:
    """Yield the recall of the whole ranking by workspace (part 0) or kind of question (part 1)."""
    groups: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    for names, rows in recalls(ranking(ALL), apart).items():
        groups[names[part]] += rows
    for name, rows in sorted(groups.items()):
        figures = "".join(f"{figure:7.1f}" for figure in means(rows))
        yield f"{name:32}{figures}{len(rows):7} questions"


def main() -> None:
    apart = workspaces()
    for lines in (table(apart), by(0, apart), by(1, apart)):
        sys.stdout.write("\n".join(lines) + "\n\n")


if __name__ == "__main__":
    main()
