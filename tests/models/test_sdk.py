"""The official clients take what our scripted server sends, so that our own are not tested with a fiction."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import AsyncIterator
from typing import Any

import pytest

from support.chat_turns import chat_answer
from support.model_server import Answer, ModelServer, json_answer
from support.typed_events import (
    answer,
    block,
    call_item,
    delta,
    ending,
    item_added,
    item_done,
    start,
    text_delta,
    typed_body,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not all(importlib.util.find_spec(name) for name in ("anthropic", "openai")),
        reason="the official clients are not installed: pip install -e '.[dev]'",
    ),
]

TURN = {"text": ["Rea", "ding 😋"], "calls": [{"id": "c1", "name": "read", "arguments": {"path": "ä"}}]}


def _package(name: str) -> Any:
    # Not imported at the top: they take seconds, which runs of other tests need not wait for.
    return importlib.import_module(name)


@pytest.fixture
async def openai(server: ModelServer) -> AsyncIterator[Any]:
    async with _package("openai").AsyncOpenAI(
        base_url=server.url, api_key="k", max_retries=0, timeout=5
    ) as client:
        yield client


@pytest.fixture
async def anthropic(server: ModelServer) -> AsyncIterator[Any]:
    address = server.url.removesuffix("/v1")
    async with _package("anthropic").AsyncAnthropic(
        base_url=address, api_key="k", max_retries=0, timeout=5
    ) as client:
        yield client


@pytest.mark.parametrize("cut", [0, 1, 7])
async def test_a_chat_answer_is_taken_whole_and_in_pieces(cut: int, server: ModelServer, openai: Any) -> None:
    (body,) = chat_answer(TURN).pieces
    assert isinstance(body, bytes)
    server.play(Answer.of(body, cut=cut))
    async with openai.chat.completions.stream(model="m", messages=[]) as stream:
        completion = await stream.get_final_completion()
    choice = completion.choices[0]
    (call,) = choice.message.tool_calls
    assert (choice.message.content, choice.finish_reason) == ("Reading 😋", "tool_calls")
    assert (call.id, call.function.name, call.function.arguments) == ("c1", "read", '{"path": "\\u00e4"}')


async def test_a_chat_refusal_is_of_the_kind_its_status_says(server: ModelServer, openai: Any) -> None:
    server.play(
        chat_answer({"error": {"status": 429, "message": "slow down", "code": "rate_limit_exceeded"}})
    )
    with pytest.raises(_package("openai").RateLimitError, match="slow down") as refused:
        await openai.chat.completions.create(model="m", messages=[], stream=True)
    assert refused.value.code == "rate_limit_exceeded"

    late: Any = {"text": ["a", "b"], "error": {"message": "broke", "afterDeltas": 1}}
    server.play(chat_answer(late))
    chunks = await openai.chat.completions.create(model="m", messages=[], stream=True)
    with pytest.raises(_package("openai").APIError, match="broke"):
        async for _ in chunks:
            pass


async def test_a_cut_answer_is_no_answer_to_the_official_client_either(
    server: ModelServer, openai: Any
) -> None:
    server.play(chat_answer({"text": "half", "cut": True}))
    chunks = await openai.chat.completions.create(model="m", messages=[], stream=True)
    with pytest.raises(_package("openai").APIConnectionError):
        async for _ in chunks:
            pass


async def test_a_responses_answer_is_taken(server: ModelServer, openai: Any) -> None:
    call = call_item('{"path": "a"}')
    usage = {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}
    events = (
        text_delta("Rea"),
        text_delta("ding"),
        item_added(call_item(), index=1),
        item_done(call, index=1),
    )
    server.play(Answer.of(answer(*events, usage=usage), cut=7))
    stream = await openai.responses.create(model="m", input="Hi", stream=True)
    seen = [event async for event in stream]
    assert [event.type for event in seen] == [
        "response.created",
        "response.output_text.delta",
        "response.output_text.delta",
        "response.output_item.added",
        "response.output_item.done",
        "response.completed",
    ]
    assert [event.delta for event in seen if event.type == "response.output_text.delta"] == ["Rea", "ding"]
    (ended,) = [event.response for event in seen if event.type == "response.completed"]
    assert ended.usage is not None
    assert (ended.status, ended.usage.input_tokens, ended.usage.output_tokens) == ("completed", 5, 2)


async def test_a_messages_answer_is_taken(server: ModelServer, anthropic: Any) -> None:
    thinking = block({"type": "thinking", "thinking": "", "signature": ""}, delta("thinking", "Hm."))
    text = block({"type": "text", "text": ""}, delta("text", "Rea"), delta("text", "ding"), index=1)
    tool: Any = {"type": "tool_use", "id": "t1", "name": "read", "input": {}}
    call = block(tool, delta("input_json", '{"path":'), delta("input_json", '"a"}'), index=2)
    begun, ended = (
        start(usage={"input_tokens": 5, "output_tokens": 1}),
        ending("tool_use", {"output_tokens": 9}),
    )
    server.play(Answer.of(typed_body(begun, *thinking, *text, *call, *ended), cut=7))
    async with anthropic.messages.stream(model="m", max_tokens=9, messages=[]) as stream:
        final = await stream.get_final_message()
    assert [piece.type for piece in final.content] == ["thinking", "text", "tool_use"]
    assert [piece.text for piece in final.content if piece.type == "text"] == ["Reading"]
    assert [piece.input for piece in final.content if piece.type == "tool_use"] == [{"path": "a"}]
    usage = final.usage
    assert (final.stop_reason, usage.input_tokens, usage.output_tokens) == ("tool_use", 5, 9)


async def test_a_messages_refusal_is_of_the_kind_its_status_says(server: ModelServer, anthropic: Any) -> None:
    error = {"type": "error", "error": {"type": "authentication_error", "message": "bad key"}}
    server.play(json_answer(401, error))
    with pytest.raises(_package("anthropic").AuthenticationError, match="bad key"):
        await anthropic.messages.create(model="m", max_tokens=9, messages=[])
