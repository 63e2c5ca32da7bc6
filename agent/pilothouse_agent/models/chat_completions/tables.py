"""What finish reasons and usage fields of chat servers mean. Data, and how to look it up."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal, TypeAlias

from pilothouse_agent.kernel.json_types import JsonValue
from pilothouse_agent.kernel.messages import Usage
from pilothouse_agent.models.http.token_counts import Path, first_count

__all__ = ["ChatEnding", "ending", "stated_cost", "usage_of"]

ChatEnding: TypeAlias = Literal[
    "stop",
    "length",
    "refusal",
    "contentFilter",
    "contextOverflow",
    "serverError",
    "overloaded",
    "toolCallInvalid",
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
    "recitation": "contentFilter",
    "prohibited_content": "contentFilter",
    "blocklist": "contentFilter",
    "spii": "contentFilter",
    "model_context_window_exceeded": "contextOverflow",
    "error": "serverError",
    "abort": "serverError",
    "network_error": "serverError",
    "insufficient_system_resource": "overloaded",
    "function_call_filter": "toolCallInvalid",
    "malformed_function_call": "toolCallInvalid",
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
_LARGEST = 10**9
"""More dollars than any answer costs."""


def ending(reason: str) -> ChatEnding:
    """Plain stops, calls and words not known are `stop`: what came decides (kernel.md L4).

    Some servers add the particulars behind a colon.
    """
    return _ENDINGS.get(reason.lower().partition(":")[0].strip(), "stop")


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


def stated_cost(value: JsonValue) -> Decimal | None:
    """What the server says it charged, in US dollars; None where it does not say all of it."""
    if not isinstance(value, dict):
        return None
    charged = _money(value.get("cost"))
    if charged is None or value.get("is_byok") is not True:
        return charged
    # With a key of the user's own at the maker, the maker's bill is not in what the server charges.
    details = value.get("cost_details")
    makers = _money(details.get("upstream_inference_cost")) if isinstance(details, dict) else None
    return charged + makers if makers is not None else None


def _money(value: JsonValue) -> Decimal | None:
    """The shortest text of a float is the one the server wrote, so no digit is lost or added."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _LARGEST:
        return None
    return Decimal(repr(value))
