"""Answers in the two formats whose events have types, put together from small parts."""

from __future__ import annotations

import json
from typing import Any

__all__ = [
    "answer",
    "block",
    "call_item",
    "completed",
    "delta",
    "ending",
    "item_added",
    "item_done",
    "message",
    "message_item",
    "start",
    "text_delta",
    "thinking_item",
    "typed_body",
]

Event = dict[str, Any]


def typed_body(*events: Event) -> bytes:
    """The events as a server sends them, each under its type."""
    return b"".join(
        f"event: {event.get('type', 'x')}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n".encode()
        for event in events
    )


def answer(*events: Event, **response: Any) -> bytes:
    """Responses: a whole answer, begun and completed; `response` goes into the last event."""
    created = {"type": "response.created", "response": {"model": "m", "status": "in_progress"}}
    return typed_body(created, *events, completed(**response))


def completed(status: str = "completed", **response: Any) -> Event:
    return {
        "type": f"response.{status}",
        "response": {"model": "m", "status": status, "output": [], **response},
    }


def text_delta(text: str, *, index: int = 0, part: int = 0, kind: str = "output_text") -> Event:
    """Also for refusals, thinking and arguments, by their `kind`."""
    place = {"output_index": index, "content_index": part, "summary_index": part}
    return {"type": f"response.{kind}.delta", "item_id": f"i{index}", "delta": text, **place}


def item_added(item: Event, *, index: int = 0) -> Event:
    return {"type": "response.output_item.added", "output_index": index, "item": item}


def item_done(item: Event, *, index: int = 0) -> Event:
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def message_item(text: str, identity: str = "msg_1") -> Event:
    content: list[Event] = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": identity, "role": "assistant", "content": content}


def call_item(arguments: Any = "", call_id: str = "c1", name: str = "read", identity: str = "fc_1") -> Event:
    return {"type": "function_call", "id": identity, "call_id": call_id, "name": name, "arguments": arguments}


def thinking_item(*summary: str, sealed: str | None = None, identity: str = "rs_1") -> Event:
    parts = [{"type": "summary_text", "text": text} for text in summary]
    return {"type": "reasoning", "id": identity, "summary": parts, "encrypted_content": sealed}


def message(*events: Event, stop: str | None = "end_turn", usage: Event | None = None) -> bytes:
    """Messages: a whole answer, begun and ended."""
    return typed_body(start(), *events, *ending(stop, usage=usage))


def start(identity: str = "msg_1", usage: Event | None = None) -> Event:
    about: Event = {"id": identity, "type": "message", "role": "assistant", "model": "m", "content": []}
    return {"type": "message_start", "message": {**about, **({"usage": usage} if usage else {})}}


def block(content: Event, *deltas: Event, index: int = 0, stopped: bool = True) -> list[Event]:
    """A block from its start over deltas to its stop."""
    started = {"type": "content_block_start", "index": index, "content_block": content}
    more = [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
    return [started, *more, *([{"type": "content_block_stop", "index": index}] if stopped else [])]


def delta(kind: str, text: str) -> Event:
    """Of the kind text, thinking, signature or input_json."""
    field = {"input_json": "partial_json"}.get(kind, kind)
    return {"type": f"{kind}_delta", field: text}


def ending(stop: str | None = "end_turn", usage: Event | None = None) -> list[Event]:
    last = {"type": "message_delta", "delta": {"stop_reason": stop}, **({"usage": usage} if usage else {})}
    return [last, {"type": "message_stop"}]
