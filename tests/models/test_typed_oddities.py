"""Messages and Responses answers of servers that keep to the format only roughly, however they are cut."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.asking import Seen, seen
from support.readers import reader_for
from support.typed_events import (
    answer,
    block,
    call_item,
    completed,
    delta,
    ending,
    item_added,
    item_done,
    message,
    message_item,
    start,
    text_delta,
    thinking_item,
    typed_body,
)

Event = dict[str, Any]

A, B = '{"path":"a"}', '{"path":"b"}'
ONE = Seen(calls=(("c1", "read", A),), end="toolUse")
TWO = Seen(calls=(("c1", "read", A), ("c2", "read", B)), end="toolUse")
TEXT, THINKING = {"type": "text", "text": ""}, {"type": "thinking", "thinking": ""}
HI = block(TEXT, delta("text", "Hi"))
OVERLOADED: Event = {"type": "error", "error": {"type": "overloaded_error", "message": "x"}}


def _use(call_id: str) -> Event:
    return {"type": "tool_use", "id": call_id, "name": "read", "input": {}}


def _numbered(events: list[Event], index: Any) -> list[Event]:
    return [{**event, "index": index} for event in events]


def _without(event: Event, *fields: str) -> Event:
    return {name: value for name, value in event.items() if name not in fields}


def _more(text: str, index: int = 0) -> Event:
    return text_delta(text, index=index, kind="function_call_arguments")


FIRST = [*block(_use("c1"), delta("input_json", A), stopped=False)]
SECOND = [*block(_use("c2"), delta("input_json", B), stopped=False)]
C1, C2 = call_item(A), call_item(B, "c2", identity="fc_2")

MESSAGES = {
    "indexes as texts": (
        message(*_numbered(FIRST[:1], "0"), *_numbered(SECOND, "1"), *_numbered(FIRST[1:], "0")),
        TWO,
    ),
    "thinking in a block of text": (
        message(*block(TEXT, delta("thinking", "Hm."), delta("text", "Hi"))),
        Seen("Hi", "Hm."),
    ),
    "text in a block of thinking": (
        message(*block(THINKING, delta("thinking", "Hm."), delta("signature", "s"), delta("text", "Hi"))),
        Seen("Hi", "Hm."),
    ),
    "arguments as an object": (
        message(*block(_use("c1"), {"type": "input_json_delta", "partial_json": {"path": "a"}})),
        ONE,
    ),
    "W58 the start twice, once without an id": (
        typed_body(start(), {"type": "message_start", "message": {}}, *HI, *ending()),
        Seen("Hi"),
    ),
    "a stop reason of another format": (message(*HI, stop="length"), Seen("Hi", end="length")),
    "the whole message in one event": (
        typed_body({"type": "message", "role": "assistant", "content": [{"type": "text", "text": "Hi"}],
                    "stop_reason": "end_turn"}),
        Seen("Hi"),
    ),
    "an error on a bare line": (
        typed_body(start(), *HI) + json.dumps(OVERLOADED).encode() + b"\n",
        Seen("Hi", end="overloaded"),
    ),
    "W52 an error of another server": (
        typed_body(start(), {"object": "error", "message": "x", "code": 400}),
        Seen(end="invalidRequest"),
    ),
    "a detail, and no more": (typed_body(start(), {"detail": "Not authenticated"}), Seen(end="auth")),
}  # fmt: skip

RESPONSES = {
    "W61 another order and other ids at the end": (
        answer(
            text_delta("Hi"),
            text_delta("Hm.", index=1, kind="reasoning_summary_text"),
            output=[thinking_item("Hm.", identity="rs_9"), message_item("Hi", "msg_9")],
        ),
        Seen("Hi", "Hm."),
    ),
    "thinking left out at the end, other ids": (
        answer(
            item_done(thinking_item("Hm.")),
            item_added(message_item(""), index=1),
            text_delta("Hi", index=1),
            item_done(message_item("Hi"), index=1),
            output=[message_item("Hi", "msg_9")],
        ),
        Seen("Hi", "Hm."),
    ),
    "W61 a call under another id and place at the end": (
        answer(item_added(call_item(), index=1), _more(A, 1), output=[call_item(A, identity="fc_9")]),
        ONE,
    ),
    "W61 no indexes": (
        answer(
            *(
                _without(event, "output_index")
                for event in (item_added(C1), item_added(C2), {**_more(B), "item_id": "fc_2"},
                              {**_more(A), "item_id": "fc_1"}, item_done(C1), item_done(C2))
            )
        ),
        Seen(calls=(("c1", "read", A), ("c2", "read", B)), end="toolUse"),
    ),
    "neither indexes nor ids": (
        answer(
            *(
                _without(event, "output_index", "item_id")
                for event in (item_added(_without(call_item(), "id")), _more(A),
                              item_added(_without(call_item("", "c2"), "id")), _more(B))
            )
        ),
        TWO,
    ),
    "one index for all": (
        answer(
            text_delta("Hi"),
            item_added(call_item()), {**_more(A), "item_id": "fc_1"}, item_done(C1),
            item_added(call_item("", "c2", identity="fc_2")), {**_more(B), "item_id": "fc_2"}, item_done(C2),
            output=[message_item("Hi"), C1, C2],
        ),
        Seen("Hi", calls=TWO.calls, end="toolUse"),
    ),
    "W60 arguments only at the beginning": (answer(item_added(C1)), ONE),
    "text only in the part that is done": (
        answer({"type": "response.content_part.done", "output_index": 0, "content_index": 0,
                "part": {"type": "output_text", "text": "Hi"}}),
        Seen("Hi"),
    ),
    "the end under another name": (
        typed_body(text_delta("Hi"), completed() | {"type": "response.done"}),
        Seen("Hi"),
    ),
    "incomplete by its type alone": (
        typed_body(
            text_delta("Hi"),
            completed(incomplete_details={"reason": "max_output_tokens"}) | {"type": "response.incomplete"},
        ),
        Seen("Hi", end="length"),
    ),
    "the whole response in one event": (
        typed_body({"object": "response", "status": "completed", "output": [message_item("Hi")]}),
        Seen("Hi"),
    ),
    "an error under another name": (
        typed_body({"type": "response.error", "error": {"code": "rate_limit_exceeded"}}),
        Seen(end="rateLimit"),
    ),
    "an error under a name of its own": (
        typed_body({"type": "stream_error", "error": {"code": "server_error"}}),
        Seen(end="serverError"),
    ),
    "a detail, and no more": (typed_body({"detail": "Unauthorized"}), Seen(end="auth")),
}  # fmt: skip

EVERY = {("anthropic", name): case for name, case in MESSAGES.items()} | {
    ("openai", name): case for name, case in RESPONSES.items()
}


@pytest.mark.covers("R097", "R098", "K73", "K74")
@pytest.mark.parametrize("size", [None, 1, 7], ids=["whole", "1", "7"])
@pytest.mark.parametrize(("wire", "name"), EVERY)
def test_what_was_meant_comes_out_however_it_is_put_and_cut(wire: str, name: str, size: int | None) -> None:
    body, outcome = EVERY[wire, name]
    reader, step = reader_for(wire), size or len(body)
    pieces = [body[at : at + step] for at in range(0, len(body), step)]
    assert seen([*(event for piece in pieces for event in reader.feed(piece)), *reader.end()]) == outcome
