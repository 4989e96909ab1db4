"""What is known of a note, in its form: exact where untouched, one sentence where it is wrong."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.http import HttpResponse
from django.test import Client, override_settings
from django.utils import timezone

from django_agent_memory.memory import Memory
from django_agent_memory.models import Note, Revision
from django_agent_memory.models.details import PLAIN
from django_agent_memory.results import Details, fields_of

from .conftest import Submit, note_of, note_url, url, workspace_of

UTC = datetime.UTC
# In the hour that Berlin has twice, with parts of a second that no form shows.
TWICE = datetime.datetime(2024, 10, 27, 0, 30, 15, 123456, tzinfo=UTC)
LATER = datetime.datetime(2999, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)

KNOWN: dict[str, Any] = {
    "kind": " fact ",
    "slot": "persona",
    "subject": "Ада\r\nЛавлейс",
    "weight": 0.1 + 0.2,
    "context": ["team/a", " leading", "trailing  ", "\ttab", "é\u2028x"],
    "source": "a\nb\x0b",
    "happened_at": TWICE,
    "expires_at": LATER,
}


def details_of(memory: Memory, key: str = "k") -> Details:
    return note_of(memory, key).known


def is_folded(page: HttpResponse) -> bool:
    return "<details>" in page.content.decode().split("What is known of it")[0][-200:]


@pytest.fixture
def known(memory: Memory) -> Memory:
    memory.remember("k", "s", "b", **KNOWN)
    return memory


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "Pacific/Apia"])
@pytest.mark.parametrize("language", ["en", "de", "ar", "fa"])
def test_an_untouched_form_changes_nothing(
    known: Memory, submit: Submit, zone: str, language: str
) -> None:
    before = list(Note.objects.values())
    with override_settings(TIME_ZONE=zone, LANGUAGE_CODE=language):
        assert submit(note_url(known)).status_code == 302
    assert list(Note.objects.values()) == before
    assert known.revision() == 1
    assert not LogEntry.objects.exists()


def test_another_body_leaves_all_of_it_as_it_is(known: Memory, submit: Submit) -> None:
    before = details_of(known)
    with override_settings(TIME_ZONE="Europe/Berlin"):
        assert submit(note_url(known), body="c").status_code == 302
    assert (known.recall("k").body, details_of(known)) == ("c", before)


@pytest.mark.parametrize(
    ("typed", "field", "stored"),
    [
        ({"kind": "  event"}, "kind", "  event"),
        ({"slot": ""}, "slot", ""),
        ({"subject": "Ада\r\nKing"}, "subject", "Ада\r\nKing"),
        ({"weight": "2.5"}, "weight", 2.5),
        ({"weight": "0"}, "weight", 0.0),
        ({"source": "mail"}, "source", "mail"),
        ({"contexts": ""}, "contexts", ()),
        ({"contexts": "b \r\n\r\n a\r\nb \r\n"}, "contexts", (" a", "b ")),
        ({"happened_at_0": "", "happened_at_1": ""}, "happened_at", None),
        (
            {"expires_at_0": "2998-07-01", "expires_at_1": "12:00"},
            "expires_at",
            datetime.datetime(2998, 7, 1, 10, tzinfo=UTC),
        ),
    ],
)
def test_one_detail_alone_is_a_revision(
    known: Memory, submit: Submit, typed: dict[str, str], field: str, stored: Any
) -> None:
    before = details_of(known)
    with override_settings(TIME_ZONE="Europe/Berlin"):
        assert submit(note_url(known), reason="why", **typed).status_code == 302
    assert fields_of(details_of(known)) == {**fields_of(before), field: stored}
    revision = Revision.objects.get(number=2)
    assert (revision.actor, revision.reason, revision.body) == ("ada", "why", "b")
    assert LogEntry.objects.count() == 1


def test_the_same_contexts_in_another_order_are_no_change(known: Memory, submit: Submit) -> None:
    typed = "\r\n".join(reversed(details_of(known).contexts))
    assert submit(note_url(known), contexts=typed).status_code == 302
    assert known.revision() == 1


@pytest.mark.parametrize(
    ("typed", "field", "sentence"),
    [
        ({"kind": "x" * 65}, "kind", "The kind is too long: 65 characters, the limit is 64."),
        ({"slot": "x" * 65}, "slot", "The slot is too long: 65 characters, the limit is 64."),
        ({"subject": "a\x00"}, "subject", "The subject contains a NUL character"),
        ({"source": "x" * 256}, "source", "The source is too long"),
        ({"weight": ""}, "weight", "The weight must be a number of at least 0."),
        ({"weight": "much"}, "weight", "The weight must be a number of at least 0."),
        ({"weight": "-1"}, "weight", "The weight must be a finite number of at least 0."),
        ({"weight": "nan"}, "weight", "The weight must be a finite number of at least 0."),
        ({"contexts": "a\r\n" + "x" * 513}, "contexts", "The context is too long"),
        ({"contexts": "a\x07"}, "contexts", "The context contains the control character U+0007"),
        (
            {"contexts": "\r\n".join(map(str, range(101)))},
            "contexts",
            "There are 101 contexts, the limit is 100.",
        ),
        ({"expires_at_0": "soon"}, "expires_at", "Enter a valid date."),
        ({"expires_at_1": ""}, "expires_at", "Enter a valid time."),
        (
            {"happened_at_0": "2024-03-31", "happened_at_1": "02:30:00"},
            "happened_at",
            "couldn’t be interpreted in time zone Europe/Berlin",
        ),
    ],
)
def test_what_is_wrong_is_one_sentence_at_its_field(
    known: Memory, submit: Submit, typed: dict[str, str], field: str, sentence: str
) -> None:
    with override_settings(TIME_ZONE="Europe/Berlin"):
        response = submit(note_url(known), body="not written", **typed)
    errors = response.context["adminform"].form.errors
    assert list(errors) == [field]
    assert len(errors[field]) == 1
    assert sentence in errors[field][0]
    assert known.revision() == 1
    # What is wrong is not folded away.
    assert not is_folded(response)


def test_contexts_with_a_line_break_are_shown_and_kept(memory: Memory, submit: Submit) -> None:
    memory.remember("k", "s", "b", context=["a\nb", "c"])
    response = submit(note_url(memory), contexts="a\r\nb\r\nc\r\nd", kind="fact")
    assert response.status_code == 302
    assert details_of(memory) == Details(kind="fact", contexts=("a\nb", "c"))


def test_what_sql_put_there_hinders_nothing_that_is_not_about_it(
    memory: Memory, submit: Submit
) -> None:
    memory.remember("k", "s", "b")
    Note.objects.update(weight=-1, contexts="[1,")
    assert submit(note_url(memory)).status_code == 302
    assert submit(note_url(memory), body="c").status_code == 302
    assert memory.recall("k").body == "c"
    assert details_of(memory).weight == -1
    assert "weight" in submit(note_url(memory), weight="-2").context["adminform"].form.errors


def test_a_form_from_before_there_were_these_fields_keeps_them(
    known: Memory, submit: Submit, admin: Client
) -> None:
    before = details_of(known)
    assert is_folded(admin.get(note_url(known)))
    names = ["kind", "slot", "subject", "weight", "contexts", "source"]
    names += [f"{name}_at_{part}" for name in ("happened", "expires") for part in "01"]
    assert submit(note_url(known), body="c", **dict.fromkeys(names)).status_code == 302
    assert (known.recall("k").body, details_of(known)) == ("c", before)


@override_settings(TIME_ZONE="UTC")
def test_a_new_note_with_all_of_it(memory: Memory, submit: Submit) -> None:
    memory.configure(title="Core")
    response = submit(
        url("note", "add"),
        workspace=workspace_of(memory).pk,
        key="k",
        body="b",
        kind="fact",
        slot="persona",
        subject="Ada",
        weight="3",
        contexts="team/a\r\nteam/b",
        source="mail",
        happened_at_0="2024-05-03",
        happened_at_1="12:00:00",
    )
    assert response.status_code == 302
    assert details_of(memory) == Details(
        kind="fact",
        slot="persona",
        subject="Ada",
        weight=3.0,
        contexts=("team/a", "team/b"),
        source="mail",
        happened_at=datetime.datetime(2024, 5, 3, 12, tzinfo=UTC),
    )


def test_a_new_note_has_nothing_that_nobody_gave(memory: Memory, submit: Submit) -> None:
    memory.configure(title="Core")
    submit(url("note", "add"), workspace=workspace_of(memory).pk, key="k", body="b")
    assert details_of(memory) == PLAIN
    assert Revision.objects.get().details == ""


def test_an_expired_note_can_be_brought_back_whole(known: Memory, submit: Submit) -> None:
    past = timezone.now() - datetime.timedelta(days=1)
    Note.objects.update(expires_at=past)
    before = details_of(known)
    assert submit(note_url(known)).status_code == 302
    assert known.revision() == 1
    # To the channel it is as good as none, but the page shows what it has.
    assert submit(note_url(known), body="c").status_code == 302
    assert details_of(known) == before
    assert known.recall("k") is None
    assert submit(note_url(known), expires_at_0="", expires_at_1="").status_code == 302
    assert fields_of(details_of(known)) == {**fields_of(before), "expires_at": None}
    assert known.recall("k").body == "c"


def test_a_conflict_shows_what_of_it_differs(known: Memory, submit: Submit, admin: Client) -> None:
    opened = admin.get(note_url(known))
    known.remember("k", "s", "b", kind="agent's", weight=7.0)
    response = submit(note_url(known), opened=opened, weight="2", contexts="mine")
    page = response.content.decode()
    assert known.revision() == 2
    assert "was changed after you opened it" in page
    clash = response.context["adminform"].form.clash
    assert [str(fact.heading) for fact in clash.known] == ["Kind", "Weight", "Contexts"]
    assert "agent&#x27;s" in page
    assert "<del>7</del>" in page
    assert "<ins>2</ins>" in page
    assert "Both say the same" not in page
    assert submit(note_url(known), opened=response, _overwrite="2").status_code == 302
    after = details_of(known)
    assert (after.kind, after.weight, after.contexts) == (" fact ", 2.0, ("mine",))


def test_a_conflict_about_the_same_detail_alone_says_so(
    memory: Memory, submit: Submit, admin: Client
) -> None:
    memory.remember("k", "s", "b")
    opened = admin.get(note_url(memory))
    memory.remember("k", "s", "b", kind="fact")
    response = submit(note_url(memory), opened=opened, kind="fact", slot="x")
    assert [str(fact.heading) for fact in response.context["adminform"].form.clash.known] == [
        "Slot"
    ]
    memory.remember("k", "s", "b", slot="x")
    page = submit(note_url(memory), opened=opened, kind="fact", slot="x", body="b")
    assert page.status_code == 302


def test_a_note_forgotten_meanwhile_comes_back_with_all_of_it(
    memory: Memory, submit: Submit, admin: Client
) -> None:
    given = {**KNOWN, "happened_at": LATER.replace(microsecond=0), "expires_at": None}
    memory.remember("k", "s", "b", **given)
    before, address = details_of(memory), note_url(memory)
    opened = admin.get(address)
    memory.forget("k")
    assert "was forgotten in the meantime" in submit(address, opened=opened).content.decode()
    assert submit(address, opened=opened, _overwrite="0").status_code == 302
    after = details_of(memory)
    # It is a new form by then, in which every name has one line.
    assert after.contexts == before.contexts
    assert (after.kind, after.weight, after.happened_at) == (
        before.kind,
        before.weight,
        before.happened_at,
    )


def test_who_may_only_look_sees_all_of_it(known: Memory, member: Callable[..., Client]) -> None:
    viewer = member("view_note")
    with override_settings(TIME_ZONE="Europe/Berlin"):
        page = viewer.get(note_url(known)).content.decode()
    for shown in ("persona", "Ада", "0.30000000000000004", "team/a", "“trailing  ”"):
        assert shown in page
    assert "02:30:15.123456" in page
    assert 'name="kind"' not in page
    assert viewer.post(note_url(known), {"kind": "x"}).status_code == 403
    assert known.revision() == 1


def test_without_contexts_the_path_of_the_key_is_shown(
    memory: Memory, member: Callable[..., Client]
) -> None:
    memory.remember("user/likes/tea", "s", "b")
    page = member("view_note").get(note_url(memory, "user/likes/tea")).content.decode()
    assert "the path its key lies under:" in page
    assert '<bdi class="agent-memory-key">user/likes</bdi>' in page


@override_settings(USE_TZ=False, TIME_ZONE="America/New_York")
def test_a_site_without_time_zones(memory: Memory, submit: Submit) -> None:
    memory.remember("k", "s", "b", happened_at=TWICE, expires_at=LATER)
    before = details_of(memory)
    assert submit(note_url(memory)).status_code == 302
    assert memory.revision() == 1
    submit(note_url(memory), happened_at_0="2024-05-03", happened_at_1="09:08:07")
    after = details_of(memory)
    assert after.happened_at == datetime.datetime(2024, 5, 3, 9, 8, 7)  # noqa: DTZ001
    assert after.expires_at == before.expires_at
