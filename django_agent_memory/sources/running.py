"""Running sources: one, with its counts, or several of which none stops the others."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass

from django_agent_memory.exceptions import AgentMemoryError, Refused
from django_agent_memory.text.rendering import one_line

from .gathering import Progress, SourceMemory
from .registry import Source

logger = logging.getLogger(__name__)

_SKIPPED_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What a run of a source did, or with `dry_run` would do; `skipped` has a sentence each."""

    name: str
    workspace: str
    added: int
    updated: int
    unchanged: int
    removed: int
    skipped: tuple[str, ...] = ()
    dry_run: bool = False

    def lines(self) -> Iterable[str]:
        """Yield the counts in a line, then at most 20 of what was skipped, a line each."""
        dry = " (dry run: nothing was written)" if self.dry_run else ""
        yield (
            f"{self.name} in {self.workspace}: {self.added} added, {self.updated} updated, "
            f"{self.unchanged} unchanged, {self.removed} removed{dry}"
        )
        for sentence in self.skipped[:_SKIPPED_SHOWN]:
            yield f"  skipped {one_line(sentence)}"
        if len(self.skipped) > _SKIPPED_SHOWN:
            yield f"  and {len(self.skipped) - _SKIPPED_SHOWN} more were skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """Why a source could not be run to its end; the chunks before are written."""

    name: str
    sentence: str


def run(
    source: Source,
    *,
    workspace: str | None = None,
    dry_run: bool = False,
    forget_missing: bool = False,
    progress: Progress | None = None,
) -> Ran:
    """Run a source into `workspace`, by default its own, and return the counts.

    With `forget_missing`, what an earlier run stored there and this one did not is forgotten, but
    only after the source came to its end. What the source raises is raised.
    """
    path = workspace or source.workspace
    if path is None:
        raise Refused(f'The source "{source.name}" belongs to no workspace; name one for it.')
    memory = SourceMemory(path, source.name, dry_run=dry_run, progress=progress)
    source.fill(memory)
    memory.flush()
    if forget_missing:
        memory.forget_missing()
    return Ran(
        name=source.name,
        workspace=path,
        added=memory.counts["created"],
        updated=memory.counts["replaced"],
        unchanged=memory.counts["unchanged"],
        removed=memory.counts["removed"],
        skipped=tuple(memory.skipped),
        dry_run=dry_run,
    )


def attempt(
    source: Source,
    *,
    workspace: str | None = None,
    dry_run: bool = False,
    forget_missing: bool = False,
    progress: Progress | None = None,
) -> Ran | Failed:
    """Do as `run` does, and return what it raises as one sentence.

    What the package does not know is logged with its traceback.
    """
    try:
        return run(
            source,
            workspace=workspace,
            dry_run=dry_run,
            forget_missing=forget_missing,
            progress=progress,
        )
    except AgentMemoryError as error:
        return Failed(name=source.name, sentence=one_line(str(error)))
    except Exception as error:
        # A source is the site's own code, which may raise anything; the others are run even so.
        logger.exception('The source "%s" failed.', source.name)
        sentence = one_line(f"{type(error).__name__}: {error}").rstrip(":")
        return Failed(name=source.name, sentence=sentence)
