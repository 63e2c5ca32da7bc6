"""Responses answers as servers really send them; cuts never change the outcome."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pilothouse_agent.kernel.messages import ErrorInfo, Usage
from pilothouse_agent.kernel.request import Delta, Failed, Finished, ThinkingData, ToolExtra, ToolSpec
from pilothouse_agent.models.responses.request import ResponsesRequests
from support.asking import MakeProvider, Seen, ask, failure, model_request, seen
from support.model_server import Answer, ModelServer
from support.readers import reader_for
from support.typed_events import (
    answer,
    call_item,
    completed,
    item_added,
    item_done,
    message_item,
    text_delta,
    thinking_item,
    typed_body,
)

MODEL = "openai/m"
A, B = '{"path":"a"}', '{"path":"b"}'
HI = text_delta("Hi")
SUMMARY, THOUGHT = "reasoning_summary_text", "reasoning_text"
ARGUMENTS = "function_call_arguments"
COUNTED = {
    "input_tokens": 10,
    "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 3},
    "output_tokens": 5,
    "output_tokens_details": {"reasoning_tokens": 2},
}


def _more(text: str, index: int = 0) -> dict[str, Any]:
    return text_delta(text, index=index, kind=ARGUMENTS)


def _done(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}.done", "output_index": 0, **fields}


def _custom(text: str) -> dict[str, Any]:
    return {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c1", "name": "patch", "input": text}


TEXTS = {
    "deltas": (answer(text_delta("Hello, "), text_delta("wörld 👋")), Seen("Hello, wörld 👋")),
    "W60 the text only when it is done": (
        answer(_done("output_text", content_index=0, text="Hi")),
        Seen("Hi"),
    ),
    "W60 the item only when it is done": (answer(item_done(message_item("Hi"))), Seen("Hi")),
    "W60 only the last event": (answer(output=[message_item("Hi")]), Seen("Hi")),
    "W60 all of it again and again": (
        answer(
            HI,
            _done("output_text", content_index=0, text="Hi"),
            item_done(message_item("Hi")),
            output=[message_item("Hi")],
        ),
        Seen("Hi"),
    ),
    "deltas lost on the way": (answer(HI, item_done(message_item("Hi there"))), Seen("Hi there")),
    "W60 a last event without output": (answer(HI, output=[]), Seen("Hi")),
    "two messages": (answer(text_delta("a"), text_delta("b", index=1)), Seen("ab")),
    "two parts": (answer(text_delta("a"), text_delta("b", part=1)), Seen("ab")),
    "W61 other ids in each event": (
        answer(
            item_added({**message_item(""), "id": "x1"}),
            HI,
            item_done(message_item("Hi", "x2")),
            output=[message_item("Hi", "x3")],
        ),
        Seen("Hi"),
    ),
    "events without an index": (
        answer(
            {"type": "response.output_item.added", "item": message_item("", "i7")},
            {"type": "response.output_text.delta", "item_id": "i7", "delta": "Hi"},
        ),
        Seen("Hi"),
    ),
    "W66 events and items that nobody knows": (
        answer(
            {"type": "keepalive"},
            {"type": "codex.rate_limits"},
            item_added({"type": "brand_new"}),
            item_done({"type": "brand_new"}),
            text_delta("Hi", index=1),
        ),
        Seen("Hi"),
    ),
    "W41 a surrogate pair over two deltas": (
        answer(text_delta("ok X"), text_delta("Y!")).replace(b"X", rb"\ud83d").replace(b"Y", rb"\ude00"),
        Seen("ok 😀!"),
    ),
    "W41 half a surrogate pair": (answer(text_delta("a X")).replace(b"X", rb"\ud83d"), Seen("a \ufffd")),
    "W40 refusal": (
        answer(text_delta("I ", kind="refusal"), text_delta("cannot.", kind="refusal")),
        Seen("I cannot.", end="refusal"),
    ),
    "W40 refusal in the last event": (
        answer(output=[{"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}]),
        Seen("No.", end="refusal"),
    ),
    "values of other types": (
        answer(text_delta(None), HI, item_done([]), item_done(message_item([]))),  # type: ignore[arg-type]
        Seen("Hi"),
    ),
}

THINKING = {
    "W62 summary": (answer(text_delta("Hm.", kind=SUMMARY), text_delta("Yes", index=1)), Seen("Yes", "Hm.")),
    "W62 summary in parts": (
        answer(text_delta("A", kind=SUMMARY), text_delta("B", kind=SUMMARY, part=1)),
        Seen("", "A\n\nB"),
    ),
    "summary only when it is done": (
        answer(_done(SUMMARY, summary_index=0, text="Hm.")),
        Seen("", "Hm."),
    ),
    "W62 raw thinking": (
        answer(text_delta("Hm", kind=THOUGHT), text_delta(".", kind=THOUGHT)),
        Seen("", "Hm."),
    ),
    "raw thinking only when it is done": (
        answer(_done(THOUGHT, content_index=0, text="Hm.")),
        Seen("", "Hm."),
    ),
    "W62 only in the item": (answer(item_done(thinking_item("A", "B"))), Seen("", "A\n\nB")),
    "before and after text": (
        answer(
            text_delta("A", kind=THOUGHT), text_delta("x", index=1), text_delta("B", index=2, kind=THOUGHT)
        ),
        Seen("x", "AB"),
    ),
}

ONE = Seen(calls=(("c1", "read", A),), end="toolUse")
TWO = Seen(calls=(("c1", "read", A), ("c2", "read", B)), end="toolUse")
CALLS = {
    "in fragments": (
        answer(item_added(call_item()), _more('{"path'), _more('":"a"}'), item_done(call_item(A))),
        ONE,
    ),
    "W60 arguments only when they are done": (
        answer(item_added(call_item()), _done(ARGUMENTS, arguments=A), item_done(call_item(A))),
        ONE,
    ),
    "W60 only the item": (answer(item_done(call_item(A))), ONE),
    "W60 the call only in the last event": (answer(output=[call_item(A)]), ONE),
    "all of it, and the last event again": (
        answer(item_added(call_item()), _more(A), item_done(call_item(A)), output=[call_item(A)]),
        ONE,
    ),
    "arguments lost on the way": (
        answer(item_added(call_item()), _more('{"path'), item_done(call_item(A))),
        ONE,
    ),
    "arguments of which the middle was lost": (
        answer(item_added(call_item()), _more('{"pa'), _more('a"}'), item_done(call_item(A))),
        ONE,
    ),
    "arguments that only the last event has as they are": (
        answer(item_added(call_item()), _more('{"pa'), _more('a"}'), output=[call_item(A)]),
        ONE,
    ),
    "arguments of another call than that which was done": (
        answer(item_added(call_item()), _more(B), _done(ARGUMENTS, arguments=A), item_done(call_item(A))),
        ONE,
    ),
    "W61 interleaved": (
        answer(
            item_added(call_item()),
            item_added(call_item("", "c2", identity="fc_2"), index=1),
            _more(B, 1),
            _more(A),
        ),
        TWO,
    ),
    "id and name late": (
        answer(item_added(call_item("", "", "")), _more('{"path'), _more('":"a"}'), item_done(call_item(A))),
        ONE,
    ),
    "W43 a word for all functions before the name": (
        answer(item_done(call_item(A, name="functions.read"))),
        ONE,
    ),
    "W25 without id": (answer(item_done(call_item(A, ""))), Seen(calls=(("", "read", A),), end="toolUse")),
    "never done": (answer(_more(A)), Seen(calls=(("", "", A),), end="toolUse")),
    "W26 no arguments": (
        answer(item_done(call_item("", name="now"))),
        Seen(calls=(("c1", "now", ""),), end="toolUse"),
    ),
    "W26 arguments null": (
        answer(item_done(call_item(None))),
        Seen(calls=(("c1", "read", ""),), end="toolUse"),
    ),
    "W27 arguments an object": (answer(item_done(call_item({"path": "a"}))), ONE),
    "W67 free text": (
        answer(
            item_added(_custom("")),
            text_delta("*** Begin", kind="custom_tool_call_input"),
            item_done(_custom("*** Begin Patch")),
        ),
        Seen(calls=(("c1", "patch", "*** Begin Patch"),), end="toolUse"),
    ),
    "text before": (answer(HI, item_done(call_item(A), index=1)), ONE._replace(text="Hi")),
    "W63 cut by the limit": (
        typed_body(
            item_added(call_item()),
            _more('{"pa'),
            completed("incomplete", incomplete_details={"reason": "max_output_tokens"}),
        ),
        Seen(calls=(("c1", "read", '{"pa'),), end="length"),
    ),
    "W65 cut by the end": (
        typed_body(item_added(call_item()), _more(A)),
        Seen(calls=(("c1", "read", A),), end="incompleteStream"),
    ),
}


def _incomplete(reason: Any, *events: Any) -> bytes:
    details = {"reason": reason} if reason else None
    return typed_body(*events, completed("incomplete", incomplete_details=details))


def _failed(**error: Any) -> dict[str, Any]:
    return completed("failed", error=error)


ENDS = {
    "W63 length": (_incomplete("max_output_tokens", HI), Seen("Hi", end="length")),
    "W63 filtered after text": (_incomplete("content_filter", HI), Seen("Hi", end="refusal")),
    "W63 filtered at once": (_incomplete("content_filter"), Seen(end="contentFilter")),
    "incomplete for a reason nobody knows": (_incomplete("new", HI), Seen("Hi")),
    "incomplete for no reason": (_incomplete(None, HI), Seen("Hi")),
    "usage": (
        answer(HI, usage=COUNTED),
        Seen("Hi", usage=Usage(input=10, output=5, cache_read=4, cache_write=3, reasoning=2)),
    ),
    "W36 usage null": (answer(HI, usage=None), Seen("Hi")),
    "usage that is no number": (answer(HI, usage={"input_tokens": "10"}), Seen("Hi")),
    "W65 no last event": (typed_body(HI), Seen("Hi", end="incompleteStream")),
    "W15 nothing": (b"", Seen(end="incompleteStream")),
    "W15 only DONE": (b"data: [DONE]\n\n", Seen(end="incompleteStream")),
    "DONE before the last event": (typed_body(HI) + b"data: [DONE]\n\n", Seen("Hi", end="incompleteStream")),
    "data after DONE": (
        typed_body(HI) + b"data: [DONE]\n\n" + answer(text_delta("!", index=1)),
        Seen("Hi", end="incompleteStream"),
    ),
    "a vague error before a precise end": (
        typed_body(HI, {"type": "error", "message": "x"}, _failed(code="rate_limit_exceeded", message="y")),
        Seen("Hi", end="rateLimit"),
    ),
    "W64 failed": (typed_body(HI, _failed(code="server_error", message="x")), Seen("Hi", end="serverError")),
    "W64 W168 failed for its size": (
        typed_body(_failed(code="context_length_exceeded", message="x")),
        Seen(end="contextOverflow"),
    ),
    "failed without a word": (typed_body(completed("failed", error=None)), Seen(end="serverError")),
    "cancelled": (typed_body(HI, completed("cancelled")), Seen("Hi", end="serverError")),
    "W64 error, flat": (
        typed_body(HI, {"type": "error", "code": "server_error", "message": "x"}),
        Seen("Hi", end="serverError"),
    ),
    "W64 error, nested": (
        typed_body({"type": "error", "error": {"code": "insufficient_quota", "message": "x"}}),
        Seen(end="quota"),
    ),
    "W64 error, then failed": (
        typed_body(
            {"type": "error", "code": "rate_limit_exceeded", "message": "x"}, _failed(code="server_error")
        ),
        Seen(end="rateLimit"),
    ),
    "error without a type": (typed_body({"error": {"code": "invalid_api_key"}}), Seen(end="auth")),
    "W16 event named error": (b"event: error\ndata: upstream timed out\n\n", Seen(end="timeout")),
    "W17 a broken event": (
        typed_body(HI) + b'data: {"type":"response.output_te\n\n' + typed_body(completed()),
        Seen("Hi", end="badResponse"),
    ),
    "a cut event at the end": (typed_body(HI) + b'data: {"type":"resp', Seen("Hi", end="incompleteStream")),
    "W15 HTML page": (b"<html><title>Sign in</title></html>", Seen(end="badResponse")),
    "JSON of another kind": (b'{"detail": "nothing here"}', Seen(end="serverError")),
    "W14 one JSON object": (
        json.dumps({"object": "response", "status": "completed", "output": [message_item("Hi")]}).encode(),
        Seen("Hi"),
    ),
    "one JSON object that failed": (
        json.dumps({"status": "failed", "output": [], "error": {"code": "rate_limit_exceeded"}}).encode(),
        Seen(end="rateLimit"),
    ),
}

EVERY = {**TEXTS, **THINKING, **CALLS, **ENDS}


@pytest.mark.covers("R097", "R098", "K73", "K74", "K76")
@pytest.mark.parametrize("name", EVERY)
async def test_the_same_comes_out_however_the_server_puts_it(
    name: str, server: ModelServer, provider: MakeProvider
) -> None:
    body, outcome = EVERY[name]
    server.play(Answer.of(body))
    assert seen(await ask(provider("openai"), model_request(model=MODEL))) == outcome


@pytest.mark.parametrize("size", [1, 7])
@pytest.mark.parametrize("name", EVERY)
def test_the_same_comes_out_however_it_is_cut(name: str, size: int) -> None:
    body, outcome = EVERY[name]
    reader = reader_for("openai", MODEL)
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    assert seen([*(event for piece in pieces for event in reader.feed(piece)), *reader.end()]) == outcome


@pytest.mark.covers("W62")
async def test_sealed_thinking_is_kept_whole_for_the_next_request(
    server: ModelServer, provider: MakeProvider
) -> None:
    item = thinking_item("Hm.", sealed="U0VBTA==")
    done: dict[str, Any] = {**item, "status": "completed", "content": []}
    server.play(
        Answer.of(
            answer(
                text_delta("Hm.", kind=SUMMARY), item_done(done), text_delta("Yes", index=1), output=[done]
            )
        )
    )
    assert await ask(provider("openai"), model_request(model=MODEL)) == [
        Delta("thinking", 0, "Hm."),
        ThinkingData(0, data={"item": item, "model": MODEL}, origin="openai"),
        Delta("text", 1, "Yes"),
        Finished("stop"),
    ]


@pytest.mark.covers("W67")
async def test_several_messages_are_blocks_of_their_own(server: ModelServer, provider: MakeProvider) -> None:
    said = [
        event
        for index, text in enumerate(("Looking.", "Done."))
        for event in (
            text_delta(text, index=index),
            item_done(message_item(text, f"msg_{index}"), index=index),
        )
    ]
    server.play(Answer.of(answer(*said)))
    assert await ask(provider("openai"), model_request(model=MODEL)) == [
        Delta("text", 0, "Looking."),
        Delta("text", 1, "Done."),
        Finished("stop"),
    ]


async def test_thinking_that_cannot_go_back_is_not_kept(server: ModelServer, provider: MakeProvider) -> None:
    server.play(Answer.of(answer(item_done(thinking_item("Hm.")), text_delta("Yes", index=1))))
    events = await ask(provider("openai"), model_request(model=MODEL))
    assert [event for event in events if isinstance(event, ThinkingData)] == []


async def test_a_call_keeps_the_id_of_its_item_and_its_kind(
    server: ModelServer, provider: MakeProvider
) -> None:
    named = {**call_item(A, "c2"), "namespace": "files"}
    server.play(Answer.of(answer(item_done(_custom("x")), item_done(named, index=1))))
    events = await ask(provider("openai"), model_request(model=MODEL))
    kept = [event.extra["item"] for event in events if isinstance(event, ToolExtra)]
    assert kept == [
        {"type": "custom_tool_call", "id": "ctc_1"},
        {"type": "function_call", "id": "fc_1", "namespace": "files"},
    ]


async def test_a_name_made_legal_comes_back_as_the_tools_own(
    server: ModelServer, provider: MakeProvider
) -> None:
    tools = (ToolSpec("my.tool", "", {}),)
    (legal,) = ResponsesRequests().names(tools)
    server.play(Answer.of(answer(item_done(call_item("{}", name=legal)))))
    calls = seen(await ask(provider("openai"), model_request(model=MODEL, tools=tools))).calls
    assert calls == (("c1", "my.tool", "{}"),)


async def test_the_model_that_answered_is_named_where_it_is_another(
    server: ModelServer, provider: MakeProvider
) -> None:
    server.play(Answer.of(answer(HI, model="m-2026-01-01")))
    assert (await ask(provider("openai"), model_request(model=MODEL)))[-1] == Finished(
        "stop", model="m-2026-01-01"
    )


@pytest.mark.covers("W64")
async def test_a_failure_says_how_long_to_wait_and_which_request_it_was(
    server: ModelServer, provider: MakeProvider
) -> None:
    failed = _failed(code="rate_limit_exceeded", message="Please try again in 11.054s.")
    headers = {"content-type": "text/event-stream", "x-request-id": "req_7"}
    server.play(Answer.of(typed_body(failed), headers=headers))
    assert failure(await ask(provider("openai"), model_request(model=MODEL))) == ErrorInfo(
        "rateLimit",
        "openai reported an error: Please try again in 11.054s."
        " Wait a while, or raise the limits of the account. (request req_7)",
        retryable=True,
        retry_after=11.054,
    )


@pytest.mark.covers("W19")
async def test_a_connection_lost_after_the_last_event_takes_nothing_away(
    server: ModelServer, provider: MakeProvider
) -> None:
    server.play(Answer((answer(HI),), end="abort"), Answer((typed_body(HI), 0.02), end="abort"))
    asked = provider("openai")
    assert (await ask(asked, model_request(model=MODEL)))[-1] == Finished("stop")
    assert isinstance((await ask(asked, model_request(model=MODEL)))[-1], Failed)
