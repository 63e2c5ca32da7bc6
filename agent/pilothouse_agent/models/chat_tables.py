"""What finish reasons and usage fields of chat servers mean. Data, and how to look it up."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pilothouse_agent.kernel.json_types import JsonValue
from pilothouse_agent.kernel.messages import Usage
from pilothouse_agent.models.token_counts import Path, first_count

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

_INPUT: tuple[Path, ...] = (("prompt_tokens",), ("input_tokens",))
_OUTPUT: tuple[Path, ...] = (("completion_tokens",), ("output_tokens",))
_CACHE_READ: tuple[Path, ...] = (
    ("prompt_tokens_details", "cached_tokens"),
    ("prompt_cache_hit_tokens",),
    ("cached_tokens",),
)
_CACHE_WRITE: Path = ("prompt_tokens_details", "cache_write_tokens")
_REASONING: Path = ("completion_tokens_details", "reasoning_tokens")


def ending(reason: str) -> ChatEnding:
    """Plain stops, calls and words not known are `stop`: what came decides (kernel.md L4)."""
    return _ENDINGS.get(reason.lower(), "stop")


def usage_of(value: JsonValue) -> Usage | None:
    """None when nothing in it can be used."""
    if not isinstance(value, dict):
        return None
    usage = Usage(
        input=first_count(value, *_INPUT),
        output=first_count(value, *_OUTPUT),
        cache_read=first_count(value, *_CACHE_READ),
        cache_write=first_count(value, _CACHE_WRITE),
        reasoning=first_count(value, _REASONING),
    )
    return usage if usage != Usage() else None
