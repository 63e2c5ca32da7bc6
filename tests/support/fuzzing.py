"""Answers that have something of everything, and ways to spoil bodies."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from support.model_server import calls_chunk, chat_body, choice_chunk, finish_chunk, text_chunk
from support.readers import WIRES
from support.recordings import body_of as recorded_body
from support.recordings import cases
from support.typed_events import (
    block,
    call_item,
    completed,
    delta,
    ending,
    item_added,
    item_done,
    message_item,
    start,
    text_delta,
    thinking_item,
    typed_body,
)

__all__ = ["EVENTS", "bodies", "body_of", "mutated"]

CHAT_USAGE = {"prompt_tokens": 3, "prompt_tokens_details": {"cached_tokens": 1}}
USAGE = {
    "input_tokens": 3,
    "input_tokens_details": {"cached_tokens": 1},
    "cache_read_input_tokens": 2,
    "output_tokens": 5,
    "output_tokens_details": {"reasoning_tokens": 1},
}
DETAILS = [{"type": "reasoning.text", "text": "Hm", "index": 0, "signature": "s"}]
CALL = {"index": 0, "id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}

EVENTS: dict[str, list[dict[str, Any]]] = {
    "openai-chat": [
        text_chunk("<think>Hm.</think>Hi", reasoning="x", reasoning_details=DETAILS, refusal="no"),
        text_chunk(
            "", content=[{"type": "thinking", "thinking": [{"text": "x"}]}, {"type": "text", "text": "y"}]
        ),
        calls_chunk(CALL, {**CALL, "index": 1, "id": "c2", "extra_content": {"a": 1}}),
        choice_chunk(delta={"function_call": {"name": "f", "arguments": "{}"}}),
        finish_chunk("tool_calls", usage=CHAT_USAGE, x_groq={"usage": CHAT_USAGE}),
    ],
    "openai": [
        {"type": "response.created", "response": {"model": "m-2"}},
        item_added(thinking_item()),
        text_delta("Hm.", kind="reasoning_summary_text"),
        item_done(thinking_item("Hm.", "So.", sealed="U0VBTA==")),
        item_added(message_item(""), index=1),
        text_delta("Hi 👋", index=1),
        text_delta("No.", index=1, part=1, kind="refusal"),
        item_done(message_item("Hi 👋"), index=1),
        item_added(call_item(), index=2),
        text_delta('{"path"', index=2, kind="function_call_arguments"),
        item_done({**call_item('{"path":"a"}'), "namespace": "n"}, index=2),
        item_done({"type": "custom_tool_call", "call_id": "c2", "name": "p", "input": "x"}, index=3),
        completed(output=[message_item("Hi 👋")], usage=USAGE, incomplete_details={"reason": "x"}),
    ],
    "anthropic": [
        start(usage=USAGE),
        *block({"type": "thinking", "thinking": ""}, delta("thinking", "Hm."), delta("signature", "s")),
        *block({"type": "redacted_thinking", "data": "x"}, index=1),
        *block({"type": "text", "text": ""}, delta("text", "Hi 👋"), index=2),
        *block(
            {"type": "tool_use", "id": "c1", "name": "read", "input": {}}, delta("input_json", "{}"), index=3
        ),
        *block({"type": "server_tool_use", "id": "s1", "input": {}}, delta("input_json", '{"q":1}'), index=4),
        *block({"type": "fallback", "to": {"model": "m-2"}}, index=5),
        *ending("tool_use", usage=USAGE),
    ],
}
"""By wire format of ours."""

DEEP = (b"[" * 1_200, b'{"a":' * 900 + b"1" + b"}" * 900)
NOISE = (
    b"\n",
    b"\n\n",
    b"\r",
    b"{",
    b'"',
    b"}",
    b"]",
    b"\\",
    b":",
    b"data: ",
    b"null",
    b"\xff",
    b"\xed\xa0\x80",
    rb"\ud83d",
    b"1e999",
    *DEEP,
)


def body_of(wire: str, events: list[dict[str, Any]]) -> bytes:
    return chat_body(*events) if wire == "openai-chat" else typed_body(*events)


def bodies(wire: str) -> list[bytes]:
    """All recorded answers of the format, and one of our own."""
    metas = [parameter.values[0] for parameter in cases("stream") if parameter.values[0] is not None]
    recorded = [recorded_body(meta) for meta in metas if WIRES[meta["wire"]] == wire]
    return [body_of(wire, EVENTS[wire]), *recorded]


def mutated(body: bytes, chance: Random) -> bytes:
    """The body with one to four things done to it."""
    for _ in range(chance.randint(1, 4)):
        body = chance.choice(MUTATIONS)(body, chance)
    return body


def _flip(body: bytes, chance: Random) -> bytes:
    at = chance.randint(0, len(body))
    return body[:at] + chance.randbytes(1) + body[at + 1 :]


def _insert(body: bytes, chance: Random) -> bytes:
    at = chance.randint(0, len(body))
    return body[:at] + chance.choice(NOISE) + body[at:]


def _remove(body: bytes, chance: Random) -> bytes:
    at = chance.randint(0, len(body))
    return body[:at] + body[at + chance.randint(1, 40) :]


def _repeat(body: bytes, chance: Random) -> bytes:
    at, size = chance.randint(0, len(body)), chance.randint(1, 300)
    return body[: at + size] + body[at:]


def _cut_off(body: bytes, chance: Random) -> bytes:
    return body[: chance.randint(0, len(body))]


def _shuffle(body: bytes, chance: Random) -> bytes:
    events = body.split(b"\n\n")
    first, second = chance.randrange(len(events)), chance.randrange(len(events))
    events[first], events[second] = events[second], events[first]
    return b"\n\n".join(events)


MUTATIONS: tuple[Callable[[bytes, Random], bytes], ...] = (
    _flip,
    _insert,
    _remove,
    _repeat,
    _cut_off,
    _shuffle,
)
