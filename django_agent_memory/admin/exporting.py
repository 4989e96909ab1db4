"""A workspace as a file: what all share of it, with its history."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpResponse, StreamingHttpResponse
from django.utils.translation import gettext as _

from django_agent_memory.models import Note
from django_agent_memory.transfer import export_jsonl

from .action_page import ActionPage, file_headers

_CHUNK = 65_536


class ExportPage(ActionPage):
    """One request for the file; who took it is in Django's log."""

    name = "export"
    permissions = ("view_note", "view_revision")

    def respond(self) -> HttpResponse:
        """Return the file, made while it is sent: its size does not matter."""
        lines = export_jsonl(self.workspace.path, using=Note.objects.all().db)
        self.log(_("Exported."), "")
        chunks = _chunks(lines)
        response: HttpResponse = StreamingHttpResponse(  # type: ignore[assignment]
            _asynchronously(chunks) if isinstance(self.request, ASGIRequest) else chunks,
            content_type="application/jsonl; charset=utf-8",
            headers=file_headers(self.workspace, ".jsonl"),
        )
        return response


def _chunks(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines, as many together as make it worth while to send them."""
    chunk = b""
    for line in lines:
        chunk += line
        if len(chunk) >= _CHUNK:
            yield chunk
            chunk = b""
    yield chunk


async def _asynchronously(chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    following = sync_to_async(lambda: next(chunks, None))
    while (chunk := await following()) is not None:
        yield chunk
