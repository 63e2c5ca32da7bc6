"""The format `anthropic`: the Messages API, of Anthropic and of servers compatible with it."""

from __future__ import annotations

from pilothouse_agent.models.http.wire_format import WireFormat
from pilothouse_agent.models.messages.request import CONCESSIONS, AnthropicRequests
from pilothouse_agent.models.messages.stream import AnthropicStream

__all__ = ["messages"]

_VERSION = "2023-06-01"


def messages() -> WireFormat:
    return WireFormat(
        paths=("/v1/messages", "/v1"),
        home="api.anthropic.com",
        writer=AnthropicRequests(),
        reader=AnthropicStream,
        concessions=CONCESSIONS,
        headers=_headers,
    )


def _headers(key: str) -> dict[str, str]:
    return {"anthropic-version": _VERSION, **({"x-api-key": key} if key else {})}
