"""A key is replaced by another on the same terms; for a while both work."""

from __future__ import annotations

import datetime
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from django_agent_memory.exceptions import Refused
from django_agent_memory.models import AgentKey
from tests.factories import AgentKeyFactory, UserFactory

pytestmark = pytest.mark.django_db

HOUR = datetime.timedelta(hours=1)
DAY = datetime.timedelta(days=1)


def stored(key: AgentKey) -> AgentKey:
    return AgentKey.objects.get(pk=key.pk)


@pytest.mark.parametrize(
    "terms",
    [
        {},
        {"access": "read", "tools": ["recall"], "expires_at": timezone.now() + 90 * DAY},
    ],
)
def test_the_new_key_has_the_terms_of_the_old(terms: dict[str, Any]) -> None:
    old = AgentKeyFactory(name="scribe", user=UserFactory(), **terms)
    new, secret = AgentKey.objects.rotate(stored(old), overlap=DAY)
    for name in ("workspace_id", "name", "access", "tools", "user_id", "expires_at"):
        assert getattr(stored(new), name) == getattr(old, name), name
    assert AgentKey.objects.with_secret(secret).get() == new
    assert new.digest != old.digest
    assert (new.last_used_at, new.replaced_by) == (None, None)
    assert stored(old).replaced_by == new


def test_both_work_until_the_overlap_is_over() -> None:
    old = AgentKeyFactory()
    before = timezone.now()
    new, _ = AgentKey.objects.rotate(old, overlap=2 * HOUR)
    assert {*AgentKey.objects.usable()} == {old, new}
    expires_at = stored(old).expires_at
    assert expires_at is not None
    assert before + 2 * HOUR <= expires_at <= timezone.now() + 2 * HOUR
    AgentKey.objects.filter(pk=old.pk).update(expires_at=timezone.now())
    assert [*AgentKey.objects.usable()] == [new]


def test_without_an_overlap_the_old_key_ends_at_once() -> None:
    old = AgentKeyFactory()
    new, _ = AgentKey.objects.rotate(old, overlap=datetime.timedelta(0))
    assert [*AgentKey.objects.usable()] == [new]


def test_the_overlap_lengthens_no_life() -> None:
    end = timezone.now() + HOUR
    old = AgentKeyFactory(expires_at=end)
    found = stored(old)
    new, _ = AgentKey.objects.rotate(found, overlap=DAY)
    assert stored(old).expires_at == stored(new).expires_at == found.expires_at


@pytest.mark.parametrize("state", ["revoked", "expired", "replaced", "deleted"])
def test_a_key_that_is_over_is_not_rotated(state: str) -> None:
    old = AgentKeyFactory()
    if state == "revoked":
        stored(old).revoke()
    elif state == "expired":
        AgentKey.objects.update(expires_at=timezone.now())
    elif state == "replaced":
        AgentKey.objects.rotate(stored(old), overlap=DAY)
    else:
        stored(old).delete()
    before = list(AgentKey.objects.values())
    sentence = "replaced already" if state == "replaced" else "revoked or has expired"
    # `old` itself still says that it is good.
    with pytest.raises(Refused, match=sentence):
        AgentKey.objects.rotate(old, overlap=DAY)
    assert list(AgentKey.objects.values()) == before


def test_the_new_key_can_be_rotated_in_turn() -> None:
    first = AgentKeyFactory()
    second, _ = AgentKey.objects.rotate(first, overlap=DAY)
    third, _ = AgentKey.objects.rotate(second, overlap=DAY)
    assert stored(third).expires_at is None
    assert AgentKey.objects.usable().count() == 3


@pytest.mark.parametrize("overlap", [-HOUR, 365 * DAY + HOUR, datetime.timedelta.max])
def test_an_overlap_out_of_bounds_is_refused(overlap: datetime.timedelta) -> None:
    old = AgentKeyFactory()
    with pytest.raises(Refused, match="0 to 365 days"):
        AgentKey.objects.rotate(old, overlap=overlap)
    assert stored(old).expires_at is None


def test_the_first_statement_is_a_write() -> None:
    old = AgentKeyFactory()
    with CaptureQueriesContext(connection) as queries:
        AgentKey.objects.rotate(old, overlap=DAY)
    statements = [sent["sql"] for sent in queries if "SAVEPOINT" not in sent["sql"]]
    assert [statement.split()[0] for statement in statements] == ["UPDATE", "INSERT", "UPDATE"]


@pytest.mark.django_db(transaction=True)
def test_of_several_who_rotate_a_key_at_once_one_does() -> None:
    old = AgentKeyFactory()
    start = Barrier(4)

    def rotate(_number: int) -> str:
        try:
            start.wait(timeout=30)
            AgentKey.objects.rotate(old, overlap=DAY)
        except Refused as refusal:
            return str(refusal)
        finally:
            connection.close()
        return "rotated"

    with ThreadPoolExecutor(4) as threads:
        outcomes = list(threads.map(rotate, range(4)))
    (new,) = AgentKey.objects.exclude(pk=old.pk)
    replaced = f"This key was replaced already, by key {new.pk}; rotate that one."
    assert sorted(outcomes) == [*[replaced] * 3, "rotated"]
