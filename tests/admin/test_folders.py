"""The list of notes by the start of their keys, folder by folder."""

from __future__ import annotations

import html
import re

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.http import QueryDict
from django.test import Client
from django.test.utils import CaptureQueriesContext

from django_agent_memory.key_folders import MOST, key_folders
from django_agent_memory.memory import Memory
from django_agent_memory.models import Grant
from django_agent_memory.writing import Save

from .conftest import workspace_of
from .test_note_list import LIST, keys

AWKWARD = ("a", "a-b", "a/", "a//x", "a/b", "a/b/c", "a0/x", "é/x", "日本/語/x", "🔑/x/y", "%/x")
AWKWARD += ("\\/x", "/x", "'q'/x", "A/x", " a/x", "a\n/x", "zz")


def folders(memory: Memory, prefix: str) -> list[str]:
    return key_folders(workspace_of(memory).pk, prefix, using="default")


def offered(browser: Client, **query: str) -> list[tuple[str, str]]:
    """Return the names and the addresses that the filter has."""
    page = browser.get(LIST, query).content.decode()
    shown = page.split('type="text" name="below"')[1].split("</details>")[0]
    names = re.findall(r'<li><a href="([^"]*)">(?:<bdi[^>]*>)?([^<]*)<', shown)
    return [(html.unescape(name), html.unescape(address)) for address, name in names]


@pytest.mark.parametrize(
    ("prefix", "found"),
    [
        ("", [" a/", "%/", "'q'/", "/", "A/", "\\/", "a\n/", "a/", "a0/", "é/", "日本/", "🔑/"]),
        ("a/", ["a//", "a/b/"]),
        ("a", ["a\n/", "a/", "a0/"]),
        ("a/b/", []),
        ("日本/", ["日本/語/"]),
        ("🔑/", ["🔑/x/"]),
        ("/", []),
        ("%", ["%/"]),
        ("nope/", []),
        ("\U0010ffff", []),
    ],
)
def test_the_folders_of_any_keys(memory: Memory, prefix: str, found: list[str]) -> None:
    memory.apply([Save(key=key, body="b") for key in AWKWARD])
    Memory("other").remember("elsewhere/x", "s", "b")
    Memory("core", session="s").remember("private/x", "s", "b", persist=False)
    assert folders(memory, prefix) == found


@pytest.mark.parametrize("count", [MOST - 1, MOST, MOST + 1])
def test_no_more_than_fifty_and_few_statements(memory: Memory, count: int) -> None:
    memory.apply([Save(key=f"f{n % count:03}/{n}", body="b") for n in range(300)])
    with CaptureQueriesContext(connection) as queries:
        found = key_folders(workspace_of(memory).pk, "", using="default")
    # The workspace, and the folders; on MariaDB each, and one to see that there is no more.
    each = count + 1 if count < MOST else MOST
    assert len(queries) == 1 + (each if connection.vendor == "mysql" else 1)
    assert found == [f"f{n:03}/" for n in range(min(count, MOST))]


def test_folder_by_folder(memory: Memory, admin: Client) -> None:
    memory.apply([Save(key=key, body="b") for key in ("a/b/c/d", "a/b/e", "a/x", "top", "z/y")])
    assert offered(admin) == []  # Folders are those of one workspace.
    shown = dict(offered(admin, workspace="core"))
    assert list(shown) == ["Show folders"]
    shown = dict(offered(admin, **_query(shown["Show folders"])))
    assert list(shown) == ["a/", "z/"]
    shown = dict(offered(admin, **_query(shown["a/"])))
    assert list(shown) == ["All", "a/b/"]
    query = _query(shown["a/b/"])
    assert query == {"workspace": "core", "below": "a/b/"}
    assert keys(admin, **query) == ["a/b/c/d", "a/b/e"]
    assert [name for name, _ in offered(admin, **query)] == ["All", "a/", "a/b/c/"]


def test_any_start_of_a_key_in_any_workspace(memory: Memory, admin: Client) -> None:
    memory.apply([Save(key=key, body="b") for key in ("user/tea", "User/tea", "user_x", "us")])
    Memory("other").remember("user/else", "s", "b")
    assert keys(admin, below="user/") == ["user/tea", "user/else"]
    assert keys(admin, below="user") == ["user/tea", "user_x", "user/else"]
    assert keys(admin, below="%") == keys(admin, below="\x00") == []
    assert len(keys(admin, below="")) == 5
    assert admin.get(LIST, {"workspace": "\x00", "below": "x"}).status_code == 200
    assert admin.get(LIST, {"workspace": "core", "below": "\x00"}).status_code == 200


def test_more_folders_than_are_listed_are_said(memory: Memory, admin: Client) -> None:
    memory.apply([Save(key=f"f{n:03}/x", body="b") for n in range(MOST + 1)])
    page = admin.get(LIST, {"workspace": "core", "below": ""}).content.decode()
    assert "There are more: type how the key starts." in page


def test_folders_of_a_workspace_that_one_may_not_see_are_none(memory: Memory) -> None:
    memory.remember("secret/x", "s", "b")
    Memory("other").remember("open/x", "s", "b")
    user = User.objects.create_user("bob", "", "pw", is_staff=True)
    Grant.objects.give(workspace="other", user=user, access="read")
    browser = Client()
    browser.force_login(user)
    assert [name for name, _ in offered(browser, workspace="other", below="")] == ["open/"]
    assert offered(browser, workspace="core", below="") == []


def test_hostile_folders_are_text(memory: Memory, admin: Client) -> None:
    memory.remember('"><script>alert(1)</script>/x', "s", "b")
    page = admin.get(LIST, {"workspace": "core", "below": ""}).content.decode()
    assert "<script>alert(1)" not in page
    assert "&quot;&gt;&lt;script&gt;alert(1)&lt;/" in page


def _query(address: str) -> dict[str, str]:
    return QueryDict(address.lstrip("?")).dict()
