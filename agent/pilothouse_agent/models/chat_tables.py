"""What finish reasons and usage fields of chat servers mean. Data, and how to look it up."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pilothouse_agent.kernel.json_types import JsonObject, JsonValue
from pilothouse_agent.kernel.messages import Usage

__all__ = ["ChatEnding", "ending", "usage_of"]

ChatEnding: TypeAlias = Literal[
    "stop", "length", "refusal", "contentFilter", "contextOverflow", "serverError", "overloaded"
]

_ENDINGS: dict[str, ChatEnding] = {
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "max_output_tokens": "length",
    "refusal": "refusal",
    "content_filter": "contentFilter",
    "safety": "contentFilter",
    "sensitive": "contentFilter",
    "model_context_window_exceeded": "contextOverflow",
    "error": "serverError",
    "abort": "serverError",
    "network_error": "serverError",
    "insufficient_system_resource": "overloaded",
}

_INPUT = (("prompt_tokens",), ("input_tokens",))
_OUTPUT = (("completion_tokens",), ("output_tokens",))
_CACHE_READ = (
    ("prompt_tokens_details", "cached_tokens"),
    ("prompt_cache_hit_tokens",),
    ("cached_tokens",),
)
_CACHE_WRITE = (("prompt_tokens_details", "cache_write_tokens"),)
_REASONING = (("completion_tokens_details", "reasoning_tokens"),)


def ending(reason: str) -> ChatEnding:
    """Plain stops, calls and words not known are `stop`: what came decides (kernel.md L4)."""
    return _ENDINGS.get(reason.lower(), "stop")


def usage_of(value: JsonValue) -> Usage | None:
    """None when nothing in it can be used."""
    if not isinstance(value, dict):
        return None
    usage = Usage(
        input=_first(value, _INPUT),
        output=_first(value, _OUTPUT),
        cache_read=_first(value, _CACHE_READ),
        cache_write=_first(value, _CACHE_WRITE),
        reasoning=_first(value, _REASONING),
    )
    return usage if usage != Usage() else None


def _first(value: JsonObject, paths: tuple[tuple[str, ...], ...]) -> int | None:
    found = (_at(value, path) for path in paths)
    return next((number for number in found if number is not None), None)


def _at(value: JsonValue, path: tuple[str, ...]) -> int | None:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
