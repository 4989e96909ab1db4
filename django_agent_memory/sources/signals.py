"""The saves of a model, followed as they are committed."""

from __future__ import annotations

import logging
from typing import Any

from django.db import models, transaction
from django.db.models.signals import post_delete, post_save
from django.db.transaction import TransactionManagementError

from django_agent_memory import writing
from django_agent_memory.exceptions import Refused
from django_agent_memory.memory import Memory
from django_agent_memory.models import Workspace

from .registry import check_name
from .rows import Describe, key_under

logger = logging.getLogger(__name__)


class ModelSource:
    """Keeps a note about each row of `model` that is saved while this is connected.

    Once the transaction of a save or delete is committed, the row is read anew; what `describe`
    says of it is stored under the model's label and its primary key, and what is deleted, or told
    no longer (None), is forgotten. Whatever fails then is logged by Django as an error of
    `on_commit`, and the save stands. `source` is by default the model's label (`shop.product`).

    Django sends nothing for `update()`, `bulk_create()` and raw SQL: a `queryset` source of the
    same name brings those in, under the same keys. Subclasses of the model are not followed.
    """

    def __init__(
        self,
        model: type[models.Model],
        describe: Describe[Any],
        *,
        workspace: str | Workspace,
        source: str | None = None,
    ) -> None:
        self.model = model
        self.describe = describe
        self.source = check_name(model._meta.label_lower if source is None else source)
        self.memory = Memory(workspace, actor=f"source:{self.source}")

    def connect(self) -> None:
        """Follow the model from now on; call it in the `ready()` of an app. Again is once."""
        for signal in (post_save, post_delete):
            # Not weak: nobody else may hold this object.
            signal.connect(self._receive, sender=self.model, weak=False, dispatch_uid=id(self))

    def disconnect(self) -> None:
        """Follow it no longer; what is stored stays."""
        for signal in (post_save, post_delete):
            signal.disconnect(sender=self.model, dispatch_uid=id(self))

    def _receive(self, *, instance: models.Model, using: str, **_: Any) -> None:
        # The primary key is taken now: after a delete the instance has none.
        pk = instance.pk
        try:
            # No partial: it has no name, by which Django logs what it raises.
            transaction.on_commit(lambda: self._follow(pk, using), using=using, robust=True)
        except TransactionManagementError:
            # The caller commits by hand, of which Django says nothing; the save must stand.
            logger.exception("%s %s is not followed.", self.model._meta.label_lower, instance.pk)

    def _follow(self, pk: Any, using: str) -> None:
        row = self.model._base_manager.using(using).filter(pk=pk).first()
        said = None if row is None else self.describe(row)
        key = key_under(self.model, pk)
        if said is None:
            self.memory.apply([writing.Drop(key=key)])
            return
        if "key" in said:
            raise Refused(f'What is said of "{key}" has a key; a deleted row could not say it.')
        known = {name: value for name, value in said.items() if name != "content"}
        self.memory.store(said["content"], key=key, source=self.source, **known)
