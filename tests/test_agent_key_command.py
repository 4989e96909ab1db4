"""`manage.py agent_key`: what it makes, shows and revokes, and what it refuses in one sentence."""

from __future__ import annotations

import datetime
import io

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.utils import timezone

from django_agent_memory.models import AgentKey, Workspace

pytestmark = pytest.mark.django_db


def run(*arguments: str) -> tuple[str, str]:
    """Return what the command prints: stdout and stderr."""
    out, err = io.StringIO(), io.StringIO()
    call_command("agent_key", *arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def refusal(*arguments: str) -> str:
    """Return the sentence with which the command fails, having written no key."""
    before = AgentKey.objects.count()
    with pytest.raises(CommandError) as caught:
        run(*arguments)
    assert AgentKey.objects.count() == before
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert len(sentence) <= 300
    return sentence


def issue(name: str = "scribe", workspace: str = "core", prefix: str | None = None) -> AgentKey:
    key, _secret = AgentKey.objects.issue(workspace=workspace, name=name)
    if prefix is not None:
        key.prefix = prefix
        key.save(update_fields=["prefix"])
    return key


def test_create_prints_the_secret_alone_and_stores_only_its_digest():
    out, err = run("create", "core", "scribe")
    key = AgentKey.objects.get()
    assert out.endswith("\n")
    assert AgentKey.objects.with_secret(out.strip()).get() == key
    assert (key.workspace.path, key.name, key.access) == ("core", "scribe", "read-write")
    assert (key.tools, key.user, key.expires_at) == (None, None, None)
    assert err == (
        f"Made the workspace core and key {key.pk} ({key.prefix}…). "
        "This is its secret, shown only now:\n"
    )


def test_create_in_a_workspace_that_exists_does_not_claim_to_make_it():
    Workspace.objects.create(path="core")
    _out, err = run("create", "core", "scribe")
    assert err.startswith("Made key ")
    assert Workspace.objects.count() == 1


def test_create_takes_access_tools_user_and_days():
    user = get_user_model().objects.create_user("maya")
    arguments = ["--access", "read", "--tool", "search", "--tool", "recall", "--tool", "search"]
    run("create", "team/desk", "helper", *arguments, "--user", "maya", "--days", "30")
    key = AgentKey.objects.get()
    assert (key.access, key.tools, key.user) == ("read", ["search", "recall"], user)
    assert key.expires_at is not None
    left = key.expires_at - timezone.now()
    assert datetime.timedelta(days=29, hours=23) < left <= datetime.timedelta(days=30)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["a//b", "x"], "A workspace path is segments of"),
        (["", "x"], "The workspace path is empty"),
        (["a" * 256, "x"], "256"),
        (["core", " "], "The name is empty"),
        (["core", "n" * 201], "201"),
        (["core", "x", "--tool", "recal"], "There is no tool 'recal'; the tools are: remember,"),
        (["core", "x", "--access", "read", "--tool", "forget"], "The tool 'forget' writes;"),
        (["core", "x", "--access", "all"], "invalid choice: 'all'"),
        (["core", "x", "--user", "nobody"], "There is no user 'nobody'."),
        (["core", "x", "--days", "0"], "--days must be 1 to 36500, not 0."),
        (["core", "x", "--days", "36501"], "--days must be 1 to 36500, not 36501."),
        (["core", "x", "--days", "soon"], "invalid int value: 'soon'"),
        (["core"], "required: name"),
    ],
)
def test_create_refuses_in_one_sentence_and_makes_nothing(arguments, sentence):
    assert sentence in refusal("create", *arguments)
    assert Workspace.objects.count() == 0


def test_list_shows_every_key_newest_first_without_a_secret():
    assert run("list") == ("There are no agent keys.\n", "")
    first, second = issue("scribe"), issue("a\nb", workspace="team/desk")
    first.revoke()
    out, _err = run("list")
    lines = out.splitlines()
    assert " ".join(lines[0].split()) == "ID PREFIX NAME WORKSPACE ACCESS TOOLS STATE LAST USED"
    assert len(lines) == 3
    assert lines[1].split() == [
        *(str(second.pk), second.prefix, "a", "b", "team/desk", "read-write", "all", "usable"),
        "never",
    ]
    today = timezone.now().date().isoformat()
    assert f"revoked {today}" in lines[2]
    assert first.digest not in out


def test_list_of_one_workspace():
    issue(workspace="core")
    issue(workspace="core/sub")
    out, _err = run("list", "--workspace", "core")
    assert "core/sub" not in out
    assert len(out.splitlines()) == 2
    assert "A workspace path" in refusal("list", "--workspace", "a b")


def test_list_says_whether_a_key_expires_or_has_expired():
    past, future = issue("past"), issue("future")
    AgentKey.objects.filter(pk=past.pk).update(
        expires_at=datetime.datetime(2020, 1, 2, tzinfo=datetime.UTC)
    )
    AgentKey.objects.filter(pk=future.pk).update(
        expires_at=datetime.datetime(2999, 1, 2, tzinfo=datetime.UTC)
    )
    out, _err = run("list")
    assert "expired 2020-01-02" in out
    assert "expires 2999-01-02" in out


def test_revoke_takes_an_id_a_prefix_or_a_whole_secret():
    by_id, by_prefix = issue(), issue(prefix="dam_abcdef")
    by_secret, secret = AgentKey.objects.issue(workspace="core", name="leaked")
    assert run("revoke", str(by_id.pk))[0] == (
        f"Revoked key {by_id.pk} ({by_id.prefix}…), scribe.\n"
    )
    run("revoke", "dam_abc")
    run("revoke", secret)
    assert AgentKey.objects.usable().count() == 0
    assert run("revoke", "dam_abcdef…")[0] == (
        f"Key {by_prefix.pk} (dam_abcdef…) was already revoked.\n"
    )
    assert by_secret.pk


def test_revoke_refuses_what_means_no_key_or_several():
    issue(prefix="dam_abcdef")
    issue(prefix="dam_abcxyz")
    issue(prefix="dam_ABCXYZ")
    assert refusal("revoke", "dam_abc") == "2 agent keys start like that; give more of the prefix."
    nothing = "No agent key has that prefix or id; `agent_key list` shows them."
    for text in ("dam_nothing", "dam_Abcd", "", "9" * 40, "0", "…"):
        assert refusal("revoke", text) == nothing
    assert AgentKey.objects.usable().count() == 3


def test_rotate_prints_the_secret_of_the_new_key_alone():
    old, secret = AgentKey.objects.issue(
        workspace="core", name="scribe", access="read", tools=["recall"]
    )
    before = timezone.now()
    out, err = run("rotate", str(old.pk), "--overlap", "3")
    new = AgentKey.objects.with_secret(out.strip()).get()
    old.refresh_from_db()
    assert (new.name, new.access, new.tools) == ("scribe", "read", ["recall"])
    assert old.replaced_by == new
    assert old.expires_at - before == pytest.approx(
        datetime.timedelta(hours=3), abs=datetime.timedelta(minutes=1)
    )
    assert f"Key {new.pk} ({new.prefix}…) replaces key {old.pk} ({old.prefix}…)" in err
    assert f"{old.expires_at:%Y-%m-%d %H:%M}" in err
    assert err.endswith("This is its secret, shown only now:\n")
    assert secret not in out + err


def test_rotate_overlaps_a_day_unless_told_otherwise():
    key, secret = AgentKey.objects.issue(workspace="core", name="scribe")
    run("rotate", secret)
    key.refresh_from_db()
    left = key.expires_at - timezone.now()
    assert datetime.timedelta(hours=23) < left <= datetime.timedelta(hours=24)


@pytest.mark.parametrize("hours", ["-1", "8761", "999999999999999999"])
def test_an_overlap_out_of_bounds_is_refused(hours: str):
    key = issue()
    assert "--overlap must be 0 to 8760 hours" in refusal("rotate", str(key.pk), "--overlap", hours)


def test_what_is_over_is_not_rotated():
    key = issue()
    key.revoke()
    assert "revoked or has expired" in refusal("rotate", str(key.pk))
    assert "No agent key" in refusal("rotate", "999")
    other = issue()
    run("rotate", str(other.pk))
    assert "replaced already" in refusal("rotate", str(other.pk))
