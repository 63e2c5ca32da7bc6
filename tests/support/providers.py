"""A registry whose providers are all on loopback servers, with settings as a user would write them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

from pilothouse_agent.models.choosing.registry import ModelRegistry, default_registry
from pilothouse_agent.models.http.timeouts import Timeouts

__all__ = ["Settings", "registry"]

Settings: TypeAlias = dict[str, Any]


@asynccontextmanager
async def registry(
    settings: Settings | None = None,
    environment: Mapping[str, str] | None = None,
) -> AsyncGenerator[ModelRegistry]:
    models = default_registry(environment or {}, timeouts=Timeouts(4, 4), settings=settings or {})
    try:
        yield models
    finally:
        await models.aclose()
