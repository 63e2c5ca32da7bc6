"""One long text as the events of the two formats that name theirs, with all that providers put beside it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TypeAlias

__all__ = ["messages_events", "responses_events"]

Json: TypeAlias = dict[str, Any]

_ITEM = "msg_68a6f1a2b3c48190a5d2e7f60b1c9d3e08f4a1b2c3d4e5f6"
_RESPONSE: Json = {
    "id": "resp_68a6f1a1c0e88190b4d3f2a1908e7c6d08f4a1b2c3d4e5f6",
    "object": "response",
    "created_at": 1755771297,
    "model": "benchmark",
    "parallel_tool_calls": True,
    "store": False,
}


def responses_events(texts: Sequence[str]) -> list[bytes]:
    """Of the Responses API: the whole text comes once more at the end of its part, item and answer."""
    text = "".join(texts)
    part: Json = {"item_id": _ITEM, **_PLACE}
    empty: Json = {"type": "output_text", "annotations": [], "text": ""}
    whole = {**empty, "text": text}
    item = {"id": _ITEM, "type": "message", "role": "assistant"}
    ended: Json = {**item, "status": "completed", "content": [whole]}
    events: list[tuple[str, Json]] = [
        ("response.created", {"response": {**_RESPONSE, "status": "in_progress", "output": []}}),
        ("response.in_progress", {"response": {**_RESPONSE, "status": "in_progress", "output": []}}),
        ("response.output_item.added", {"output_index": 0, "item": {**item, "content": []}}),
        ("response.content_part.added", {**part, "part": empty}),
        *(("response.output_text.delta", {**part, "delta": delta, **_BESIDE}) for delta in texts),
        ("response.output_text.done", {**part, "text": text}),
        ("response.content_part.done", {**part, "part": whole}),
        ("response.output_item.done", {"output_index": 0, "item": ended}),
        (
            "response.completed",
            {"response": {**_RESPONSE, "status": "completed", "output": [ended], "usage": _USAGE}},
        ),
    ]
    return [
        _event(kind, {"type": kind, "sequence_number": number, **fields})
        for number, (kind, fields) in enumerate(events)
    ]


def messages_events(texts: Sequence[str]) -> list[bytes]:
    """Of the Messages API."""
    message: Json = {
        "id": "msg_01XFDUDYJgAACzvnptvVoYEL",
        "type": "message",
        "role": "assistant",
        "model": "benchmark",
        "content": [],
        "stop_reason": None,
        "usage": _USAGE,
    }
    deltas = ({"index": 0, "delta": {"type": "text_delta", "text": text}} for text in texts)
    events: list[tuple[str, Json]] = [
        ("message_start", {"message": message}),
        ("content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}),
        ("ping", {}),
        *(("content_block_delta", delta) for delta in deltas),
        ("content_block_stop", {"index": 0}),
        ("message_delta", {"delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 60}}),
        ("message_stop", {}),
    ]
    return [_event(kind, {"type": kind, **fields}) for kind, fields in events]


_PLACE: Json = {"output_index": 0, "content_index": 0}
_BESIDE: Json = {"logprobs": [], "obfuscation": "Xh3kQ9"}
_USAGE: Json = {"input_tokens": 1200, "output_tokens": 60}


def _event(kind: str, fields: Json) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), json.dumps(fields, separators=(",", ":")).encode())
