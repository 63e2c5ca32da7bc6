"""Messages answers as servers really send them; cuts never change the outcome."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pilothouse_agent.kernel.messages import ErrorInfo, Usage
from pilothouse_agent.kernel.request import Delta, Failed, Finished, ThinkingData, ToolSpec
from pilothouse_agent.models.http.timeouts import Timeouts
from pilothouse_agent.models.messages.request import AnthropicRequests
from support.asking import MakeProvider, Seen, ask, failure, model_request, seen
from support.model_server import Answer, ModelServer
from support.readers import reader_for
from support.typed_events import block, delta, ending, message, start, typed_body

MODEL = "anthropic/m"
A, B = '{"path":"a"}', '{"path":"b"}'
PING = {"type": "ping"}
TEXT = {"type": "text", "text": ""}
THINKING = {"type": "thinking", "thinking": "", "signature": ""}
HI = block(TEXT, delta("text", "Hi"))
SERVED: dict[str, Any] = {
    "type": "web_search_tool_result",
    "tool_use_id": "s1",
    "content": [{"url": "https://x"}],
}
STARTED = {
    "input_tokens": 3,
    "cache_read_input_tokens": 0,
    "cache_creation_input_tokens": 0,
    "output_tokens": 1,
}


def _use(call_id: Any = "c1", name: Any = "read", arguments: Any = None) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {} if arguments is None else arguments}


def _json(*texts: str) -> list[dict[str, Any]]:
    return [delta("input_json", text) for text in texts]


TEXTS = {
    "deltas": (
        message(*block(TEXT, delta("text", "Hello, "), delta("text", "wörld 👋"))),
        Seen("Hello, wörld 👋"),
    ),
    "W51 pings everywhere": (
        typed_body(PING, start(), PING, HI[0], PING, HI[1], PING, *HI[2:], PING, *ending(), PING),
        Seen("Hi"),
    ),
    "W54 text in the start": (message(*block({"type": "text", "text": "H"}, delta("text", "i"))), Seen("Hi")),
    "two blocks": (message(*HI, *block(TEXT, delta("text", "!"), index=1)), Seen("Hi!")),
    "W54 blocks open at once": (
        message(
            *block(TEXT, delta("text", "a"), stopped=False),
            *block(TEXT, delta("text", "b"), index=1),
            *block(TEXT, delta("text", "c"), index=2)[1:],
        ),
        Seen("abc"),
    ),
    "no start of the block": (message(*HI[1:]), Seen("Hi")),
    "W53 no stop of the block": (message(*HI[:-1]), Seen("Hi")),
    "no index": (message(*({k: v for k, v in event.items() if k != "index"} for event in HI)), Seen("Hi")),
    "W58 the start twice": (typed_body(start(), HI[0], start(), *HI[1:], *ending()), Seen("Hi")),
    "W51 citations and deltas nobody knows": (
        message(
            *block(TEXT, {"type": "citations_delta", "citation": {}}, {"type": "x"}, delta("text", "Hi"))
        ),
        Seen("Hi"),
    ),
    "W51 events and blocks nobody knows": (
        message({"type": "brand_new"}, *block({"type": "brand_new"}, delta("input_json", "{")), *HI),
        Seen("Hi"),
    ),
    "W50 no names of events": (message(*HI).replace(b"event:", b": event:"), Seen("Hi")),
    "W50 wrong names of events": (message(*HI).replace(b"event: ", b"event: x_"), Seen("Hi")),
    "W11 DONE at the end": (message(*HI) + b"data: [DONE]\n\n", Seen("Hi")),
    "W41 a surrogate pair over two deltas": (
        message(*block(TEXT, delta("text", "ok X"), delta("text", "Y!")))
        .replace(b"X", rb"\ud83d")
        .replace(b"Y", rb"\ude00"),
        Seen("ok 😀!"),
    ),
    "W41 half a surrogate pair": (
        message(*block(TEXT, delta("text", "a X"))).replace(b"X", rb"\ud83d"),
        Seen("a \ufffd"),
    ),
    "values of other types": (
        message(*block({"type": "text", "text": 7}, {"type": "text_delta", "text": None}), *HI),
        Seen("Hi"),
    ),
    "no text at all": (message(*block(TEXT)), Seen("")),
    "W14 one JSON object": (
        json.dumps(
            {"type": "message", "content": [{"type": "text", "text": "Hi"}], "stop_reason": "max_tokens"}
        ).encode(),
        Seen("Hi", end="length"),
    ),
}

THOUGHTS = {
    "W56 thinking": (
        message(
            *block(THINKING, delta("thinking", "H"), delta("thinking", "m."), delta("signature", "s")),
            *block(TEXT, delta("text", "Yes"), index=1),
        ),
        Seen("Yes", "Hm."),
    ),
    "W56 thinking without signature": (message(*block(THINKING, delta("thinking", "Hm."))), Seen("", "Hm.")),
    "W56 redacted": (message(*block({"type": "redacted_thinking", "data": "x"}), *HI), Seen("Hi")),
}

ONE = Seen(calls=(("c1", "read", A),), end="toolUse")
TWO = Seen(calls=(("c1", "read", A), ("c2", "read", B)), end="toolUse")
NOW = Seen(calls=(("c1", "read", ""),), end="toolUse")
CALLS = {
    "in fragments": (message(*block(_use(), *_json("", '{"path', '":"a"}')), stop="tool_use"), ONE),
    "W54 arguments in the start": (message(*block(_use(arguments={"path": "a"})), stop="tool_use"), ONE),
    "W54 arguments in the start as text": (message(*block(_use(arguments=A)), stop="tool_use"), ONE),
    "W26 W54 no arguments": (message(*block(_use(), *_json("")), stop="tool_use"), NOW),
    "arguments that are no text": (message(*block(_use(), delta("input_json", None))), NOW),  # type: ignore[arg-type]
    "two": (
        message(*block(_use(), *_json(A)), *block(_use("c2"), *_json(B), index=1), stop="tool_use"),
        TWO,
    ),
    "W54 two at once": (
        message(
            *block(_use(), *_json('{"path'), stopped=False),
            *block(_use("c2"), *_json(B), index=1),
            *block(_use(), *_json('":"a"}'))[1:],
        ),
        TWO,
    ),
    "W43 a word for all functions before the name": (
        message(*block(_use(name="functions.read"), *_json(A))),
        ONE,
    ),
    "W55 end_turn beside a call": (message(*block(_use(), *_json(A))), ONE),
    "W53 a call that is never stopped": (message(*block(_use(arguments={"path": "a"}), stopped=False)), ONE),
    "W25 without id and name": (
        message(*block(_use(None, None), *_json(A))),
        Seen(calls=(("", "", A),), end="toolUse"),
    ),
    "W30 tool_use without calls": (message(*HI, stop="tool_use"), Seen("Hi")),
    "W54 cut by the limit": (
        message(*block(_use(), *_json('{"pa'), stopped=False), stop="max_tokens"),
        Seen(calls=(("c1", "read", '{"pa'),), end="length"),
    ),
    "W53 cut by the end": (
        typed_body(start(), *block(_use(), *_json(A), stopped=False)),
        Seen(calls=(("c1", "read", A),), end="incompleteStream"),
    ),
    "a tool of the server": (
        message(*block({**_use(), "type": "server_tool_use"}, *_json("{}")), *block(SERVED, index=1), *HI),
        Seen("Hi"),
    ),
}


def _error(kind: str, text: str = "x") -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": text}}


def _part(*events: dict[str, Any]) -> bytes:
    return typed_body(start(), *HI, *events)


ENDS = {
    "W55 stop sequence": (message(*HI, stop="stop_sequence"), Seen("Hi")),
    "W55 limit": (message(*HI, stop="max_tokens"), Seen("Hi", end="length")),
    "W55 pause": (message(*HI, stop="pause_turn"), Seen("Hi", end="pause")),
    "W55 refusal": (message(*HI, stop="refusal"), Seen("Hi", end="refusal")),
    "refusal at once": (message(stop="refusal"), Seen(end="refusal")),
    "W55 a reason nobody knows": (message(*HI, stop="brand_new"), Seen("Hi")),
    "W55 a full window": (
        message(*HI, stop="model_context_window_exceeded"),
        Seen("Hi", end="contextOverflow"),
    ),
    "W53 no stop but a reason": (typed_body(start(), *HI, ending()[0]), Seen("Hi")),
    "W53 a stop but no reason": (typed_body(start(), *HI, ending()[1]), Seen("Hi")),
    "reason null": (message(*HI, stop=None), Seen("Hi")),
    "W19 W53 neither stop nor reason": (_part(), Seen("Hi", end="incompleteStream")),
    "W15 nothing": (b"", Seen(end="incompleteStream")),
    "W15 only DONE": (b"data: [DONE]\n\n", Seen(end="incompleteStream")),
    "only pings": (typed_body(PING, PING), Seen(end="incompleteStream")),
    "W58 another message in the middle": (
        _part(start("msg_2"), *HI, *ending()),
        Seen("Hi", end="badResponse"),
    ),
    "W52 error at once": (typed_body(_error("rate_limit_error")), Seen(end="rateLimit")),
    "W52 overloaded": (_part(_error("overloaded_error", "Overloaded")), Seen("Hi", end="overloaded")),
    "W52 api error": (_part(_error("api_error")), Seen("Hi", end="serverError")),
    "W52 timeout": (_part(_error("timeout_error")), Seen("Hi", end="timeout")),
    "W52 W168 too long": (
        typed_body(_error("invalid_request_error", "prompt is too long: 9 > 8")),
        Seen(end="contextOverflow"),
    ),
    "W52 an error of another format": (
        _part({"error": {"message": "x", "code": 502}}),
        Seen("Hi", end="serverError"),
    ),
    "W17 a broken event": (_part() + b'data: {"type":"content\n\n', Seen("Hi", end="badResponse")),
    "a cut event at the end": (_part() + b'data: {"type":"content', Seen("Hi", end="incompleteStream")),
    "W15 HTML page": (b"<html><title>Sign in</title></html>", Seen(end="badResponse")),
    "W15 JSON error": (json.dumps(_error("authentication_error")).encode(), Seen(end="auth")),
    "JSON of another kind": (b'{"detail": "nothing here"}', Seen(end="serverError")),
}

USAGES = {
    "W57 at the start and the end": (
        typed_body(start(usage=STARTED), *HI, *ending(usage={"output_tokens": 9})),
        Usage(input=3, output=9, cache_read=0, cache_write=0),
    ),
    "W57 cached tokens besides": (
        message(*HI, usage={**STARTED, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20}),
        Usage(input=123, output=1, cache_read=100, cache_write=20),
    ),
    "W57 nothing but zeros at the start": (
        typed_body(
            start(usage={"input_tokens": 0, "output_tokens": 0}),
            *HI,
            *ending(usage={"input_tokens": 7, "output_tokens": 2}),
        ),
        Usage(input=7, output=2),
    ),
    "W57 null takes nothing away": (
        typed_body(start(usage=STARTED), *HI, *ending(usage={"input_tokens": None, "output_tokens": 9})),
        Usage(input=3, output=9, cache_read=0, cache_write=0),
    ),
    "thinking": (
        message(*HI, usage={"output_tokens": 9, "output_tokens_details": {"thinking_tokens": 4}}),
        Usage(output=9, reasoning=4),
    ),
    "with an error": (
        typed_body(start(usage={"input_tokens": 3}), _error("api_error")),
        Usage(input=3),
    ),
    "that is no number": (message(*HI, usage={"input_tokens": "3", "output_tokens": True}), None),
}

EVERY = {**TEXTS, **THOUGHTS, **CALLS, **ENDS}


@pytest.mark.covers("R097", "R098", "K73", "K74", "K76")
@pytest.mark.parametrize("name", EVERY)
async def test_the_same_comes_out_however_the_server_puts_it(
    name: str, server: ModelServer, provider: MakeProvider
) -> None:
    body, outcome = EVERY[name]
    server.play(Answer.of(body))
    assert seen(await ask(provider("anthropic"), model_request(model=MODEL))) == outcome


@pytest.mark.parametrize("size", [1, 7])
@pytest.mark.parametrize("name", EVERY)
def test_the_same_comes_out_however_it_is_cut(name: str, size: int) -> None:
    body, outcome = EVERY[name]
    reader = reader_for("anthropic", MODEL)
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    assert seen([*(event for piece in pieces for event in reader.feed(piece)), *reader.end()]) == outcome


@pytest.mark.covers("W57")
@pytest.mark.parametrize("name", USAGES)
async def test_tokens_are_counted_with_those_of_the_cache(
    name: str, server: ModelServer, provider: MakeProvider
) -> None:
    body, usage = USAGES[name]
    server.play(Answer.of(body))
    assert seen(await ask(provider("anthropic"), model_request(model=MODEL))).usage == usage


@pytest.mark.covers("W56")
async def test_signed_and_redacted_thinking_is_kept_whole_for_the_next_request(
    server: ModelServer, provider: MakeProvider
) -> None:
    redacted: Any = {"type": "redacted_thinking", "data": "RU5D"}
    server.play(
        Answer.of(
            message(
                *block(
                    THINKING, delta("thinking", "Hm."), delta("signature", "c2"), delta("signature", "ln")
                ),
                *block({**THINKING, "signature": "c2ln"}, index=1),
                *block(redacted, index=2),
                *block(TEXT, delta("text", "Yes"), index=3),
            )
        )
    )
    assert await ask(provider("anthropic"), model_request(model=MODEL)) == [
        Delta("thinking", 0, "Hm."),
        ThinkingData(0, "c2ln", {"model": MODEL}, "anthropic"),
        ThinkingData(1, "c2ln", {"model": MODEL}, "anthropic"),
        ThinkingData(2, None, {"model": MODEL, "block": redacted}, "anthropic"),
        Delta("text", 3, "Yes"),
        Finished("stop"),
    ]


@pytest.mark.covers("W51", "W55")
async def test_what_the_server_did_itself_is_kept_for_going_on_after_a_pause(
    server: ModelServer, provider: MakeProvider
) -> None:
    use = {**_use("s1", "web_search"), "type": "server_tool_use"}
    server.play(
        Answer.of(message(*block(use, *_json('{"q":', "1}")), *block(SERVED, index=1), stop="pause_turn"))
    )
    assert await ask(provider("anthropic"), model_request(model=MODEL)) == [
        ThinkingData(0, None, {"model": MODEL, "block": {**use, "input": {"q": 1}}}, "anthropic"),
        ThinkingData(1, None, {"model": MODEL, "block": SERVED}, "anthropic"),
        Finished("pause"),
    ]


async def test_a_name_made_legal_comes_back_as_the_tools_own(
    server: ModelServer, provider: MakeProvider
) -> None:
    tools = (ToolSpec("my.tool", "", {}),)
    (legal,) = AnthropicRequests().names(tools)
    server.play(Answer.of(message(*block(_use(name=legal), *_json("{}")))))
    calls = seen(await ask(provider("anthropic"), model_request(model=MODEL, tools=tools))).calls
    assert calls == (("c1", "my.tool", "{}"),)


async def test_the_model_that_answered_is_named_where_it_is_another(
    server: ModelServer, provider: MakeProvider
) -> None:
    dated = message(*HI).replace(b'"model": "m"', b'"model": "m-20260101"')
    server.play(Answer.of(dated), Answer.of(message(*HI)))
    asked = provider("anthropic")
    ends = [(await ask(asked, model_request(model=MODEL)))[-1] for _ in range(2)]
    assert ends == [Finished("stop", model="m-20260101"), Finished("stop")]


async def test_the_model_that_took_the_request_over_is_named(
    server: ModelServer, provider: MakeProvider
) -> None:
    fallback = {"type": "fallback", "from": {"model": "m"}, "to": {"model": "m-2"}}
    server.play(Answer.of(message(*block(fallback), *HI)))
    assert await ask(provider("anthropic"), model_request(model=MODEL)) == [
        Delta("text", 0, "Hi"),
        Finished("stop", model="m-2"),
    ]


async def test_a_failure_names_the_request_so_that_the_provider_can_find_it(
    server: ModelServer, provider: MakeProvider
) -> None:
    headers = {"content-type": "text/event-stream", "request-id": "req_7"}
    server.play(
        Answer.of(_part(_error("overloaded_error", "Overloaded")), headers=headers),
        Answer.of(_part(), headers=headers),
        Answer((_part(), 0.02), end="abort", headers=headers),
    )
    asked = provider("anthropic")
    errors = [failure(await ask(asked, model_request(model=MODEL))) for _ in range(3)]
    assert errors[0] == ErrorInfo(
        "overloaded",
        "anthropic reported an error: Overloaded."
        " The provider is busy: try again later, or take another model. (request req_7)",
        retryable=True,
    )
    assert [error.message.endswith(" (request req_7)") for error in errors] == [True, True, True]


@pytest.mark.slow
@pytest.mark.covers("W21")
async def test_pings_are_signs_of_life(server: ModelServer, provider: MakeProvider) -> None:
    waiting = (typed_body(PING), 0.3) * 4
    server.play(Answer((*waiting, message(*HI))))
    asked = provider("anthropic", timeouts=Timeouts(4, 0.8))
    assert seen(await ask(asked, model_request(model=MODEL))) == Seen("Hi")


@pytest.mark.covers("W19", "W53")
async def test_a_connection_lost_after_the_reason_takes_nothing_away(
    server: ModelServer, provider: MakeProvider
) -> None:
    server.play(
        Answer((typed_body(start(), *HI, ending()[0]), 0.02), end="abort"),
        Answer((_part(), 0.02), end="abort"),
    )
    asked = provider("anthropic")
    assert (await ask(asked, model_request(model=MODEL)))[-1] == Finished("stop")
    assert isinstance((await ask(asked, model_request(model=MODEL)))[-1], Failed)
