"""Editing a note: exact where untouched, through the channel where changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client, override_settings

from django_agent_memory import usage
from django_agent_memory.exceptions import Busy
from django_agent_memory.memory import Memory
from django_agent_memory.models import IndexEntry, Note, NoteUsage, Revision

from .conftest import Submit, note_of, note_url, url, workspace_of

NASTY = [
    "",
    "\n",
    "\n\nleading newlines",
    "trailing blanks  \n\n",
    "  leading blanks",
    "dos\r\nline\r\nends\r\n",
    "mixed\r\nline\nends\rall three\n\r\n\r",
    "old\rmac",
    "\rCR first",
    "\ttabs\t\n",
    "0",
    '{"a": 1}',
    "👩‍👩‍👧‍👦 e\u0301 \u2028 \x85 \x0b \x1b \ufeff",
    "\u202eעברית\u202c and العربية",
    "</textarea><script>alert(1)</script>&amp;&lt;",
    1.0,
    None,
    {"z": ["é", {"a": None}], "text": "a\r\nb"},
    [],
    False,
    12345678901234567890,
]


@pytest.mark.parametrize("body", NASTY)
@pytest.mark.parametrize("summary", [None, "", "one\ntwo\r\n", " s "])
def test_saving_an_untouched_form_changes_nothing(
    memory: Memory, submit: Submit, body: Any, summary: str | None
) -> None:
    memory.remember("k", summary, body)
    before = list(Note.objects.values())
    response = submit(note_url(memory))
    assert response.status_code == 302
    assert list(Note.objects.values()) == before
    assert memory.revision() == 1
    assert memory.recall("k").summary == summary
    assert not LogEntry.objects.exists()


@pytest.mark.parametrize("body", NASTY)
def test_a_new_summary_leaves_the_body_as_it_is(memory: Memory, submit: Submit, body: Any) -> None:
    memory.remember("k", "old", body)
    before = note_of(memory)
    assert submit(note_url(memory), summary="new\r\nlines").status_code == 302
    after = note_of(memory)
    assert (after.body, after.body_is_json) == (before.body, before.body_is_json)
    # A note without any line ends of its own has those of Unix.
    assert memory.recall("k").summary == "new\nlines"


def test_an_edit_is_a_revision_in_the_users_name(memory: Memory, submit: Submit) -> None:
    memory.remember("k", "s", "one\r\ntwo\r\n")
    submit(note_url(memory), body="one\r\n2\r\nthree\r\n", reason="it was wrong")
    revision = Revision.objects.latest("number")
    assert revision.body == "one\r\n2\r\nthree\r\n"
    assert (revision.number, revision.actor, revision.reason) == (2, "ada", "it was wrong")
    (entry,) = LogEntry.objects.all()
    assert "Body" in entry.get_change_message()


def test_an_edit_keeps_the_line_ends_around_it(memory: Memory, submit: Submit) -> None:
    memory.remember("k", "s", "a\nb\rc\nd\n")
    submit(note_url(memory), body="a\r\nb\r\nCC\r\nd\r\n")
    assert memory.recall("k").text == "a\nb\rCC\nd\n"


def test_an_empty_body_can_be_saved(memory: Memory, submit: Submit) -> None:
    memory.remember("k", "s", "text")
    assert submit(note_url(memory), body="").status_code == 302
    assert memory.recall("k").body == ""


def test_json_stays_json(memory: Memory, submit: Submit) -> None:
    memory.remember("k", "s", {"a": 1})
    submit(note_url(memory), body='{"a": [1.0, "é"]}')
    note = memory.recall("k")
    assert note.body == {"a": [1.0, "é"]}
    assert note.text == '{"a":[1.0,"é"]}'


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("{", "This is not valid JSON"),
        ('{"a": 1, "a": 2}', "has the name 'a' twice in one object"),
        ('"a lone string"', "A lone string would be stored as text"),
        ("NaN", "which JSON does not have"),
        ("1e999", "too large"),
        ("[" * 101 + "]" * 101, "nested deeper"),
        ('{"a": "\\u0000"}', "NUL"),
        ('["\\ud800"]', "surrogate"),
    ],
)
def test_json_that_the_gate_refuses_is_an_error_of_the_body(
    memory: Memory, submit: Submit, body: str, sentence: str
) -> None:
    memory.remember("k", "s", {"a": 1})
    response = submit(note_url(memory), body=body)
    (error,) = response.context["adminform"].form.errors["body"]
    assert sentence in error
    assert memory.revision() == 1


@override_settings(AGENT_MEMORY_MAX_BODY_LENGTH=10, AGENT_MEMORY_MAX_SUMMARY_LENGTH=5)
@pytest.mark.parametrize(("field", "text"), [("body", "x" * 11), ("summary", "x" * 6)])
def test_what_is_too_long_is_an_error_of_its_field(
    memory: Memory, submit: Submit, field: str, text: str
) -> None:
    memory.remember("k", "s", "b")
    response = submit(note_url(memory), **{field: text})
    errors = response.context["adminform"].form.errors
    assert list(errors) == [field]
    assert "too long" in errors[field][0]
    assert memory.revision() == 1


def test_a_note_without_a_line_gets_one_only_when_it_is_ticked(
    memory: Memory, submit: Submit
) -> None:
    memory.remember("k", None, "b")
    submit(note_url(memory), body="c")
    assert memory.recall("k").summary is None
    submit(note_url(memory), summary="typed", in_index="on")
    assert memory.recall("k").summary == "typed"


def test_the_tick_tells_no_line_from_a_blank_one(memory: Memory, submit: Submit) -> None:
    memory.remember("k", None, "b")
    submit(note_url(memory), in_index="on")
    assert memory.recall("k").summary == ""
    submit(note_url(memory), summary="s", in_index="on")
    submit(note_url(memory), in_index=None)
    assert memory.recall("k").summary is None


@pytest.mark.parametrize("stored", ["s", "", None])
def test_a_changed_summary_and_no_line_contradict_each_other(
    memory: Memory, submit: Submit, stored: str | None
) -> None:
    memory.remember("k", stored, "b")
    contradiction = {"summary": "other", "in_index": None}
    forms = [
        submit(note_url(memory), **contradiction),
        submit(note_url(memory), body="c", **contradiction),
        submit(note_url(memory), _overwrite="1", **contradiction),
        submit(url("note", "add"), workspace=workspace_of(memory).pk, key="new", **contradiction),
    ]
    for response in forms:
        assert response.context["adminform"].form.errors == {
            "in_index": ["You wrote a summary and asked for no index line: clear it, or tick this."]
        }
    assert memory.revision() == 1
    assert IndexEntry.objects.count() == (stored is not None)


def test_who_comes_second_sees_what_differs_and_overwrites_nothing(
    memory: Memory, submit: Submit, admin: Client
) -> None:
    memory.remember("k", "s", "line one\nline two\n")
    opened = admin.get(note_url(memory))
    memory.remember("k", "agent's", "line one\nthe agent's line\n")
    mine = "line one\r\nmy line\r\n"
    response = submit(note_url(memory), opened=opened, body=mine)
    page = response.content.decode()
    assert memory.recall("k").text == "line one\nthe agent's line\n"
    assert memory.revision() == 2
    assert "was changed after you opened it" in page
    assert "− </span>the agent&#x27;s line" in page
    assert "+ </span>my line" in page
    assert "my line" in response.context["adminform"].form["body"].value()

    again = submit(note_url(memory), opened=response)
    assert "was changed after you opened it" in again.content.decode()
    confirmed = submit(note_url(memory), opened=response, _overwrite="2")
    assert confirmed.status_code == 302
    assert memory.recall("k").text == "line one\nmy line\n"
    assert memory.recall("k").summary == "s"


def test_a_confirmation_holds_only_for_what_was_shown(
    memory: Memory, submit: Submit, admin: Client
) -> None:
    memory.remember("k", "s", "1")
    opened = admin.get(note_url(memory))
    for body in ("2", "3"):
        memory.remember("k", "s", body)
    response = submit(note_url(memory), opened=opened, body="mine", _overwrite="2")
    assert response.status_code == 200
    assert memory.recall("k").text == "3"


def test_a_note_forgotten_meanwhile_loses_no_text(
    memory: Memory, submit: Submit, admin: Client
) -> None:
    memory.remember("k\nl", "s", "b")
    address = note_url(memory, "k\nl")
    opened = admin.get(address)
    memory.forget("k\nl")
    response = submit(address, opened=opened, body="mine")
    assert "was forgotten in the meantime" in response.content.decode()
    assert memory.recall("k\nl") is None
    assert response.context["adminform"].form["body"].value() == "mine"
    again = submit(address, opened=opened, body="mine", _overwrite="0")
    assert again.status_code == 302
    assert memory.recall("k\nl").body == "mine"


def test_a_note_forgotten_and_stored_again_meanwhile_is_a_conflict(
    memory: Memory, submit: Submit, admin: Client
) -> None:
    memory.remember("k", "s", "b")
    address = note_url(memory)
    opened = admin.get(address)
    memory.forget("k")
    memory.remember("k", "s", "agent's")
    response = submit(address, opened=opened, body="mine")
    assert "was changed after you opened it" in response.content.decode()
    assert memory.recall("k").body == "agent's"


def test_what_the_pages_show_counts_as_no_agents_recall(
    memory: Memory, submit: Submit, admin: Client
) -> None:
    memory.remember("k", "s", "b")
    address = note_url(memory)
    opened = admin.get(address)
    memory.remember("k", "s", "agent's")
    assert (
        "was changed after you opened it"
        in submit(address, opened=opened, body="mine").content.decode()
    )
    for page in ("change", "forget", "finding"):
        assert admin.get(note_url(memory, "k", page), {"query": "agent's"}).status_code == 200
    usage.flush()
    assert not NoteUsage.objects.exists()


def test_a_busy_database_keeps_the_persons_text(memory: Memory, submit: Submit) -> None:
    memory.remember("k", "s", "b")
    with mock.patch.object(Memory, "remember", side_effect=Busy("busy")):
        response = submit(note_url(memory), body="a long text")
    assert response.status_code == 200
    assert "Your text is still here" in response.content.decode()
    assert response.context["adminform"].form["body"].value() == "a long text"


def test_a_new_note(memory: Memory, submit: Submit) -> None:
    memory.configure(title="Core")
    response = submit(
        url("note", "add"),
        workspace=workspace_of(memory).pk,
        key=" user/name ",
        summary="s",
        body="b",
        reason="why",
    )
    assert response.status_code == 302
    assert memory.recall(" user/name ").body == "b"
    assert Revision.objects.get().reason == "why"
    assert LogEntry.objects.count() == 1


def test_a_reason_is_kept_as_typed(memory: Memory, submit: Submit) -> None:
    memory.remember("k", "s", "b")
    submit(note_url(memory), body="c", reason="  because ")
    assert Revision.objects.latest("number").reason == "  because "
    submit(note_url(memory, page="forget"), reason=" gone ")
    assert Revision.objects.latest("number").reason == " gone "


def test_a_new_json_note_without_a_line(memory: Memory, submit: Submit) -> None:
    memory.configure(title="Core")
    submit(
        url("note", "add"),
        workspace=workspace_of(memory).pk,
        key="k",
        in_index=None,
        body_type="json",
        body="null",
    )
    note = memory.recall("k")
    assert (note.body, note.text, note.summary) == (None, "null", None)


def test_a_new_note_never_replaces_one(memory: Memory, submit: Submit) -> None:
    memory.remember("k", "s", "stored")
    response = submit(
        url("note", "add"), workspace=workspace_of(memory).pk, key="k", summary="", body="mine"
    )
    assert "already stored under this key" in response.content.decode()
    assert memory.recall("k").body == "stored"


@pytest.mark.parametrize("key", ["", "a\tb\x07", "x" * 513])
def test_a_key_that_the_gate_refuses(memory: Memory, submit: Submit, key: str) -> None:
    memory.configure(title="Core")
    response = submit(url("note", "add"), workspace=workspace_of(memory).pk, key=key, body="b")
    assert "key" in response.context["adminform"].form.errors
    assert not Note.objects.exists()


def test_key_and_workspace_of_a_note_cannot_be_changed(memory: Memory, submit: Submit) -> None:
    memory.remember("k", "s", "b")
    other = Memory("other").configure(title="")
    submit(note_url(memory), key="moved", workspace=other.pk, body_type="json", body="new")
    assert memory.recall("k").body == "new"
    assert list(Note.objects.values_list("key", flat=True)) == ["k"]


@override_settings(DATA_UPLOAD_MAX_MEMORY_SIZE=200_000)
def test_a_body_that_no_form_can_carry_is_shown_and_kept(
    memory: Memory, submit: Submit, admin: Client
) -> None:
    body = "é" * 60_000
    memory.remember("k", "s", body)
    page = admin.get(note_url(memory))
    assert "Too long to be edited here" in page.content.decode()
    assert submit(note_url(memory), opened=page, summary="t").status_code == 302
    assert (memory.recall("k").body, memory.recall("k").summary) == (body, "t")


def test_a_body_of_the_full_length_can_be_edited(memory: Memory, submit: Submit) -> None:
    memory.remember("k", "s", "x\n" * 500_000)
    assert submit(note_url(memory), body="y\r\n" * 499_999).status_code == 302
    assert memory.recall("k").body == "y\n" * 499_999


def test_invalid_json_put_there_by_sql_is_kept_until_it_is_mended(
    memory: Memory, submit: Submit
) -> None:
    memory.remember("k", "s", [1])
    Note.objects.update(body="[1,\r\n")
    assert submit(note_url(memory)).status_code == 302
    assert note_of(memory).body == "[1,\r\n"
    assert submit(note_url(memory), body="[1,2]").status_code == 302
    assert memory.recall("k").body == [1, 2]


def test_an_oversize_summary_put_there_by_sql_hinders_nothing(
    memory: Memory, submit: Submit
) -> None:
    memory.remember("k", "s", "b")
    IndexEntry.objects.update(summary="x" * 20_000)
    assert submit(note_url(memory)).status_code == 302
    assert "too long" in submit(note_url(memory), body="c").content.decode()
    assert submit(note_url(memory), summary="short", body="c").status_code == 302


def test_a_form_without_its_revision_writes_nothing(memory: Memory, submit: Submit) -> None:
    memory.remember("k", "s", "b")
    for broken in (None, "", "-1", "x"):
        assert submit(note_url(memory), expected_revision=broken, body="c").status_code == 200
    assert memory.revision() == 1


@pytest.mark.django_db(transaction=True)
@override_settings(AGENT_MEMORY_WRITE_DEADLINE=0.2)
def test_the_form_writes_outside_of_any_transaction(
    memory: Memory, submit: Submit, django_assert_max_num_queries: Callable[..., Any]
) -> None:
    from django.db import connection

    memory.remember("k", "s", "b")
    seen = []
    remember = Memory.remember

    def spy(self: Memory, *args: Any, **kwargs: Any) -> Any:
        seen.append(connection.in_atomic_block)
        return remember(self, *args, **kwargs)

    settings = {**connection.settings_dict, "ATOMIC_REQUESTS": True}
    with (
        mock.patch.object(Memory, "remember", spy),
        mock.patch.dict(connection.settings_dict, settings),
    ):
        assert submit(note_url(memory), body="c").status_code == 302
    assert seen == [False]
