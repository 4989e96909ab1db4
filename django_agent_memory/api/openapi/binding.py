"""The operations as drf-spectacular wants them: in the site's own schema, and in one of our own.

The site's SPECTACULAR_SETTINGS and hooks apply to the site's schema; ours reads none of them, for
they are one for the whole process. Every name of ours among the components begins with `Memory`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

from django.conf import settings
from drf_spectacular.drainage import warn
from drf_spectacular.generators import EndpointEnumerator, SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ComponentIdentity, ComponentRegistry, ResolvedComponent
from drf_spectacular.settings import spectacular_settings

from django_agent_memory import __version__
from django_agent_memory.api.base import Endpoint

from . import shared
from .components import components
from .operation import Operation
from .operations import operation_of
from .parts import PREFIX, Limits, Schema, current_limits
from .version_3_0 import as_3_0

VERSION = "3.1.0"

_TITLE = "Agent memory"
_DESCRIPTION = (
    "Persistent memory for language-model agents. Every address answers JSON in UTF-8, and every "
    "error is a problem document with a code."
)
_REFERENCE = re.compile(r"#/components/(\w+)/(\w+)")
# The paths of the operations that a document has, by their ids.
_paths: WeakKeyDictionary[ComponentRegistry, dict[str, str]] = WeakKeyDictionary()


class MemoryRegistry(ComponentRegistry):
    """The components of our own document, which is OpenAPI 3.1 whatever the site's is."""


class MemorySchema(AutoSchema):
    """Describes an endpoint of ours by its `Operation`, whatever the site's AutoSchema is."""

    def get_operation(
        self,
        path: str,
        path_regex: str,
        path_prefix: str,
        method: str,
        registry: ComponentRegistry,
    ) -> dict[str, Any] | None:
        """Return the operation, and register what it refers to.

        None for an address without its final slash, which is the same one, and for that of all
        tools, each of which has its own.
        """
        if not path.endswith("/") or path.endswith("{tool}/"):
            return None
        limits = current_limits()
        try:
            found = operation_of(self.view, method.lower(), path, limits)
        except LookupError:
            warn(f"{type(self.view).__name__}: {method} {path} is not described.")
            return None
        if found is None:
            return None
        operation = found.as_openapi(type(self.view), path)
        operation["operationId"] = _unused(found.id, path, registry)
        old = not isinstance(registry, MemoryRegistry) and _site_has_3_0()
        for kind, name, component in _needed(found, operation, limits):
            shape = as_3_0(component) if old else component
            identity = ComponentIdentity(f"{__name__}.{name}")
            registry.register_on_missing(ResolvedComponent(name, kind, shape, identity))
        return as_3_0(operation) if old else operation


class MemoryEndpoints(EndpointEnumerator):
    """The addresses in their order, without the site's hooks."""

    def get_api_endpoints(self, patterns: Any = None, prefix: str = "") -> list[Any]:
        """Return path, regular expression, method and callback of each."""
        return list(self._get_api_endpoints(patterns, prefix))


class MemoryGenerator(SchemaGenerator):
    """Generates the document of the memory alone, the same for every caller; it has no servers."""

    endpoint_inspector_cls = MemoryEndpoints

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.coerce_path_pk = True
        self.registry = MemoryRegistry()

    def get_schema(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Return the document; a request makes no difference."""
        self._initialise_endpoints()
        paths: dict[str, Any] = {}
        for path, path_regex, method, view in self._get_paths_and_endpoints():
            operation = view.schema.get_operation(path, path_regex, "^/", method, self.registry)
            if operation is not None:
                paths.setdefault(path, {})[method.lower()] = operation
        return {
            "openapi": VERSION,
            "info": {"title": _TITLE, "version": __version__, "description": _DESCRIPTION},
            "paths": paths,
            "components": self.registry.build({}),
        }


def _site_has_3_0() -> bool:
    return str(spectacular_settings.OAS_VERSION).startswith("3.0")


def _unused(name: str, path: str, registry: ComponentRegistry) -> str:
    """Return the operation's id, with a number where the memory is mounted more than once."""
    taken = _paths.setdefault(registry, {})
    unused, count = name, 1
    while taken.setdefault(unused, path) != path:
        count += 1
        unused = f"{name}_{count}"
    return unused


def _needed(
    found: Operation, operation: dict[str, Any], limits: Limits
) -> Iterator[tuple[str, str, Schema]]:
    """Yield kind, name and component of all that the operation refers to, and so on."""
    library = _library(limits, settings.SESSION_COOKIE_NAME, settings.CSRF_HEADER_NAME)
    library = {**library, "schemas": {**library["schemas"], **found.own_components()}}
    seen = set()
    left = [*_REFERENCE.findall(repr(operation))]
    left += [("securitySchemes", name) for way in operation["security"] for name in way]
    while left:
        kind, name = left.pop()
        if (kind, name) not in seen:
            seen.add((kind, name))
            component = library[kind][name]
            left += _REFERENCE.findall(repr(component))
            yield kind, name, component


@lru_cache(maxsize=8)
def _library(limits: Limits, cookie: str, csrf_header: str) -> dict[str, dict[str, Schema]]:
    schemas = {f"{PREFIX}{name}": schema for name, schema in components(limits).items()}
    return {
        "schemas": schemas,
        "responses": shared.responses(),
        "headers": shared.headers(),
        "securitySchemes": shared.credentials(cookie, csrf_header),
    }


Endpoint.schema = MemorySchema()
