"""`manage.py memory_mcp`: a message a line, in a process of its own and without one."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from django_agent_memory import Memory
from django_agent_memory.mcp.principal import LocalPrincipal
from django_agent_memory.mcp.stdio import serve
from django_agent_memory.models import Note, Revision
from tests.api.conftest import stored

from .conftest import META

ROOT = Path(__file__).parents[2]
PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
PONG = {"jsonrpc": "2.0", "id": 1, "result": {}}


@pytest.fixture
def principal(db: None, monkeypatch: pytest.MonkeyPatch) -> LocalPrincipal:
    """Whoever started the server; the test's own transaction outlives a message."""
    monkeypatch.setattr("django_agent_memory.mcp.stdio.close_old_connections", lambda: None)
    return LocalPrincipal("core", "scribe")


def served(principal: LocalPrincipal, *lines: bytes) -> list[Any]:
    """Return the answers to these lines."""
    sink = io.BytesIO()
    serve(io.BytesIO(b"".join(lines)), sink, principal)
    return [json.loads(line) for line in sink.getvalue().splitlines()]


def line(method: str, **params: Any) -> bytes:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return json.dumps(message).encode() + b"\n"


def result(principal: LocalPrincipal, method: str, **params: Any) -> Any:
    (answer,) = served(principal, line(method, **params))
    return answer["result"]


def names(principal: LocalPrincipal) -> list[str]:
    return [tool["name"] for tool in result(principal, "tools/list")["tools"]]


def test_a_line_is_answered_with_a_line(principal: LocalPrincipal) -> None:
    lines = [b"\n", PING + b"\n", b"  \r\n", PING + b"\r\n", PING]
    assert served(principal, *lines) == [PONG] * 3


def test_both_eras(principal: LocalPrincipal) -> None:
    found = result(principal, "server/discover", _meta=META)
    assert found["supportedVersions"] == ["2026-07-28"]
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {}}
    assert result(principal, "initialize", **params)["protocolVersion"] == "2025-06-18"
    notice = b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
    assert served(principal, notice) == []


def test_the_actor_signs(principal: LocalPrincipal) -> None:
    arguments = {"key": "é", "summary": "s", "body": "line\nline"}
    told = result(principal, "tools/call", name="remember", arguments=arguments)
    assert told["structuredContent"]["outcome"] == "created"
    assert Revision.objects.get().actor == "scribe"
    assert result(principal, "resources/read", uri="memory://core/notes/é")["contents"]


def test_a_call_with_an_idempotency_key_is_done_once(principal: LocalPrincipal) -> None:
    call = {
        "name": "remember",
        "arguments": {"key": "k", "summary": "s", "body": "b"},
        "_meta": {"django-agent-memory/idempotency-key": "a1"},
    }
    first, again = (result(principal, "tools/call", **call) for _ in range(2))
    assert first["structuredContent"] == again["structuredContent"]
    assert Revision.objects.count() == 1


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (b"{", -32700),
        (b"\xff", -32700),
        (b"[" * 100_000, -32700),
        (b'{"id": NaN}', -32700),
        (b"[" + PING + b"]", -32600),
        (b"1", -32600),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600),
    ],
)
def test_what_is_no_message(principal: LocalPrincipal, text: bytes, code: int) -> None:
    broken, fit = served(principal, text + b"\n", PING)
    assert (broken["id"], broken["error"]["code"]) == (None, code)
    assert fit == PONG


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
@pytest.mark.parametrize("over", [0, 1, 2, 3, 5_000, 5_000_000])
def test_a_line_at_its_limit(
    principal: LocalPrincipal, settings: Any, over: int, ending: bytes
) -> None:
    settings.AGENT_MEMORY_MAX_REQUEST_BYTES = 1_000
    long = PING + b" " * (1_000 - len(PING) + over)
    first, second = served(principal, long + ending, PING)
    assert second == PONG
    if over:
        assert first["error"]["data"] == {"code": "too_large"}
        assert first["error"]["code"] == -32600
    else:
        assert first == PONG


def test_what_fails_is_logged_and_the_server_lives_on(
    principal: LocalPrincipal, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise KeyError("hunter2")

    monkeypatch.setattr(Memory, "lookup", broken)
    call = line("tools/call", name="recall", arguments={"key": "k"})
    failed, fit = served(principal, call, PING)
    assert (failed["id"], failed["error"]["code"]) == (1, -32603)
    assert "hunter2" not in str(failed)
    assert "hunter2" in caplog.text
    assert fit == PONG


def test_read_only(db: None, principal: LocalPrincipal) -> None:
    reader = LocalPrincipal("core", "scribe", read_only=True)
    assert names(reader) == ["recall", "list_memories", "search"]
    before = stored()
    arguments = {"key": "k", "summary": "s", "body": "b"}
    told = result(reader, "tools/call", name="remember", arguments=arguments)
    assert told["isError"] is True
    assert told["content"][0]["text"] == "This server does not include the tool remember."
    assert stored() == before


def test_some_tools(db: None, principal: LocalPrincipal) -> None:
    some = LocalPrincipal("core", "scribe", only=["find", "search"])
    assert names(some) == ["search", "find"]
    assert result(some, "resources/templates/list") == {"resourceTemplates": []}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("no//path", "scribe"), "A workspace path is segments"),
        (("core", "x" * 256), "The actor is too long"),
        (("core", "scribe", "--tools", "recall,nonsense"), "There is no tool 'nonsense'"),
        (("core", "scribe", "--tools", ""), "There is no tool ''"),
        (("core", "scribe", "--read-only", "--tools", "forget"), "The memory is read-only"),
    ],
)
def test_what_the_command_refuses(arguments: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(CommandError, match=f"^{sentence}"):
        call_command("memory_mcp", *arguments)


@pytest.mark.django_db(transaction=True)
def test_the_command() -> None:
    """In a process of its own, whose site prints: only messages are on standard output."""
    start = (
        "import sys, django; from django.conf import settings\n"
        f"settings.DATABASES['default']['NAME'] = {str(connection.settings_dict['NAME'])!r}\n"
        "django.setup()\n"
        "from django.core.management import call_command\n"
        "from django.db.models.signals import post_save\n"
        "post_save.connect(lambda **_: print('noise'), weak=False)\n"
        "call_command('memory_mcp', *sys.argv[1:])\n"
    )
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "error",
            "-c",
            start,
            "core",
            "scribe",
            "--tools",
            "remember,recall",
        ],
        cwd=ROOT,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"},
        input=line("tools/list")
        + line("tools/call", name="remember", arguments={"key": "k", "summary": "s", "body": "b"})
        + b"nonsense\n"
        + PING,
        capture_output=True,
        check=True,
        timeout=60,
    )
    tools, saved, broken, pong = (json.loads(text) for text in done.stdout.splitlines())
    assert [tool["name"] for tool in tools["result"]["tools"]] == ["remember", "recall"]
    assert saved["result"]["structuredContent"]["outcome"] == "created"
    assert broken["error"]["code"] == -32700
    assert pong == PONG
    assert Note.objects.get().key == "k"
