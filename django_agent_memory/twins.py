"""The async form of a verb."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import update_wrapper
from typing import Any, Concatenate, ParamSpec, TypeVar

from asgiref.sync import sync_to_async

_Self = TypeVar("_Self")
_P = ParamSpec("_P")
_R = TypeVar("_R")


def twin(
    verb: Callable[Concatenate[_Self, _P], _R],
) -> Callable[Concatenate[_Self, _P], Coroutine[Any, Any, _R]]:
    """Return the async form of a verb: the whole unit in one thread, its transaction included."""

    async def awaited(self: _Self, /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        result: _R = await sync_to_async(getattr(self, verb.__name__))(*args, **kwargs)
        return result

    update_wrapper(awaited, verb)
    return awaited
