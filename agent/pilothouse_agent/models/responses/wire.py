"""The format `openai`: the Responses API, which gives OpenAI's models their thinking back."""

from __future__ import annotations

from pilothouse_agent.models.http.wire_format import WireFormat
from pilothouse_agent.models.responses.request import CONCESSIONS, ResponsesRequests
from pilothouse_agent.models.responses.stream import ORIGIN, ResponsesStream

__all__ = ["responses"]

_CHAT = "openai-chat"


def responses() -> WireFormat:
    return WireFormat(
        paths=("/responses",),
        home="api.openai.com",
        writer=ResponsesRequests(),
        reader=ResponsesStream,
        concessions=CONCESSIONS,
        elsewhere=_elsewhere,
    )


def _elsewhere(name: str) -> str:
    how = f"name the model {_CHAT}/…" if name == ORIGIN else f'set providers.{name}.format to "{_CHAT}"'
    return f"Where a server speaks only Chat Completions, {how}."
