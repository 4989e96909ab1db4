"""Redacting and erasing in the admin: counted, confirmed, logged without the text."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext

from django_agent_memory import writing
from django_agent_memory.admin import links
from django_agent_memory.admin.confirming import is_typeable
from django_agent_memory.journal import Calls
from django_agent_memory.memory import Memory
from django_agent_memory.models import Grant, Note, RecordedCall, Revision, Workspace
from django_agent_memory.writing import Save
from tests.test_removal import SECRET, tables_that_hold

from .browser import fields_of
from .conftest import note_url, url, workspace_of
from .test_timeline import messages_of, text_of

pytestmark = pytest.mark.django_db(transaction=True)

EVIL = '"><img src=x onerror=alert(1)>'


@pytest.fixture
def memory() -> Memory:
    """`k` said a secret twice, recalled once, and says something harmless; `other` says it too."""
    memory = Memory("core", actor="scribe")
    memory.remember("k", f"about {SECRET}", f"it is {SECRET}")
    memory.remember("k", "harmless", f"{SECRET} again")
    Memory("core", actor="scribe", calls=Calls("key:1", name="r1")).recall("k")
    memory.remember("k", "harmless", "clean")
    memory.remember("other", "s", "b")
    return memory


def at(page: str, key: str = "k", **more: int) -> str:
    return links.to_past("admin", page, "core", key, **more)


def erase_all(memory: Memory) -> str:
    return url("workspace", "erase", workspace_of(memory))


def rows(page: Any) -> dict[str, int]:
    return {str(name): number for name, number in page.context["rows"]}


def confirm(browser: Client, address: str, **typed: Any) -> HttpResponse:
    sent = {**fields_of(browser.get(address)), "reason": "asked by law", **typed}
    return browser.post(address, sent, follow=True)


# Redacting


def test_redacting_says_what_goes_and_blanks_it(memory: Memory, admin: Client) -> None:
    asked = admin.get(at("redact"))
    sayings = 2 * len(SECRET) + len("about ") + len("it is ") + len(" again") + len("harmless")
    sayings += len(SECRET)
    assert rows(asked) == {
        "Revisions": 2,
        "Characters of text": sayings,
        "Recorded answers, blanked": 1,
    }
    assert "This cannot be undone." in text_of(asked)
    assert "What the note says now" in text_of(asked)
    assert SECRET not in text_of(asked)
    done = confirm(admin, at("redact"), typed="k")
    assert done.redirect_chain == [(at("timeline"), 302)]
    said = "Redacted. Revisions: 2, Recorded answers, blanked: 1."
    assert messages_of(done) == [said]
    assert tables_that_hold(SECRET) == set()
    last = Revision.objects.latest("number")
    assert (last.operation, last.actor, last.reason) == ("redact", "ada", "asked by law")
    # The history has the reason; the log has the counts.
    line = LogEntry.objects.get()
    assert (line.object_repr, line.change_message) == ("core", said)
    assert memory.recall("k").body == "clean"
    assert "There is nothing to redact" in text_of(admin.get(at("redact")))


def test_redacting_one_revision(memory: Memory, admin: Client) -> None:
    address = at("redact", revision=1)
    revision = Revision.objects.get(number=1)
    page = admin.get(url("revision", "change", revision)).content.decode()
    assert f'href="{address.replace("&", "&amp;")}"' in page
    assert rows(admin.get(address))["Revisions"] == 1
    confirm(admin, address, typed="k")
    redacted = Revision.objects.filter(redacted=True)
    assert list(redacted.values_list("number", flat=True)) == [1]
    # That one and what is said now are not offered.
    for number in (1, 3):
        page = admin.get(url("revision", "change", Revision.objects.get(number=number)))
        assert "Redact…" not in page.content.decode()


@pytest.mark.parametrize("number", ["3", "4", "99", "0", "x", "-1", "9" * 30, "\0", ""])
def test_what_is_no_past_revision_is_not_redacted(
    memory: Memory, admin: Client, number: str
) -> None:
    address = f"{at('redact')}&revision={number}"
    for answer in (
        admin.get(address, follow=True),
        admin.post(address, {"typed": "k", "reason": "r", "expected_revision": "3"}, follow=True),
    ):
        assert answer.redirect_chain == [(at("timeline"), 302)]
        assert len(messages_of(answer)) == 1
    assert not Revision.objects.filter(redacted=True).exists()


# Erasing


def test_erasing_a_key_says_what_goes_and_removes_it(memory: Memory, admin: Client) -> None:
    note = note_url(memory)
    form = {**fields_of(admin.get(note)), "summary": "by hand", "reason": SECRET}
    admin.post(note, form)
    assert LogEntry.objects.get().object_repr == "k"
    asked = admin.get(at("erase"))
    found = writing.erasable("core", "k")
    assert rows(asked) == {
        "Notes": 1,
        "Lines of the index": 1,
        "Revisions": 4,
        "Recorded answers, blanked": 1,
        "Words by which find knows them": found.rows.postings,
        "Characters of text": found.characters,
        "Lines in this site's log of the admin, blanked": 1,
    }
    assert SECRET not in text_of(asked)
    done = confirm(admin, at("erase"), typed="k")
    listed = links.to_list("admin", "note", workspace="core")
    assert done.redirect_chain == [(listed, 302)]
    (said,) = messages_of(done)
    assert said.startswith("Erased. Notes: 1, Lines of the index: 1, Revisions: 4")
    assert tables_that_hold(SECRET) == set()
    logged = list(LogEntry.objects.order_by("pk").values_list("object_repr", "change_message"))
    assert logged == [("(erased)", ""), ("core", f"{said} asked by law")]
    assert memory.keys() == ("other",)
    # What is gone is answered.
    timeline = text_of(admin.get(at("timeline")))
    assert "No revisions are kept of this key" in timeline
    assert "/erase/" not in timeline
    assert admin.get(note, follow=True).status_code == 200
    assert "There is nothing to erase." in text_of(admin.get(at("erase")))
    again = admin.post(at("erase"), {"typed": "k", "reason": "r", "expected_revision": "5"})
    assert "Something was written after you looked" in text_of(again)


def test_erasing_all_of_a_workspace(memory: Memory, admin: Client) -> None:
    memory.configure(title=SECRET, description=SECRET)
    Memory("core", session="s").remember("private", "s", f"own {SECRET}", persist=False)
    elsewhere = Memory("elsewhere")
    elsewhere.remember("k", "s", "theirs")
    asked = rows(admin.get(erase_all(memory)))
    assert (asked["Notes"], asked["Revisions"]) == (3, 5)
    for typed in ("", "cor", "Core", "core ", EVIL):
        refused = confirm(admin, erase_all(memory), typed=typed)
        assert refused.context["form"].errors.keys() == {"typed"}
        assert "<img" not in refused.content.decode()
    assert len(memory.keys()) == 2
    done = confirm(admin, erase_all(memory), typed="core")
    assert done.redirect_chain == [(url("workspace", "index", workspace_of(memory)), 302)]
    assert tables_that_hold(SECRET) == set()
    assert not Note.objects.filter(workspace__path="core").exists()
    assert elsewhere.keys() == ("k",)
    line = LogEntry.objects.get()
    assert line.change_message.endswith("asked by law")
    assert line.change_message.startswith("Erased. Notes: 3, ")


# What was written since


@pytest.mark.parametrize("page", ["redact", "erase", "all"])
def test_what_was_written_since_is_said_and_stays(memory: Memory, admin: Client, page: str) -> None:
    address = erase_all(memory) if page == "all" else at(page)
    typed = {"typed": "core" if page == "all" else "k", "reason": "asked by law"}
    seen = {**fields_of(admin.get(address)), **typed}
    memory.forget("k")
    memory.remember("k", "s", "written since")
    refused = admin.post(address, seen)
    assert "Something was written after you looked" in text_of(refused)
    assert rows(refused)["Revisions"] == {"redact": 3, "erase": 5, "all": 6}[page]
    assert memory.recall("k").body == "written since"
    assert not Revision.objects.filter(redacted=True).exists()
    assert not LogEntry.objects.exists()
    # What was typed is there still, and holds for what is shown now.
    assert fields_of(refused)["typed"] == typed["typed"]
    done = admin.post(address, fields_of(refused), follow=True)
    assert len(messages_of(done)) == 1
    assert (memory.recall("k") is None) == (page != "redact")


@pytest.mark.parametrize("expected", ["", "x", "-1", "9" * 30, "\0"])
def test_what_the_person_saw_has_to_be_a_number(
    memory: Memory, admin: Client, expected: str
) -> None:
    for address in (at("redact"), at("erase"), erase_all(memory)):
        typed = "core" if "workspace/" in address else "k"
        sent = {"typed": typed, "reason": "r", "expected_revision": expected}
        assert admin.post(address, sent).status_code == 200
    assert memory.revision() == 4


# Confirming


@pytest.mark.parametrize("page", ["redact", "erase"])
def test_the_key_has_to_be_typed_and_a_reason_given(
    memory: Memory, admin: Client, page: str
) -> None:
    for sent, wrong in (
        ({"typed": "K"}, "typed"),
        ({"typed": ""}, "typed"),
        ({"typed": " k"}, "typed"),
        ({"typed": "k", "reason": ""}, "reason"),
        ({"typed": "k", "reason": " \t"}, "reason"),
        ({"typed": "k", "reason": "x" * 1_001}, "reason"),
        ({"typed": "k", "expected_revision": "x"}, "expected_revision"),
    ):
        refused = confirm(admin, at(page), **sent)
        assert refused.context["form"].errors.keys() == {wrong}
    assert memory.revision() == 4
    assert len(memory.history("k")) == 3


@pytest.mark.parametrize(
    ("key", "typeable"),
    [
        ("k", True),
        ("user/name of Zoë", True),
        ("é" * 80, True),
        ("é" * 81, False),
        ("a\nb", False),
        ("a\tb", False),
        (" a", False),
        ("a  b", False),
        ("a\u200bb", False),
        ("a\u00a0b", False),
        (EVIL, True),
    ],
)
def test_what_nobody_can_type_is_ticked(admin: Client, key: str, typeable: bool) -> None:
    assert is_typeable(key) == typeable
    memory = Memory("core")
    memory.remember(key, "s", "b")
    memory.remember(key, "s", "c")
    for page in ("redact", "erase"):
        fields = admin.get(at(page, key)).context["form"].fields
        assert ("typed" in fields, "sure" in fields) == (typeable, not typeable)
        for nothing in ({}, {"sure": ""}, {"typed": ""}):
            assert confirm(admin, at(page, key), **nothing).context["form"].errors
        assert len(memory.history(key)) == (2 if page == "redact" else 3)
        sent = {"typed": key} if typeable else {"sure": "on"}
        assert messages_of(confirm(admin, at(page, key), **sent))
    assert memory.history(key) == ()


def test_a_key_is_typed_as_keyboards_do(admin: Client) -> None:
    memory = Memory("core")
    memory.remember("Zoe\u0308", "s", "b")
    confirm(admin, at("erase", "Zoe\u0308"), typed="Zo\u00eb")
    assert memory.history("Zoe\u0308") == ()


@pytest.mark.parametrize(
    ("reason", "is_refused"),
    [
        ("the note user/zoe", True),
        ("USER/ZOE asked", True),
        ("(user/zoe)", True),
        ("user/zoela asked", False),
        ("a user asked", False),
    ],
)
def test_the_reason_of_an_erasure_does_not_name_the_key(
    admin: Client, reason: str, is_refused: bool
) -> None:
    memory = Memory("core")
    memory.remember("user/zoe", "s", "b")
    done = confirm(admin, at("erase", "user/zoe"), typed="user/zoe", reason=reason)
    assert bool(memory.history("user/zoe")) == is_refused
    if is_refused:
        assert done.context["form"].errors.keys() == {"reason"}
    else:
        assert LogEntry.objects.get().change_message.endswith(reason)


# Who may


def test_no_other_right_gives_it(memory: Memory, member: Any) -> None:
    names = ("view", "add", "change", "delete")
    browser = member(
        *(f"{name}_{model}" for name in names for model in ("note", "revision", "workspace")),
        *("read_notes", "write_notes"),
    )
    for address in (at("redact"), at("redact", revision=1), at("erase"), erase_all(memory)):
        assert browser.get(address).status_code == 403
        assert browser.post(address, {"typed": "k", "reason": "r"}).status_code == 403
    for address in (
        at("timeline"),
        note_url(memory),
        url("workspace", "index", workspace_of(memory)),
        url("revision", "change", Revision.objects.get(number=1)),
    ):
        page = browser.get(address).content.decode()
        assert "Redact…" not in page
        assert "Erase…" not in page


@pytest.mark.parametrize("page", ["redact", "erase", "all"])
def test_who_has_that_right_alone(memory: Memory, member: Any, page: str) -> None:
    browser = member("redact_workspace" if page == "redact" else "erase_workspace")
    address = erase_all(memory) if page == "all" else at(page)
    others = {at("redact"), at("erase"), erase_all(memory)} - {address}
    assert browser.get(address).status_code == 200
    refused = {other for other in others if browser.get(other).status_code == 403}
    assert refused == (others if page == "redact" else {at("redact")})
    done = confirm(browser, address, typed="core" if page == "all" else "k")
    assert done.status_code == 200
    assert len(messages_of(done)) == 1
    assert tables_that_hold(SECRET) == set()


@pytest.mark.parametrize("rights", ["redact_workspace", "erase_workspace"])
def test_the_ways_there(memory: Memory, member: Any, rights: str) -> None:
    browser = member(rights, "view_note", "view_revision", "view_workspace")
    ways = {
        at("timeline"): {at("redact"), at("erase")},
        note_url(memory): {at("erase")},
        url("workspace", "index", workspace_of(memory)): {erase_all(memory)},
        url("workspace", "change", workspace_of(memory)): {erase_all(memory)},
        url("revision", "change", Revision.objects.get(number=1)): {at("redact", revision=1)},
    }
    kind = rights.partition("_")[0]
    for address, expected in ways.items():
        page = browser.get(address).content.decode().replace("&amp;", "&")
        shown = {way for way in expected if f'href="{way}"' in page}
        assert shown == {way for way in expected if f"/{kind}/" in way}, address


def test_a_workspace_that_one_may_not_see(memory: Memory, member: Any) -> None:
    browser = member()
    Grant.objects.give(workspace="other", user=_bob(), access="read-write")
    for address in (at("redact"), at("erase"), erase_all(memory)):
        assert browser.get(address).status_code == 403
    # With the right, what is not there is answered as any.
    browser = Client()
    bob = _bob()
    bob.is_superuser = True
    bob.save()
    browser.force_login(bob)
    for page in ("redact", "erase"):
        address = links.to_past("admin", page, "nowhere", "k")
        assert messages_of(browser.get(address, follow=True)) == ["This workspace does not exist."]
        for key in ("", "x" * 513, "\x00"):
            assert browser.get(at(page, key), follow=True).status_code == 200


def _bob() -> Any:
    from django.contrib.auth.models import User

    return User.objects.get(username="bob")


def test_forgery_is_refused(memory: Memory, operator: Any) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(operator)
    for address in (at("redact"), at("erase"), erase_all(memory)):
        form = fields_of(browser.get(address))
        form.pop("csrfmiddlewaretoken")
        typed = "core" if "workspace/" in address else "k"
        assert browser.post(address, {**form, "typed": typed, "reason": "r"}).status_code == 403
    assert memory.revision() == 4


# How much it takes


def test_asking_takes_the_same_statements_for_any_number(memory: Memory, admin: Client) -> None:
    counts = []
    admin.get(erase_all(memory))
    for n in (1, 60):
        for i in range(n):
            memory.apply([Save(key=key, summary="s", body=f"b{i}") for key in ("k", f"k{i}")])
        for address in (at("redact"), at("erase"), erase_all(memory)):
            with CaptureQueriesContext(connection) as queries:
                assert admin.get(address).status_code == 200
            counts.append(len(queries))
    assert counts[:3] == counts[3:]


def test_a_busy_memory_says_so(
    memory: Memory, admin: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    from django_agent_memory.exceptions import Busy
    from django_agent_memory.writing import removal

    def busy(*_: Any, **__: Any) -> None:
        raise Busy("busy")

    for address in (at("redact"), at("erase"), erase_all(memory)):
        typed = "core" if "workspace/" in address else "k"
        sent = {**fields_of(admin.get(address)), "typed": typed, "reason": "typed"}
        with monkeypatch.context() as patched:
            patched.setattr(removal, "lock", busy)
            page = admin.post(address, sent)
        assert "The memory is busy, so nothing was removed. Try it again." in text_of(page)
        assert fields_of(page)["reason"] == "typed"
    assert RecordedCall.objects.exclude(answer="").exists()
    assert Workspace.objects.get().revision == 4
