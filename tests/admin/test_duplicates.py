"""Duplicates in the admin: shown in groups, compared, merged exactly as shown, undone at once."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from django_agent_memory import duplicates
from django_agent_memory.admin import links
from django_agent_memory.memory import Memory
from django_agent_memory.models import Grant, Note, NoteUsage
from django_agent_memory.writing import Save

from .browser import fields_of
from .conftest import note_of, url, workspace_of
from .test_safety import ATTACKS, dangers
from .test_timeline import messages_of, text_of

Member = Callable[..., Client]
MERGERS = ("view_note", "change_note", "delete_note")
UNDOERS = ("add_note", *MERGERS)
TEA = "Alice drinks green tea in the morning and never takes sugar"
OUT_OF_DATE = (
    "One of the notes was written or forgotten after you looked, so nothing was merged. Look again."
)


@pytest.fixture
def tea(memory: Memory) -> Memory:
    """Three notes that say nearly the same, two that say exactly the same, and another."""
    memory.remember("tea/old", "Tea", TEA)
    memory.remember("tea/new", "Green tea", f"{TEA}!")
    memory.remember("tea/more", "More tea", f"{TEA}, or milk")
    memory.remember("cat/a", "Cat", "Has a cat")
    memory.remember("cat/b", None, "Has a cat")
    memory.remember("dog", "Dog", "No dog at all")
    return memory


def at(memory: Memory, page: str = "duplicates") -> str:
    return url("workspace", page, workspace_of(memory))


def merge_url(memory: Memory, *keys: str) -> str:
    pks = [note_of(memory, key).pk for key in keys]
    return links.to_merge("admin", workspace_of(memory).pk, pks)


def recall(memory: Memory, key: str, times: int) -> None:
    note = note_of(memory, key)
    NoteUsage.objects.update_or_create(
        workspace=note.workspace,
        position=note.position,
        defaults={"recalled_at": timezone.now(), "recall_count": times},
    )


def preview(browser: Client, address: str, **typed: Any) -> Any:
    form = {**fields_of(browser.get(address)), "reason": "twice", **typed}
    return browser.post(address, {name: text for name, text in form.items() if text is not None})


def confirm(browser: Client, address: str, page: Any, **typed: Any) -> Any:
    return browser.post(address, {**fields_of(page), **typed}, follow=True)


# The list


def test_groups_of_the_same_text_come_first(tea: Memory, admin: Client) -> None:
    workspace_page = admin.get(url("workspace", "change", workspace_of(tea))).content.decode()
    assert f'href="{at(tea)}"' in workspace_page
    recall(tea, "cat/a", 3)
    page = admin.get(at(tea))
    said = [(group["size"], group["says"]) for group in page.context["groups"]]
    assert said == [(2, "the same text"), (3, "84 % the same words")]
    rows = page.context["groups"][0]["notes"]
    shown = [(str(row["key"]), row["size"], row["recalls"], row["words"]) for row in rows]
    assert shown == [
        ('<bdi class="agent-memory-key">cat/b</bdi>', 9, 0, None),
        ('<bdi class="agent-memory-key">cat/a</bdi>', 9, 3, None),
    ]
    assert "no index line" in rows[0]["summary"]
    text = text_of(page)
    assert "at least 80 % of their different words" in text
    assert "All notes were looked at." in text
    assert "Bodies of more than 20000 characters" in text.replace(",", "")
    assert merge_url(tea, "cat/b", "cat/a").replace("&", "&amp;") in text
    assert "dog" not in text


def test_what_differs_is_said_in_words(tea: Memory, admin: Client) -> None:
    group = admin.get(at(tea)).context["groups"][1]
    told = [
        (row["words"].get("percent"), row["words"].get("missing"), row["words"].get("added"))
        for row in group["notes"]
    ]
    assert told == [(None, None, None), (84, "milk, or", ""), (84, "milk, or", "")]
    tea.remember("tea/cup", "Cup", f"{TEA}, or rum")
    group = admin.get(at(tea)).context["groups"][1]
    assert [row["words"].get("missing") for row in group["notes"]] == [
        None,
        "rum",
        "or, rum",
        "or, rum",
    ]
    assert group["notes"][1]["words"]["added"] == "milk"


def test_words_of_what_holds_a_credential_are_not_told(memory: Memory, admin: Client) -> None:
    secret = "password: hunter2hunter2"
    memory.remember("a", "s", f"{TEA} {secret}")
    memory.remember("b", "s", TEA)
    page = text_of(admin.get(at(memory)))
    assert "covered: there is a credential in it" in page
    assert "hunter2" not in page


def test_no_two_notes_are_alike(memory: Memory, admin: Client) -> None:
    memory.remember("a", "s", "one")
    memory.remember("b", "s", "two")
    assert "No two notes are alike." in text_of(admin.get(at(memory)))
    for page in ("2", "0", "-1", "x", "9" * 18, "9" * 50, ""):
        assert admin.get(at(memory), {"page": page}).status_code == 200


def test_private_and_expired_notes_never_appear(tea: Memory, admin: Client) -> None:
    private = Memory("core", session="s")
    private.remember("mine/1", "s", "Has a cat", persist=False)
    private.remember("mine/2", "s", TEA, persist=False)
    Note.objects.filter(key="cat/b").update(expires_at=timezone.now())
    text = text_of(admin.get(at(tea)))
    assert "mine/" not in text
    assert "cat/" not in text
    for pair in (("mine/1", "cat/a"), ("cat/b", "cat/a")):
        gone = admin.get(merge_url(tea, *pair), follow=True)
        assert gone.redirect_chain == [(at(tea), 302)]
        assert messages_of(gone) == ["Fewer than two of these notes are stored: nothing to merge."]


@pytest.mark.parametrize(
    ("same", "near", "pages"), [(20, 0, [20]), (20, 1, [20, 1]), (19, 2, [20, 1]), (3, 18, [20, 1])]
)
def test_twenty_groups_are_on_a_page(
    memory: Memory, admin: Client, same: int, near: int, pages: list[int]
) -> None:
    memory.apply([Save(key=f"same/{n}/{i}", body=f"s{n}") for n in range(same) for i in "ab"])
    memory.apply([Save(key=f"near/{n}/{i}", body=f"n{n}{i}") for n in range(near) for i in ".!"])
    seen, address = [], at(memory)
    while address:
        page = admin.get(address)
        seen.append(len(page.context["groups"]))
        address = at(memory) + page.context["after"] if page.context["after"] else ""
        assert bool(page.context["before"]) is (len(seen) > 1)
    assert seen == pages


def test_of_a_large_group_ten_are_shown_and_merged(memory: Memory, admin: Client) -> None:
    memory.apply([Save(key=f"{n:02}", body="same") for n in range(13)])
    page = admin.get(at(memory))
    (group,) = page.context["groups"]
    assert (group["size"], group["more"], len(group["notes"])) == (13, 3, 10)
    assert "… and 3 more." in text_of(page)
    done = confirm(admin, group["address"], preview(admin, group["address"]))
    assert messages_of(done) == ["9 notes were merged into another."]
    assert memory.keys() == ("00", "01", "02", "12")


def test_it_says_where_it_stopped(
    tea: Memory, admin: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duplicates, "MOST_LOOKED_AT", 3)
    text = text_of(admin.get(at(tea)))
    assert "The newest 3 notes were looked at, and no older ones." in text


def test_queries_do_not_grow(memory: Memory, admin: Client) -> None:
    counts = []
    for size in (2, 30):
        memory.apply([Save(key=f"s{n}", body=f"{n // 2}", summary="s") for n in range(size)])
        memory.apply([Save(key=f"n{n}", body=f"x{n // 2}" + "!" * (n % 2)) for n in range(size)])
        with CaptureQueriesContext(connection) as listing:
            admin.get(at(memory))
        address = merge_url(memory, *(f"s{n}" for n in range(min(size, 10))))
        with CaptureQueriesContext(connection) as merging:
            admin.get(address)
        counts.append((len(listing), len(merging)))
    assert counts[0] == counts[1]


# Side by side


def test_the_notes_are_beside_each_other(tea: Memory, admin: Client) -> None:
    page = admin.get(merge_url(tea, "tea/more", "tea/old", "tea/new"))
    assert page.context["centre"] == '<bdi class="agent-memory-key">tea/more</bdi>'
    assert [str(pair["heading"]) for pair in page.context["pairs"]] == [
        '<bdi class="agent-memory-key">tea/old</bdi>',
        '<bdi class="agent-memory-key">tea/new</bdi>',
    ]
    text = text_of(page)
    assert re.search("<del>[^<]*, or milk</del>", text)
    assert TEA in text
    same = text_of(admin.get(merge_url(tea, "cat/a", "cat/b")))
    assert "Both say the same." in same
    assert "Has a cat" in same


@pytest.mark.parametrize(
    ("recalls", "best", "why"),
    [
        ({}, "tea/more", "written last"),
        ({"tea/old": 2, "tea/new": 1}, "tea/old", "recalled most often"),
        ({"tea/old": 2, "tea/new": 2}, "tea/new", "recalled most often, and written last of those"),
        ({"tea/old": 2, "tea/new": 2, "tea/more": 2}, "tea/more", "written last"),
    ],
)
def test_the_one_that_is_suggested_says_why(
    tea: Memory, admin: Client, recalls: dict[str, int], best: str, why: str
) -> None:
    for key, times in recalls.items():
        recall(tea, key, times)
    page = admin.get(merge_url(tea, "tea/new", "tea/old", "tea/more"))
    sent = fields_of(page)
    assert sent["survivor"] == str(note_of(tea, best).pk)
    assert (sent["text"], sent["body"]) == ("keep", note_of(tea, best).body)
    (label,) = (
        str(label)
        for _pk, label in page.context["form"].fields["survivor"].choices
        if "suggested" in str(label)
    )
    assert f"suggested: {why}<" in label
    assert best in label


@pytest.mark.parametrize(
    "query", ["", "?note=1", "?note=x&note=%00", "?note=1&note=1", f"?note={'9' * 18}&note=²"]
)
def test_what_is_no_two_notes_is_not_merged(tea: Memory, admin: Client, query: str) -> None:
    for send in (admin.get, admin.post):
        gone = send(at(tea, "merge") + query, follow=True)
        assert messages_of(gone) == ["Fewer than two of these notes are stored: nothing to merge."]
    assert tea.revision() == 6


def test_notes_of_another_workspace_are_not_merged(tea: Memory, admin: Client) -> None:
    other = Memory("other")
    other.remember("theirs", "s", TEA)
    pks = [note_of(tea, "tea/old").pk, note_of(other, "theirs").pk]
    address = links.to_merge("admin", workspace_of(tea).pk, pks)
    assert admin.get(address, follow=True).redirect_chain == [(at(tea), 302)]


# Merging


def test_it_is_one_write_and_one_click_undoes_it(tea: Memory, admin: Client) -> None:
    before = dict(tea.items())
    address = merge_url(tea, "tea/new", "tea/old", "tea/more")
    shown = preview(admin, address, survivor=note_of(tea, "tea/old").pk, text="join")
    text = text_of(shown)
    assert 'They become one note: <bdi class="agent-memory-key">tea/old</bdi>.' in text
    assert "2 notes will be forgotten." in text
    assert "characters shorter" in text
    assert "Merged into &quot;tea/old&quot;: twice" in text
    assert tea.revision() == 6
    done = confirm(admin, address, shown)
    assert messages_of(done) == ["2 notes were merged into another."]
    assert tea.recall("tea/old").body == f"{TEA}\n\n{TEA}!\n\n{TEA}, or milk"
    assert tea.recall("tea/old").summary == "Tea"
    assert tea.keys() == ("cat/a", "cat/b", "dog", "tea/old")
    log = [tea.history(key)[-1] for key in ("tea/more", "tea/new", "tea/old")]
    assert [(row.number, row.operation) for row in log] == [
        (7, "forget"),
        (8, "forget"),
        (9, "remember"),
    ]
    assert {(row.actor, row.reason) for row in log} == {("ada", 'Merged into "tea/old": twice')}
    batch = f"{at(tea, 'batch')}?first=7&last=9"
    assert done.redirect_chain == [(batch, 302)]
    page = text_of(done)
    assert "What the same write changed is undone with it" in page
    assert "<td>changed</td>" in page

    undone = admin.post(batch, fields_of(done), follow=True)
    assert messages_of(undone) == ["2 notes were brought back. 1 note is again as it was before."]
    assert dict(tea.items()) == before
    assert 'type="submit"' not in undone.content.decode().partition('id="content-main"')[2]
    lines = LogEntry.objects.order_by("pk")
    assert [(line.action_flag, line.get_change_message()) for line in lines] == [
        (CHANGE, "2 notes were merged into another. twice"),
        (CHANGE, "2 notes were brought back. 1 note is again as it was before."),
    ]


def test_the_note_that_stays_as_it_is_gets_no_revision(tea: Memory, admin: Client) -> None:
    address = merge_url(tea, "cat/a", "cat/b")
    shown = preview(admin, address, survivor=note_of(tea, "cat/a").pk)
    assert "It stays exactly as it is." in text_of(shown)
    done = confirm(admin, address, shown)
    assert done.redirect_chain == [(f"{at(tea, 'batch')}?first=7&last=7", 302)]
    assert tea.revision() == 7
    assert [row.number for row in tea.history("cat/a")] == [4]
    undone = admin.post(done.redirect_chain[0][0], fields_of(done), follow=True)
    assert messages_of(undone) == ["1 note was brought back."]


def test_a_text_by_hand_keeps_its_line_ends(memory: Memory, admin: Client) -> None:
    memory.remember("a", "s", "one\r\ntwo\r\nthree")
    memory.remember("b", "s", "one\r\ntwo\r\nfour")
    address = merge_url(memory, "a", "b")
    typed = "one\r\ntwo, and a half\r\nfour"
    shown = preview(admin, address, text="hand", body=typed)
    assert re.search("<ins>[^<]*, and a half</ins>", text_of(shown))
    confirm(admin, address, shown)
    assert memory.recall("b").body == typed
    assert memory.keys() == ("b",)


def test_text_typed_without_choosing_it_is_not_taken(tea: Memory, admin: Client) -> None:
    address = merge_url(tea, "cat/a", "cat/b")
    confirm(admin, address, preview(admin, address, body="something else"))
    assert tea.recall("cat/b").body == "Has a cat"


def test_contexts_are_joined_where_that_is_chosen(memory: Memory, admin: Client) -> None:
    memory.remember("own/a", "s", "same text")
    memory.remember("b", "s", "same text!", context=("x", "y"))
    memory.remember("c", "s", "same text?", context="own")
    address = merge_url(memory, "own/a", "b", "c")
    chosen = {"survivor": note_of(memory, "own/a").pk}
    shown = preview(admin, address, **chosen)
    assert "Contexts" in text_of(shown)
    without = preview(admin, address, **chosen, join_contexts=None)
    assert "It stays exactly as it is." in text_of(without)
    done = confirm(admin, address, shown)
    assert memory.recall("own/a").contexts == ("own", "x", "y")
    undone = admin.post(done.redirect_chain[0][0], fields_of(done), follow=True)
    assert "1 note is again as it was before." in messages_of(undone)[0]
    assert memory.recall("own/a").contexts == ()
    assert memory.recall("b").contexts == ("x", "y")


@pytest.mark.parametrize(("count", "fits"), [(99, True), (100, True), (101, False)])
def test_contexts_that_are_too_many_are_refused(
    memory: Memory, admin: Client, count: int, fits: bool
) -> None:
    names = [f"c{n:03}" for n in range(count)]
    memory.remember("a", "s", "same text", context=names[:60])
    memory.remember("b", "s", "same text!", context=names[60:])
    page = preview(admin, merge_url(memory, "a", "b"))
    assert page.context["form"].is_valid() is fits
    assert ("join_contexts" in page.context["form"].errors) is not fits


def test_json_keeps_its_text(memory: Memory, admin: Client) -> None:
    memory.remember("j", "s", {"tea": [1, 2.0]})
    memory.remember("t", "s", '{"tea": [1, 2.0]}')
    address = merge_url(memory, "j", "t")
    json = note_of(memory, "j").pk
    for choice, sentence in (
        ("join", "JSON is not put together with other texts: keep the text as it is."),
        ("hand", "The note that stays is JSON: keep its text, and edit it on its own page."),
    ):
        page = preview(admin, address, survivor=json, text=choice, body="x")
        assert page.context["form"].errors == {"text": [sentence]}
    confirm(admin, address, preview(admin, address, survivor=json))
    assert memory.recall("j").body == {"tea": [1, 2.0]}
    assert (memory.keys(), memory.revision()) == (("j",), 3)


def test_damaged_json_is_not_merged(memory: Memory, admin: Client) -> None:
    memory.remember("j", "s", [1])
    memory.remember("t", "s", "[1]")
    Note.objects.filter(key="j").update(body="[1,")
    page = preview(admin, merge_url(memory, "j", "t"), survivor=note_of(memory, "j").pk)
    assert page.context["form"].errors == {
        "survivor": ["Its JSON is damaged: repair the note first."]
    }


@pytest.mark.parametrize(("more", "fits"), [(-1, True), (0, True), (1, False)])
def test_the_reason_fits_with_the_key_before_it(
    memory: Memory, admin: Client, more: int, fits: bool
) -> None:
    key = "k" * 512
    memory.remember(key, "s", "same")
    memory.remember("b", "s", "same")
    reason = "r" * (1_000 - len(f'Merged into "{key}": ') + more)
    address = merge_url(memory, key, "b")
    page = preview(admin, address, survivor=note_of(memory, key).pk, reason=reason)
    assert page.context["form"].is_valid() is fits
    if fits:
        confirm(admin, address, page)
        assert memory.history("b")[-1].reason.endswith(reason)
    else:
        assert "1 characters too long" in str(page.context["form"].errors["reason"])


@pytest.mark.parametrize(("most", "fits"), [(21, False), (22, True), (23, True)])
def test_a_text_that_would_be_too_long_is_refused(
    memory: Memory, admin: Client, settings: Any, most: int, fits: bool
) -> None:
    memory.remember("a", "s", "0123456789")
    memory.remember("b", "s", "0123456788")
    settings.AGENT_MEMORY_MAX_BODY_LENGTH = most
    page = preview(admin, merge_url(memory, "a", "b"), text="join")
    assert page.context["form"].is_valid() is fits


def test_a_reason_and_a_choice_are_needed(tea: Memory, admin: Client) -> None:
    address = merge_url(tea, "cat/a", "cat/b")
    for typed in ({"reason": " "}, {"survivor": None}, {"survivor": "x"}, {"text": "?"}):
        page = preview(admin, address, **typed)
        assert list(page.context["form"].errors) == list(typed)
        assert "Nothing was merged yet" in text_of(page)
    assert tea.revision() == 6


def test_the_choice_can_be_changed(tea: Memory, admin: Client) -> None:
    address = merge_url(tea, "tea/new", "tea/old")
    old = note_of(tea, "tea/old").pk
    shown = preview(admin, address, survivor=old, text="hand", body="mine\r\n")
    again = admin.post(address, {**fields_of(shown), "_again": "1"})
    sent = fields_of(again)
    assert (sent["survivor"], sent["text"], sent["body"]) == (str(old), "hand", "mine\r\n")
    assert sent["reason"] == "twice"
    assert again.context["centre"] == '<bdi class="agent-memory-key">tea/old</bdi>'


def test_what_ends_first_is_said(memory: Memory, admin: Client) -> None:
    soon = timezone.now() + datetime.timedelta(days=1)
    memory.remember("a", "s", "same", expires_at=soon)
    memory.remember("b", "s", "same")
    address = merge_url(memory, "a", "b")
    warning = "It expires before one of the others does"
    assert warning in text_of(preview(admin, address, survivor=note_of(memory, "a").pk))
    assert warning not in text_of(preview(admin, address, survivor=note_of(memory, "b").pk))


# What others write meanwhile


@pytest.mark.parametrize("late", ["tea/old", "tea/new"])
def test_what_was_written_after_the_look_is_shown_first(
    tea: Memory, admin: Client, late: str
) -> None:
    address = merge_url(tea, "tea/new", "tea/old")
    typed = {**fields_of(admin.get(address)), "reason": "mine", "text": "hand", "body": "My text"}
    tea.remember(late, "s", "Something new")
    again = admin.post(address, typed)
    assert messages_of(again) == [OUT_OF_DATE]
    assert "Something new" in text_of(again)
    sent = fields_of(again)
    assert (sent["reason"], sent["body"], sent["text"]) == ("mine", "My text", "hand")
    shown = admin.post(address, sent)
    tea.remember(late, "s", "Newer still")
    anew = confirm(admin, address, shown)
    assert messages_of(anew) == [OUT_OF_DATE]
    assert len(tea.keys("tea/")) == 3
    confirm(admin, address, anew)
    assert tea.keys("tea/") == ("tea/more", "tea/new")
    assert tea.recall("tea/new").body == "My text"


def test_a_write_at_the_same_moment_is_not_overwritten(
    tea: Memory, admin: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = merge_url(tea, "tea/new", "tea/old")
    shown = preview(admin, address, text="hand", body="My text")
    genuine = Memory.apply

    def late(self: Memory, *args: Any, **kwargs: Any) -> Any:
        monkeypatch.setattr(Memory, "apply", genuine)
        tea.remember("tea/new", "s", "newest")
        return genuine(self, *args, **kwargs)

    monkeypatch.setattr(Memory, "apply", late)
    again = confirm(admin, address, shown)
    assert messages_of(again) == [OUT_OF_DATE]
    assert tea.recall("tea/new").body == "newest"
    assert "newest" in text_of(again)
    confirm(admin, address, again)
    assert tea.recall("tea/new").body == "My text"


@pytest.mark.parametrize("gone", ["tea/old", "tea/more"])
def test_what_is_forgotten_meanwhile_is_left_out(tea: Memory, admin: Client, gone: str) -> None:
    address = merge_url(tea, "tea/new", "tea/old", "tea/more")
    shown = preview(admin, address, survivor=note_of(tea, "tea/more").pk)
    tea.forget(gone)
    again = confirm(admin, address, shown)
    assert messages_of(again) == [OUT_OF_DATE]
    assert len(tea.keys("tea/")) == 2
    is_survivor = gone == "tea/more"
    assert ("survivor" in again.context["form"].errors) is is_survivor
    if not is_survivor:
        confirm(admin, address, again)
        assert tea.keys("tea/") == ("tea/more",)


def test_all_but_one_are_forgotten_meanwhile(tea: Memory, admin: Client) -> None:
    address = merge_url(tea, "cat/a", "cat/b")
    shown = preview(admin, address)
    tea.forget("cat/a")
    gone = confirm(admin, address, shown)
    assert gone.redirect_chain == [(at(tea), 302)]
    assert tea.recall("cat/b") is not None


def test_what_is_written_after_merging_is_left_alone_by_the_undo(
    tea: Memory, admin: Client
) -> None:
    address = merge_url(tea, "tea/new", "tea/old")
    done = confirm(admin, address, preview(admin, address, text="join"))
    tea.remember("tea/new", "s", "newest")
    batch = done.redirect_chain[0][0]
    undone = admin.post(batch, fields_of(admin.get(batch)), follow=True)
    assert messages_of(undone)[0] == "1 note was brought back."
    assert messages_of(undone)[1].startswith("1 key was left alone")
    assert tea.recall("tea/new").body == "newest"
    assert tea.recall("tea/old").body == TEA


# Hostile text and who may


@pytest.mark.parametrize(
    "key",
    ["a/b/../c", "line\nbreak", "quo\"te's", " blank ", "日本/é😀", "?note=1&x#y%00", *ATTACKS],
)
def test_any_key_and_text_is_merged_and_stays_text(memory: Memory, admin: Client, key: str) -> None:
    text = f"{key} and so on and on"
    for name, body in ((key, text), (key + "2", text), (key + "3", text + "!")):
        memory.remember(name, key, body)
    listed = admin.get(at(memory))
    assert len(listed.context["groups"]) == 2
    address = merge_url(memory, key, key + "2", key + "3")
    opened = admin.get(address)
    shown = preview(admin, address, survivor=note_of(memory, key).pk, text="join", reason=key + ".")
    done = confirm(admin, address, shown)
    for page in (listed, opened, shown, done):
        assert dangers(page) == []
        assert "&lt;&lt;14" not in page.content.decode()
    assert memory.keys() == (key,)
    reason = memory.history(key + "2")[-1].reason
    assert reason.replace("\r\n", "\n") == f'Merged into "{key}": {key}.'
    undone = admin.post(done.redirect_chain[0][0], fields_of(done), follow=True)
    assert messages_of(undone)[0].startswith("2 notes were brought back.")
    assert len(memory.keys()) == 3


def test_a_credential_is_covered(memory: Memory, admin: Client) -> None:
    memory.remember("a", "s", "password: hunter2hunter2")
    memory.remember("b", "s", "password: hunter2hunter2!")
    page = admin.get(merge_url(memory, "a", "b")).content.decode()
    assert 'class="agent-memory-index agent-memory-covered"' in page
    assert 'class="agent-memory-sides agent-memory-covered"' in page
    assert 'class="vLargeTextField agent-memory-covered"' in page


@pytest.mark.parametrize("missing", ["change_note", "delete_note"])
def test_who_may_see_and_not_merge(tea: Memory, member: Member, missing: str) -> None:
    browser = member(*{*MERGERS} - {missing})
    address = merge_url(tea, "cat/a", "cat/b")
    assert "Compare and merge" not in text_of(browser.get(at(tea)))
    page = browser.get(address)
    assert page.status_code == 200
    assert "Has a cat" in text_of(page)
    assert "csrfmiddlewaretoken" not in page.content.decode().partition('id="content-main"')[2]
    assert browser.post(address, {"reason": "x"}).status_code == 403
    assert tea.revision() == 6


def test_who_may_not_see_notes(tea: Memory, member: Member) -> None:
    address = merge_url(tea, "cat/a", "cat/b")
    browser = member("delete_note", "change_workspace", "view_revision")
    for page in (at(tea), address):
        assert browser.get(page).status_code == 403
        assert browser.post(page).status_code == 403
    shown = browser.get(url("workspace", "change", workspace_of(tea))).content.decode()
    assert "/duplicates/" not in shown


def test_who_merges_without_seeing_the_workspace(tea: Memory, member: Member) -> None:
    browser = member(*MERGERS)
    address = merge_url(tea, "cat/a", "cat/b")
    done = confirm(browser, address, preview(browser, address))
    assert messages_of(done) == ["1 note was merged into another."]
    assert tea.history("cat/a")[-1].actor == "bob"
    # To bring back takes the right to add as well.
    assert 'value="Undo"' not in done.content.decode()


def test_rights_in_one_workspace_are_none_in_another(tea: Memory) -> None:
    other = Memory("other")
    for key in ("x", "y"):
        other.remember(key, "s", "theirs")
    user = User.objects.create_user("cy", "", "pw", is_staff=True)
    Grant.objects.give(workspace="core", user=user, access="read")
    browser = Client()
    browser.force_login(user)
    address = merge_url(other, "x", "y")
    for page in (at(other), address):
        for gone in (browser.get(page, follow=True), browser.post(page, follow=True)):
            assert messages_of(gone) == ["This workspace does not exist."]
    assert browser.get(at(tea)).status_code == 200
    assert browser.get(merge_url(tea, "cat/a", "cat/b")).status_code == 200
    assert browser.post(merge_url(tea, "cat/a", "cat/b"), {}).status_code == 403
