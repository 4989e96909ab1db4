"""What a client may put into a context by itself: the index, and any note by its key."""

from __future__ import annotations

from urllib.parse import unquote_to_bytes

from django_agent_memory.exceptions import NotAllowed
from django_agent_memory.results import Unknown
from django_agent_memory.text import rendering
from django_agent_memory.tools import TOOLS

from .principal import Principal
from .wire import INVALID_PARAMS, RESOURCE_NOT_FOUND, Json, ProtocolError, check_cursor, text_of

_FOR_MODELS = {"audience": ["assistant"], "priority": 1.0}
_TEXT, _JSON = "text/plain", "application/json"


def list_resources(params: Json, principal: Principal) -> Json:
    """Answer `resources/list`: the index; notes are too many for a list."""
    check_cursor(params)
    index: Json = {
        "uri": _uri(principal, "index"),
        "name": "index",
        "title": "Memory index",
        "description": "One line for each memory: its key and summary. For every turn.",
        "mimeType": _TEXT,
        "annotations": _FOR_MODELS,
    }
    return {"resources": [index]}


def list_templates(params: Json, principal: Principal) -> Json:
    """Answer `resources/templates/list`: notes, for whoever may recall them."""
    check_cursor(params)
    if TOOLS["recall"] not in principal.tools():
        return {"resourceTemplates": []}
    notes: Json = {
        "uriTemplate": notes_template(principal),
        "name": "notes",
        "title": "Memories",
        "description": "The whole memory under a key, as it was saved.",
    }
    return {"resourceTemplates": [notes]}


def notes_template(principal: Principal) -> str:
    """Return the template of the notes of the caller's workspace."""
    return _uri(principal, "notes/{+key}")


def read_resource(params: Json, principal: Principal) -> Json:
    """Answer `resources/read`. What is not the caller's is as what does not exist."""
    uri = text_of(params, "uri")
    if uri == _uri(principal, "index"):
        return _contents(uri, _TEXT, principal.memory.index_note())
    notes = _uri(principal, "notes/")
    if not uri.startswith(notes):
        raise _not_found(uri, "There is no such resource; resources/list shows what there is.")
    key = _key(uri.removeprefix(notes))
    try:
        memory = principal.memory_for(TOOLS["recall"])
    except NotAllowed as error:
        raise _not_found(uri, str(error)) from error
    note = memory.lookup(key)
    if isinstance(note, Unknown):
        raise _not_found(uri, rendering.unknown_key(key, note.suggestions))
    return _contents(uri, _TEXT if isinstance(note.body, str) else _JSON, note.text)


def _key(quoted: str) -> str:
    """Return the key that a URI names, its escapes undone."""
    try:
        return unquote_to_bytes(quoted).decode()
    except UnicodeError:
        raise ProtocolError(INVALID_PARAMS, "The key in the URI is not UTF-8.") from None


def _uri(principal: Principal, rest: str) -> str:
    return f"memory://{principal.memory.path}/{rest}"


def _contents(uri: str, kind: str, text: str) -> Json:
    return {"contents": [{"uri": uri, "mimeType": kind, "text": text}]}


def _not_found(uri: str, sentence: str) -> ProtocolError:
    return ProtocolError(INVALID_PARAMS, sentence, data={"uri": uri}, before=RESOURCE_NOT_FOUND)
