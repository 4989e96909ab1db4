"""`manage.py memory_prune`: let go of expired notes, old revisions and old recorded calls."""

from __future__ import annotations

import datetime
from argparse import ArgumentParser
from collections.abc import Callable
from functools import partial
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import router

from django_agent_memory import pruning, search, writing
from django_agent_memory.conf import conf
from django_agent_memory.exceptions import AgentMemoryError, Refused
from django_agent_memory.memory import Memory
from django_agent_memory.models import Note, RecordedCall, SavedRule
from django_agent_memory.text.rendering import one_line

from ._workspaces import add_workspace_argument, chosen_paths

_ACTOR = "manage.py"
_BATCH = 1_000
_MOST_DAYS = 36_500


class Command(BaseCommand):
    """Count what retention would remove; remove it only when told to."""

    help = (
        "Remove revisions that were superseded long ago, and recorded calls past their time; "
        "forget notes past their expiry, and those that saved rules find. "
        "Only counts, unless --apply is given."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_workspace_argument(parser)
        parser.add_argument("--expired", action="store_true", help="forget expired notes")
        parser.add_argument("--rules", action="store_true", help="forget by the saved rules")
        parser.add_argument("--revisions", action="store_true", help="prune revisions")
        parser.add_argument("--recorded-calls", action="store_true", help="prune recorded calls")
        parser.add_argument(
            "--days", type=int, metavar="N", help="instead of the setting's number of days"
        )
        parser.add_argument(
            "--keep", type=int, metavar="N", help="revisions kept of each key, whatever their age"
        )
        parser.add_argument("--apply", action="store_true", help="remove them")

    def handle(self, *args: Any, **options: Any) -> None:
        if not any(options[what] for what in ("expired", "rules", "revisions", "recorded_calls")):
            raise CommandError(
                "Say what to prune: --expired, --rules, --revisions, --recorded-calls "
                "or several of them."
            )
        days = options["days"]
        if days is not None and not 0 <= days <= _MOST_DAYS:
            raise CommandError(f"--days must be from 0 to {_MOST_DAYS}.")
        paths = chosen_paths(options["workspace"])
        if options["expired"]:
            self._forget_expired(paths, options)
        if options["rules"]:
            self._run_rules(paths, options)
        if options["revisions"]:
            self._prune_revisions(paths, options)
        if options["recorded_calls"]:
            self._prune_recorded_calls(paths, options)
        if options["apply"]:
            search.compact(router.db_for_write(Note))

    def _forget_expired(self, paths: list[str], options: dict[str, Any]) -> None:
        def forget(path: str) -> int:
            return writing.forget_expired(
                path,
                actor=_ACTOR,
                reason="memory_prune --expired",
                dry_run=not options["apply"],
            )

        total = self._total(paths, forget, "expired notes")
        self._say(total, "expired notes, which keep their history", options)

    def _prune_revisions(self, paths: list[str], options: dict[str, Any]) -> None:
        days, keep = _retention(options)
        if keep < 1:
            raise CommandError("At least the last revision of each key is kept: --keep 1 or more.")

        def prune(path: str) -> int:
            return writing.prune_revisions(
                path,
                older_than=datetime.timedelta(days=days),
                keep=keep,
                dry_run=not options["apply"],
            )

        total = self._total(paths, prune, "revisions")
        self._say(total, f"revisions superseded more than {days} days ago", options)

    def _run_rules(self, paths: list[str], options: dict[str, Any]) -> None:
        """Run the rules of each workspace by name; one that cannot be run hinders no other."""
        total = 0
        for path in paths:
            for saved in SavedRule.objects.for_workspace(path):
                run = partial(_run_rule, saved=saved, apply=options["apply"])
                total += self._total([path], run, f"notes by the rule “{one_line(saved.name)}”")
        self._say(total, "notes by saved rules, which keep their history", options)

    def _total(self, paths: list[str], remove: Callable[[str], int], what: str) -> int:
        """Call `remove` for each workspace and say how many it was; errors leave the others be."""
        total = 0
        for path in paths:
            try:
                count = remove(path)
            except AgentMemoryError as error:
                self.stderr.write(f"{path}: {error}")
                continue
            if count:
                self.stdout.write(f"{path}: {count} {what}")
            total += count
        return total

    def _prune_recorded_calls(self, paths: list[str], options: dict[str, Any]) -> None:
        days = conf.recorded_call_days if options["days"] is None else options["days"]
        calls = RecordedCall.objects.filter(workspace__path__in=paths)
        old = calls.older_than(datetime.timedelta(days=days))
        total = old.count()
        while options["apply"]:
            # The oldest are the first by their key: no index on the time is needed to find them.
            batch = list(old.order_by("pk").values_list("pk", flat=True)[:_BATCH])
            if not batch:
                break
            RecordedCall.objects.filter(pk__in=batch).delete()
        self._say(total, f"recorded calls older than {days} days", options)

    def _say(self, total: int, what: str, options: dict[str, Any]) -> None:
        if options["apply"]:
            self.stdout.write(f"Removed {total} {what}.")
        else:
            self.stdout.write(f"Would remove {total} {what}; add --apply to do it.")


def _run_rule(path: str, *, saved: SavedRule, apply: bool) -> int:
    """Forget what the rule finds, or count it; a rule that raw SQL has damaged is `Refused`."""
    try:
        rule = pruning.rule_of(saved.rule)
    except Refused as refusal:
        raise Refused(f"The rule “{one_line(saved.name)}” cannot be run: {refusal}") from refusal
    if not apply:
        return len(pruning.fitting(path, rule))
    memory = Memory(path, actor=_ACTOR)
    return len(pruning.prune(memory, rule, reason=f"memory_prune --rules: {saved.name}"))


def _retention(options: dict[str, Any]) -> tuple[int, int]:
    """Return the days and the number to keep: the options', else the setting's."""
    days, keep = conf.revision_retention or (None, 1)
    days = days if options["days"] is None else options["days"]
    if days is None:
        raise CommandError(
            "Revisions are kept for ever: set AGENT_MEMORY_REVISION_RETENTION or give --days."
        )
    return days, keep if options["keep"] is None else options["keep"]
