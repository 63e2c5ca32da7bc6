"""Marks for the prompt cache of Anthropic's models, in chat requests that a router passes on to them."""

from __future__ import annotations

from collections.abc import Sequence

from pilothouse_agent.kernel.json_types import JsonObject, JsonValue
from pilothouse_agent.models.wire_json import decode, encode

__all__ = ["marked", "turn_ends"]

_MARK: JsonObject = {"type": "ephemeral"}
_MARKED_TURNS = 2


def turn_ends(roles: Sequence[str]) -> list[int]:
    """Where the last turns of the user's side end: each request finds the mark of the one before."""
    ends: list[int] = []
    for index in range(len(roles) - 1, -1, -1):
        follows = roles[index + 1] if index + 1 < len(roles) else "assistant"
        if follows == "assistant" and roles[index] != "assistant":
            ends.append(index)
            if len(ends) == _MARKED_TURNS:
                break
    return ends


def marked(line: bytes) -> bytes:
    """A message with a mark on the last text of it, which only a list of parts can hold."""
    message = decode(line)
    if not isinstance(message, dict):
        return line
    content = message.get("content")
    parts: list[JsonValue] = content if isinstance(content, list) else [{"type": "text", "text": content}]
    last = next((part for part in reversed(parts) if isinstance(part, dict) and part.get("text")), None)
    if last is None:
        return line
    last["cache_control"] = _MARK
    return encode({**message, "content": parts})
