"""How chat answers end, well or badly: one terminal event, the partial text kept, nothing raised."""

from __future__ import annotations

from typing import Any

import pytest

from pilothouse_agent.kernel.messages import ErrorInfo, Usage
from pilothouse_agent.kernel.request import Failed, Finished
from pilothouse_agent.models.http.timeouts import Timeouts
from support.asking import MakeChat, Seen, ask, failure, model_request, seen
from support.model_server import (
    Answer,
    Ending,
    ModelServer,
    calls_chunk,
    chat_body,
    choice_chunk,
    finish_chunk,
    text_chunk,
)

HI = text_chunk("Hi")
PART = chat_body(HI, done=False)
CUT_CHUNK = b'data: {"choices":[{"delta":{"content":"lost'
CALL = calls_chunk({"index": 0, "id": "c1", "function": {"name": "write", "arguments": '{"path": "a"'}})


def _error(message: str = "boom", **fields: Any) -> dict[str, Any]:
    return {"error": {"message": message, **fields}}


STREAMS = {
    "W31 reason empty on each chunk": (
        chat_body({**HI, **choice_chunk(finish_reason="")}, HI, finish_chunk()),
        "stop",
    ),
    "W31 reason twice": (chat_body(HI, finish_chunk("length"), finish_chunk("stop")), "length"),
    "W31 eos": (chat_body(HI, finish_chunk("eos")), "stop"),
    "W31 a reason nobody knows": (chat_body(HI, finish_chunk("brand_new")), "stop"),
    "W31 no reason but DONE": (chat_body(HI), "stop"),
    "W33 filtered after text": (chat_body(HI, finish_chunk("content_filter")), "refusal"),
    "W168 window exceeded": (chat_body(HI, finish_chunk("model_context_window_exceeded")), "contextOverflow"),
    "W31 out of machines": (chat_body(HI, finish_chunk("insufficient_system_resource")), "overloaded"),
    "W31 a network error": (chat_body(HI, finish_chunk("network_error")), "serverError"),
    "W16 reason error": (chat_body(HI, finish_chunk("error")), "serverError"),
    "W19 neither reason nor DONE": (PART, "incompleteStream"),
    "W19 a cut chunk at the end": (PART + CUT_CHUNK, "incompleteStream"),
    "W17 a broken chunk in the middle": (
        PART + CUT_CHUNK + b"\n\n" + chat_body(HI, finish_chunk()),
        "badResponse",
    ),
    "W16 error object": (chat_body(HI, _error(code=500), HI), "serverError"),
    "a vague error and a precise one": (chat_body(HI, _error(code=500), HI, _error(code=429)), "rateLimit"),
    "a precise error and a vague one": (chat_body(HI, _error(code=429), _error(code=500)), "rateLimit"),
    "two vague errors": (chat_body(HI, _error(), _error(code=502)), "serverError"),
    "W16 error object without code": (chat_body(HI, _error()), "serverError"),
    "W16 error beside choices": (chat_body(HI, finish_chunk("error", **_error(code=429))), "rateLimit"),
    "W16 W32 error beside no choices": (chat_body(HI, {"choices": [], **_error(code=429)}), "rateLimit"),
    "W16 error in the choice": (chat_body(HI, choice_chunk(delta={}, **_error(code=401))), "auth"),
    "W16 error as text": (chat_body(HI, {"error": "model runner has stopped"}), "serverError"),
    "W16 error and DONE": (chat_body(HI, _error(type="overloaded_error")), "overloaded"),
    "W16 W170 error of the wrong tool use": (
        chat_body(HI, _error(code="tool_use_failed")),
        "toolCallInvalid",
    ),
    "W16 event named error": (PART + b"event: error\ndata: upstream timed out\n\n", "timeout"),
    "W16 event named error with JSON": (PART + b'event: error\ndata: {"code":"invalid_api_key"}\n\n', "auth"),
}


@pytest.mark.covers("K74", "K76")
@pytest.mark.parametrize("name", STREAMS)
async def test_an_answer_ends_once_and_keeps_its_text(name: str, server: ModelServer, chat: MakeChat) -> None:
    body, end = STREAMS[name]
    server.play(Answer.of(body))
    outcome = seen(await ask(chat(), model_request()))
    assert (outcome.text, outcome.end) == ("Hi", end)


NO_ANSWERS = {
    "W15 W169 empty body": (b"", "incompleteStream", True),
    "W15 W169 only DONE": (chat_body(), "incompleteStream", True),
    "only a comment": (b": ping\n\n", "incompleteStream", True),
    "W15 HTML page": (b"<html><title>Sign in</title></html>", "badResponse", False),
    "W15 plain text": (b"upstream connect error", "badResponse", True),
    "W15 JSON of another kind": (b'{"detail": "nothing here"}', "serverError", True),
    "W15 JSON error": (b'{"error":{"message":"prompt is too long","code":400}}', "contextOverflow", False),
    "W15 JSON error in a list": (
        b'[{"error":{"message":"no","status":"NOT_FOUND","code":404}}]',
        "notFound",
        False,
    ),
    "W33 filtered before the first word": (chat_body(finish_chunk("content_filter")), "contentFilter", False),
    "W16 error first": (chat_body(_error(code=503)), "serverError", True),
    "W16 error of the old form": (
        chat_body({"object": "error", "message": "maximum context length is 4096", "code": 400}),
        "contextOverflow",
        False,
    ),
}


@pytest.mark.covers("K73")
@pytest.mark.parametrize("name", NO_ANSWERS)
async def test_a_200_that_is_no_answer_is_a_failure(name: str, server: ModelServer, chat: MakeChat) -> None:
    body, kind, retryable = NO_ANSWERS[name]
    server.play(Answer.of(body))
    events = await ask(chat(), model_request())
    assert seen(events) == Seen(end=kind)
    assert failure(events).retryable is retryable


@pytest.mark.covers("R097", "W18")
@pytest.mark.parametrize("end", ["abort", "reset"])
async def test_a_lost_connection_is_a_retryable_failure_after_what_had_come(
    end: Ending, server: ModelServer, chat: MakeChat
) -> None:
    server.play(Answer((chat_body(HI, CALL, done=False), 0.02, CUT_CHUNK), end=end))
    events = await ask(chat(), model_request())
    assert seen(events) == Seen("Hi", calls=(("c1", "write", '{"path": "a"'),), end="connectionLost")
    assert failure(events).retryable


@pytest.mark.covers("W18")
async def test_fewer_bytes_than_promised_are_a_lost_connection(server: ModelServer, chat: MakeChat) -> None:
    server.play(Answer((PART,), length=len(PART) + 100, end="abort"))
    assert seen(await ask(chat(), model_request())) == Seen("Hi", end="connectionLost")


@pytest.mark.covers("W19")
async def test_a_connection_lost_after_the_reason_takes_nothing_away(
    server: ModelServer, chat: MakeChat
) -> None:
    body = chat_body(HI, finish_chunk(usage={"prompt_tokens": 3}), done=False)
    server.play(Answer((body,), end="abort"))
    assert (await ask(chat(), model_request()))[-1] == Finished("stop", Usage(input=3))


@pytest.mark.covers("R163", "K77", "W20")
@pytest.mark.parametrize(
    "answer",
    [Answer(silent=True), Answer(end="hang"), Answer((PART,), end="hang")],
    ids=["before the headers", "before the first byte", "in the middle"],
)
async def test_silence_beyond_the_idle_limit_is_a_retryable_failure(
    answer: Answer, server: ModelServer, chat: MakeChat
) -> None:
    server.play(answer)
    events = await ask(chat(timeouts=Timeouts(4, 0.1)), model_request())
    assert failure(events) == ErrorInfo("timeout", "openai-chat was silent for 0.1 s.", retryable=True)


@pytest.mark.slow
@pytest.mark.covers("K77", "W4", "W21")
async def test_comments_are_signs_of_life(server: ModelServer, chat: MakeChat) -> None:
    waiting = (b": ping\n\n", 0.3) * 4
    server.play(Answer((*waiting, chat_body(HI, finish_chunk()))))
    assert seen(await ask(chat(timeouts=Timeouts(4, 0.8)), model_request())) == Seen("Hi")


OVER: list[tuple[list[dict[str, Any]], Seen]] = [
    ([finish_chunk()], Seen("Hi")),
    ([finish_chunk(), {"choices": [], "usage": {"prompt_tokens": 2}}], Seen("Hi", usage=Usage(input=2))),
    ([_error(code=500)], Seen("Hi", end="serverError")),
]


@pytest.mark.covers("R298")
@pytest.mark.parametrize(("chunks", "said"), OVER)
async def test_an_answer_that_is_over_is_not_waited_for_on_an_open_connection(
    chunks: list[Any], said: Seen, server: ModelServer, chat: MakeChat
) -> None:
    server.play(Answer.of(chat_body(HI, *chunks, done=False), end="hang"))
    assert seen(await ask(chat(timeouts=Timeouts(4, 60, 0.2)), model_request())) == said


async def test_usage_that_had_come_goes_with_a_failure(server: ModelServer, chat: MakeChat) -> None:
    server.play(Answer.of(chat_body({**HI, "usage": {"prompt_tokens": 3}}, _error(code=500))))
    end = (await ask(chat(), model_request()))[-1]
    text = "openai-chat reported an error: boom. The fault is the provider's: try again later."
    error = ErrorInfo("serverError", text, retryable=True, status=500)
    assert end == Failed(error, Usage(input=3))
