"""What a server refuses to take is left out at once, and not sent to it again."""

from __future__ import annotations

from typing import Any

import pytest

from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.messages import ImageBlock, ThinkingBlock
from pilothouse_agent.kernel.request import ModelLimits
from pilothouse_agent.models.model_traits import ModelTraits
from support.asking import MakeProvider, ask, assistant, model_request, seen, user
from support.model_server import Answer, ModelServer, chat_body, finish_chunk, json_answer, text_chunk
from support.typed_events import answer, block, delta, message, text_delta

HI = {
    "openai-chat": chat_body(text_chunk("Hi"), finish_chunk()),
    "openai": answer(text_delta("Hi")),
    "anthropic": message(*block({"type": "text", "text": ""}, delta("text", "Hi"))),
}
SEE = user("See", ImageBlock("image/png", "iVBO"))
BIG = ModelTraits(ModelLimits(max_output=100_000), output_cap=100_000)

CASES: list[tuple[str, str, str, str]] = [
    ("openai-chat", "m", "stream_options", "body.stream_options: Extra inputs are not permitted"),
    (
        "openai-chat",
        "m",
        "max_tokens",
        "Unsupported parameter: 'max_tokens' is not supported with this model.",
    ),
    ("openai-chat", "m", "reasoning_effort", "Unrecognized request argument supplied: reasoning_effort"),
    ("openai-chat", "m", "iVBO", "messages[0]: unknown variant `image_url`, expected `text`"),
    ("openai-chat", "m", "iVBO", "image input is not supported - hint: you may need to provide the mmproj"),
    ("openai", "gpt-5", "encrypted_content", "Encrypted content is not supported with this model."),
    (
        "openai-chat",
        "m",
        "reasoning_effort",
        '"registry.ollama.ai/library/m:latest" does not support thinking',
    ),
    ("openai", "gpt-5", "effort", "Unsupported value: 'low' is not supported: 'reasoning.effort'"),
    ("openai", "gpt-5", "summary", "Your organization must be verified to generate reasoning summaries."),
    ("openai", "gpt-5", "prompt_cache_key", "Unknown parameter: 'prompt_cache_key'."),
    ("openai", "gpt-5", "iVBO", "This model does not support image inputs."),
    (
        "anthropic",
        "claude-sonnet-4-5",
        "budget_tokens",
        '"thinking.type.enabled" is not supported for this model.',
    ),
    ("anthropic", "claude-opus-4-8", "adaptive", "adaptive thinking is not supported on this model"),
    ("anthropic", "claude-opus-4-8", "100000", "max_tokens: 100000 > 64000, which is the maximum allowed"),
    ("anthropic", "claude-opus-4-8", "cache_control", "cache_control: Extra inputs are not permitted"),
]


@pytest.mark.covers("W36", "W114", "W129", "W133")
@pytest.mark.parametrize(("wire", "model", "refused", "words"), CASES)
async def test_a_request_is_repeated_without_what_was_refused(
    wire: str, model: str, refused: str, words: str, server: ModelServer, provider: MakeProvider
) -> None:
    server.play(json_answer(400, {"error": {"message": words}}), *[Answer.of(HI[wire])] * 2)
    asked = provider(wire, traits=lambda model: BIG)
    request = model_request(SEE, model=f"{wire}/{model}", thinking="low")

    ends = [seen(await ask(asked, request)).end for _ in range(2)]

    sent = [refused.encode() in request.body for request in server.requests]
    assert (ends, sent) == (["stop", "stop"], [True, False, False])


SEALED: JsonObject = {"item": {"type": "reasoning", "id": "rs_1", "encrypted_content": "c2Vj"}}
THOUGHTS: list[tuple[str, ThinkingBlock, str]] = [
    (
        "openai",
        ThinkingBlock("Hm.", data=SEALED, origin="openai"),
        "The encrypted content c2Vj could not be verified. Reason: it belongs to another organization.",
    ),
    (
        "anthropic",
        ThinkingBlock("Hm.", "c2Vj", origin="anthropic"),
        "messages.1.content.0: Invalid `signature` in `thinking` block",
    ),
]


@pytest.mark.covers("W120", "W128")
@pytest.mark.parametrize(("wire", "thought", "words"), THOUGHTS)
async def test_thinking_of_another_account_is_left_out_once_it_is_refused(
    wire: str, thought: ThinkingBlock, words: str, server: ModelServer, provider: MakeProvider
) -> None:
    server.play(json_answer(400, {"error": {"message": words}}), Answer.of(HI[wire]))
    turn = assistant(thought, "Hello", model=f"{wire}/m")

    end = seen(await ask(provider(wire), model_request(user("Hi"), turn, user("Go"), model=f"{wire}/m"))).end

    sent = [(b"c2Vj" in request.body, b"Hello" in request.body) for request in server.requests]
    assert (end, sent) == ("stop", [(True, True), (False, True)])


async def test_another_model_of_the_same_server_is_still_asked(
    server: ModelServer, provider: MakeProvider
) -> None:
    refusal = json_answer(400, {"error": {"message": "Unknown parameter: 'prompt_cache_key'."}})
    server.play(refusal, *[Answer.of(HI["openai"])] * 2)
    asked = provider("openai")
    for model in ("openai/a", "openai/b"):
        await ask(asked, model_request(model=model))
    assert ["prompt_cache_key" in request.json for request in server.requests] == [True, False, True]


REFUSED_FOR_GOOD: list[tuple[int, Any]] = [
    (400, {"error": {"message": "messages[0]: role is wrong"}}),
    (401, {"error": {"message": "stream_options"}}),
    (500, {"error": {"message": "stream_options"}}),
]


@pytest.mark.parametrize(("status", "body"), REFUSED_FOR_GOOD)
async def test_a_refusal_that_asks_for_nothing_of_the_kind_is_told_at_once(
    status: int, body: Any, server: ModelServer, provider: MakeProvider
) -> None:
    server.play(json_answer(status, body), Answer.of(HI["openai-chat"]))
    assert seen(await ask(provider("openai-chat"), model_request())).end != "stop"
    assert len(server.requests) == 1


async def test_a_server_that_refuses_the_same_again_is_not_asked_for_ever(
    server: ModelServer, provider: MakeProvider
) -> None:
    refusal = json_answer(400, {"error": {"message": "stream_options"}})
    server.play(refusal, refusal, Answer.of(HI["openai-chat"]))
    assert seen(await ask(provider("openai-chat"), model_request())).end == "invalidRequest"
    assert len(server.requests) == 2
