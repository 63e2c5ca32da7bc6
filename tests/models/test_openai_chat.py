"""The provider on the wire: connections, keys, limits, cancellation, refusals by status."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from pilothouse_agent.kernel.messages import ErrorInfo
from pilothouse_agent.kernel.request import Delta, Finished, StreamEvent, ToolSpec
from support.asking import MakeChat, Seen, ask, failure, model_request, seen, user
from support.model_server import Answer, ModelServer, chat_body, finish_chunk, json_answer, text_chunk

KEY = "SENTINEL-key-123"
HI = chat_body(text_chunk("Hi"), finish_chunk())


@pytest.mark.covers("W36", "W132", "W133")
async def test_a_request_goes_out_as_the_format_asks(server: ModelServer, chat: MakeChat) -> None:
    server.play(Answer.of(HI))
    events = await ask(chat(key=KEY), model_request(user("Hello"), system="Be brief.", thinking="low"))

    assert events == [Delta("text", 0, "Hi"), Finished("stop")]
    (sent,) = server.requests
    assert (sent.path, sent.headers["authorization"]) == ("/v1/chat/completions", f"Bearer {KEY}")
    assert sent.json == {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "reasoning_effort": "low",
    }


async def test_text_is_handed_out_while_the_answer_goes_on(server: ModelServer, chat: MakeChat) -> None:
    heard = asyncio.Event()
    first, rest = chat_body(text_chunk("Hel"), done=False), chat_body(text_chunk("lo"), finish_chunk())
    server.play(Answer((first, heard, rest)))
    events: list[StreamEvent] = []
    async with asyncio.timeout(5):
        async for event in chat().stream(model_request()):
            events.append(event)
            heard.set()
    assert events == [Delta("text", 0, "Hel"), Delta("text", 0, "lo"), Finished("stop")]


async def test_one_connection_serves_request_after_request(server: ModelServer, chat: MakeChat) -> None:
    provider = chat()
    late = (chat_body(text_chunk("Hi"), finish_chunk()), 0.02)
    server.play(Answer.of(HI), Answer(late), json_answer(429, {}), Answer.of(HI, cut=1))
    ends = [seen(await ask(provider, model_request())).end for _ in range(4)]
    assert (ends, server.connections) == (["stop", "stop", "rateLimit", "stop"], 1)


async def test_the_model_that_answered_is_named_where_it_is_another(
    server: ModelServer, chat: MakeChat
) -> None:
    server.play(Answer.of(HI.replace(b'"model": "m"', b'"model": "m-2"')))
    assert (await ask(chat(), model_request()))[-1] == Finished("stop", model="m-2")


@pytest.mark.covers("R163")
@pytest.mark.parametrize("answer", [Answer(silent=True), Answer(end="hang")], ids=["no headers", "no body"])
async def test_cancelling_the_reader_closes_the_connection_at_once(
    answer: Answer, server: ModelServer, chat: MakeChat
) -> None:
    server.play(answer)
    reading = asyncio.create_task(ask(chat(), model_request()))
    async with asyncio.timeout(5):
        await server.asked.wait()
    reading.cancel()
    async with asyncio.timeout(1):
        await server.left.wait()
    with pytest.raises(asyncio.CancelledError):
        await reading


async def test_closing_the_stream_closes_the_connection(server: ModelServer, chat: MakeChat) -> None:
    server.play(Answer((chat_body(text_chunk("Hi"), done=False),), end="hang"))
    stream = chat().stream(model_request())
    async with asyncio.timeout(5):
        assert await anext(stream) == Delta("text", 0, "Hi")
        await stream.aclose()
        await server.left.wait()


@pytest.mark.covers("W36", "W133")
async def test_a_server_that_refuses_to_count_is_asked_without(server: ModelServer, chat: MakeChat) -> None:
    refusal = {"detail": [{"loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted"}]}
    server.play(json_answer(422, refusal), Answer.of(HI), Answer.of(HI))
    provider = chat()
    ends = [seen(await ask(provider, model_request())).end for _ in range(2)]
    asked = ["stream_options" in request.json for request in server.requests]
    assert (ends, asked) == (["stop", "stop"], [True, False, False])


def _refused(status: int, message: str, headers: dict[str, str] | None = None, **fields: Any) -> Answer:
    return json_answer(status, {"error": {"message": message, **fields}}, headers)


REFUSALS: dict[str, tuple[Answer, ErrorInfo]] = {
    "wrong key": (
        _refused(401, f"Incorrect API key provided: {KEY}.", code="invalid_api_key"),
        ErrorInfo(
            "auth",
            "openai-chat answered 401: Incorrect API key provided: [key]."
            " Check the API key in OPENAI_API_KEY.",
            status=401,
        ),
    ),
    "used-up quota": (
        _refused(429, "quota exhausted, resets at 12:00", {"x-request-id": "req_429"}),
        ErrorInfo(
            "quota",
            "openai-chat answered 429: quota exhausted, resets at 12:00."
            " Waiting does not help: check the plan and the billing of the account. (request req_429)",
            status=429,
        ),
    ),
    "payment": (
        json_answer(402, {}),
        ErrorInfo(
            "quota",
            "openai-chat answered 402. Waiting does not help: check the plan and the billing of the account.",
            status=402,
        ),
    ),
    "rate limit": (
        _refused(429, "slow down", {"retry-after": "3"}),
        ErrorInfo(
            "rateLimit",
            "openai-chat answered 429: slow down. Wait a while, or raise the limits of the account.",
            True,
            429,
            3.0,
        ),
    ),
    "content policy": (
        _refused(400, "rejected by our content policy"),
        ErrorInfo(
            "contentFilter",
            "openai-chat answered 400: rejected by our content policy."
            " The provider declined this content; rephrase the request.",
            status=400,
        ),
    ),
    "wrong request": (
        _refused(400, "messages[429] is wrong"),
        ErrorInfo(
            "invalidRequest",
            "openai-chat answered 400: messages[429] is wrong."
            " The provider does not take the request as it is: its words say what to change.",
            status=400,
        ),
    ),
    "redirect": (
        Answer(status=302, headers={"location": "http://127.0.0.1:9/"}, length=0),
        ErrorInfo("badResponse", "openai-chat answered 302. Check the address of the provider.", status=302),
    ),
}


@pytest.mark.covers("R160", "R161", "R164", "R175", "K73", "K80", "K81", "K82")
@pytest.mark.parametrize("name", REFUSALS)
async def test_a_refusal_is_judged_and_told_in_the_providers_words(
    name: str, server: ModelServer, chat: MakeChat
) -> None:
    answer, error = REFUSALS[name]
    server.play(answer)
    assert failure(await ask(chat(key=KEY), model_request())) == error


@pytest.mark.covers("R175")
async def test_the_key_is_in_no_message_and_no_log(
    server: ModelServer, chat: MakeChat, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.play(
        Answer.of(HI),
        _refused(401, f"bad key {KEY}"),
        Answer.of(chat_body({"error": KEY})),
        Answer(end="abort"),
    )
    provider = chat(key=KEY)
    events = [event for _ in range(4) for event in await ask(provider, model_request())]
    assert KEY not in caplog.text
    assert KEY not in repr(events)


async def test_a_request_that_cannot_be_written_is_a_failure_too(server: ModelServer, chat: MakeChat) -> None:
    unwritable: Any = {"type": "object", "default": object()}
    tools = (ToolSpec("odd", "", unwritable),)
    assert seen(await ask(chat(), model_request(tools=tools))) == Seen(end="unknown")
    assert server.requests == []


async def test_warming_opens_the_client_without_a_request(server: ModelServer, chat: MakeChat) -> None:
    provider = chat()
    await provider.warm()
    assert server.connections == 0
    server.play(Answer.of(HI))
    assert seen(await ask(provider, model_request())) == Seen("Hi")
