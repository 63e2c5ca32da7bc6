"""What a server refuses to take is left out at once, and not sent to it again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pilothouse_agent.kernel.events import Notice
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.messages import ImageBlock, ModelMessage, ThinkingBlock, ToolCall
from pilothouse_agent.kernel.request import ModelLimits, StreamEvent
from pilothouse_agent.models.model_traits import ModelTraits
from support.asking import (
    MakeProvider,
    ask,
    assistant,
    model_request,
    notices,
    seen,
    tool_result,
    user,
)
from support.model_server import Answer, ModelServer, chat_body, finish_chunk, json_answer, text_chunk
from support.typed_events import answer, block, delta, message, text_delta

HI = {
    "openai-chat": chat_body(text_chunk("Hi"), finish_chunk()),
    "openai": answer(text_delta("Hi")),
    "anthropic": message(*block({"type": "text", "text": ""}, delta("text", "Hi"))),
}
CALL = ToolCall("c1", "read_file", {})
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


ITEM: JsonObject = {"type": "reasoning", "id": "rs_1", "encrypted_content": "c2Vj"}
SEALED: JsonObject = {"item": ITEM}
DETAILS: JsonObject = {"reasoning_details": [{"type": "reasoning.text", "signature": "c2Vj"}]}
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
    (
        "openai-chat",
        ThinkingBlock("Hm.", data=DETAILS, origin="openai-chat"),
        "messages.1.content.0: Invalid `signature` in `thinking` block",
    ),
    (
        "openai-chat",
        ThinkingBlock("Hm.", data=DETAILS, origin="openai-chat"),
        "reasoning_details[0]: corrupted thought signature",
    ),
]


@pytest.mark.covers("W120", "W128", "R292", "R296")
@pytest.mark.parametrize(("wire", "thought", "words"), THOUGHTS)
async def test_thinking_that_is_refused_is_left_out_and_the_user_told(
    wire: str, thought: ThinkingBlock, words: str, server: ModelServer, provider: MakeProvider
) -> None:
    server.play(json_answer(400, {"error": {"message": words}}), Answer.of(HI[wire]))
    turn = assistant(thought, "Hello", model=f"{wire}/m")

    events = await ask(provider(wire), model_request(user("Hi"), turn, user("Go"), model=f"{wire}/m"))

    sent = [(b"c2Vj" in request.body, b"Hello" in request.body) for request in server.requests]
    assert (seen(events).end, sent) == ("stop", [(True, True), (False, True)])
    text = f"{wire} does not take the earlier thinking of its model back; it is left out."
    assert notices(events) == [Notice("warning", text, "conceded")]


@pytest.mark.covers("R292")
@pytest.mark.parametrize(("wire", "thought", "words"), THOUGHTS)
async def test_what_was_thought_since_and_elsewhere_goes_back_as_ever(
    wire: str, thought: ThinkingBlock, words: str, server: ModelServer, provider: MakeProvider
) -> None:
    """One session's thinking is refused; it thinks on, and another one thinks too."""
    server.play(json_answer(400, {"error": {"message": words}}), *[Answer.of(HI[wire])] * 3)
    asked, model = provider(wire), f"{wire}/m"
    fresh = {
        "openai": ThinkingBlock("Ah.", data={"item": {**ITEM, "encrypted_content": "bmV3"}}, origin=wire),
        "anthropic": ThinkingBlock("Ah.", "bmV3", origin=wire),
        "openai-chat": ThinkingBlock(
            "Ah.", data={"reasoning_details": [{"type": "reasoning.text", "signature": "bmV3"}]}, origin=wire
        ),
    }[wire]
    past = (user("Hi"), assistant(thought, "Hello", model=model), replace(user("Go"), id="last"))
    later = (assistant(fresh, "There", model=model), user("On"))

    answers = [
        await ask(asked, model_request(*past, model=model)),
        await ask(asked, model_request(*past, *later, model=model)),
        await ask(asked, model_request(*past, *later, model=model, session_id="s2")),
    ]

    sent = [(b"c2Vj" in request.body, b"bmV3" in request.body) for request in server.requests]
    assert sent == [(True, False), (False, False), (False, True), (True, True)]
    assert [len(notices(answer)) for answer in answers] == [1, 0, 0]


EFFORT = '"reasoning_effort"'


@pytest.mark.covers("R292")
async def test_a_server_that_refuses_all_thinking_is_not_asked_each_time(
    server: ModelServer, provider: MakeProvider
) -> None:
    refusal = json_answer(400, {"error": {"message": "Unknown field: reasoning_details"}})
    hi = Answer.of(HI["openai-chat"])
    server.play(refusal, hi, refusal, hi, hi)
    history: list[ModelMessage] = [user("Hi")]
    asked = provider("openai-chat")
    answers: list[list[StreamEvent]] = []
    for turn in range(3):
        thought = ThinkingBlock("Hm.", data=DETAILS, origin="openai-chat")
        history += [assistant(thought, "Hello"), replace(user("Go"), id=f"u{turn}")]
        answers.append(await ask(asked, model_request(*history)))
    sent = [request.body.count(b"reasoning_details") for request in server.requests]
    assert (sent, [len(notices(answer)) for answer in answers]) == ([1, 0, 1, 0, 0], [1, 1, 0])


LEVELS: list[tuple[str, str, str, str, str]] = [
    (
        "openai-chat",
        "gpt-5",
        "minimal",
        "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model. "
        "Supported values are: 'low', 'medium', and 'high'.",
        EFFORT,
    ),
    (
        "openai-chat",
        "m",
        "minimal",
        "reasoning_effort: Input should be 'low', 'medium' or 'high'",
        EFFORT,
    ),
    (
        "openai-chat",
        "gemini-3-pro",
        "minimal",
        "Thinking level MINIMAL not supported",
        EFFORT,
    ),
    ("openai-chat", "gpt-5", "off", "Invalid value: 'none'. (param: reasoning_effort)", EFFORT),
    (
        "openai",
        "gpt-5",
        "minimal",
        "Unsupported value: 'minimal' is not supported with the 'm' model: 'reasoning.effort'.",
        '"effort"',
    ),
    (
        "anthropic",
        "claude-opus-4-8",
        "low",
        "output_config.effort: Input should be 'medium' or 'high'",
        '"output_config"',
    ),
]


@pytest.mark.covers("R293")
@pytest.mark.parametrize(("wire", "model", "level", "words", "field"), LEVELS)
async def test_only_the_level_of_thinking_that_was_refused_is_not_asked_for_again(
    wire: str, model: str, level: Any, words: str, field: str, server: ModelServer, provider: MakeProvider
) -> None:
    server.play(json_answer(400, {"error": {"message": words}}), *[Answer.of(HI[wire])] * 3)
    asked = provider(wire)
    for thinking in (level, level, "high"):
        await ask(asked, model_request(model=f"{wire}/{model}", thinking=thinking))
    sent = [field.encode() in request.body for request in server.requests]
    assert sent == [True, False, False, True]


@pytest.mark.covers("R293")
async def test_a_parameter_that_is_refused_for_any_level_is_left_out(
    server: ModelServer, provider: MakeProvider
) -> None:
    refusal = json_answer(
        400, {"error": {"message": "Unrecognized request argument supplied: reasoning_effort"}}
    )
    server.play(refusal, *[Answer.of(HI["openai-chat"])] * 2)
    asked = provider("openai-chat")
    for thinking in ("low", "high"):
        await ask(asked, model_request(thinking=thinking))
    assert ["reasoning_effort" in request.json for request in server.requests] == [True, False, False]


WANTED = [
    "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2",
    "Missing `reasoning_content` field in the assistant message at message index 2.",
    "The `reasoning_content` in the thinking mode must be passed back to the API.",
    "messages with tool_calls must include reasoning_content",
]


@pytest.mark.covers("R296")
@pytest.mark.parametrize("words", WANTED)
async def test_a_server_that_wants_thinking_beside_every_answer_gets_it_after_a_switch(
    words: str, server: ModelServer, provider: MakeProvider
) -> None:
    server.play(json_answer(400, {"error": {"message": words}}), *[Answer.of(HI["openai-chat"])] * 2)
    history = (
        user("Hi"),
        assistant(ThinkingBlock("Hm.", "sig", origin="anthropic"), CALL, model="anthropic/claude"),
        tool_result("c1", "text"),
        assistant("Done", model="anthropic/claude"),
        user("Go"),
    )
    asked = provider("openai-chat")
    ends = [seen(await ask(asked, model_request(*history))).end for _ in range(2)]
    beside = [
        [
            message.get("reasoning_content")
            for message in request.json["messages"]
            if message["role"] == "assistant"
        ]
        for request in server.requests
    ]
    assert (ends, beside) == (["stop", "stop"], [[None, None], ["Hm.", " "], ["Hm.", " "]])


@pytest.mark.covers("R296")
async def test_a_server_that_wants_no_thinking_beside_its_own_answers_gets_none(
    server: ModelServer, provider: MakeProvider
) -> None:
    words = "messages[1]: Extra inputs are not permitted, field: 'reasoning_content', value: 'Hm.'"
    server.play(json_answer(400, {"error": {"message": words}}), Answer.of(HI["openai-chat"]))
    thought = ThinkingBlock("Hm.", data={"field": "reasoning_content"}, origin="openai-chat")
    history = (user("Hi"), assistant(thought, CALL), tool_result("c1", "text"))
    end = seen(await ask(provider("openai-chat"), model_request(*history))).end
    sent = [b"reasoning_content" in request.body for request in server.requests]
    assert (end, sent) == ("stop", [True, False])


FULL: list[tuple[str, str, str]] = [
    (
        "openai-chat",
        "This model's maximum context length is 30000 tokens. However, you requested 36000 tokens "
        "(20000 in the messages, 16000 in the completion). Please reduce the length of the messages.",
        "max_tokens",
    ),
    (
        "openai-chat",
        "'max_tokens' or 'max_completion_tokens' is too large: 16000. This model's maximum context length is "
        "30000 tokens and your request has 20000 input tokens (16000 > 30000 - 20000).",
        "max_tokens",
    ),
    (
        "openai",
        "This endpoint's maximum context length is 30000 tokens. However, you requested about 36000 tokens "
        "(18000 of text input, 2000 of tool input, 16000 in the output).",
        "max_output_tokens",
    ),
    ("anthropic", "input length and `max_tokens` exceed context limit: 20000 + 16000 > 30000", "max_tokens"),
]


@pytest.mark.covers("R291")
@pytest.mark.parametrize(("wire", "words", "field"), FULL)
async def test_a_window_that_only_the_answer_does_not_fit_into_needs_no_shorter_conversation(
    wire: str, words: str, field: str, server: ModelServer, provider: MakeProvider
) -> None:
    server.play(json_answer(400, {"error": {"message": words}}), Answer.of(HI[wire]))
    traits = ModelTraits(ModelLimits(max_output=16_000), output_cap=16_000)
    end = seen(await ask(provider(wire, traits=lambda model: traits), model_request(model=f"{wire}/m"))).end
    assert (end, [request.json[field] for request in server.requests]) == ("stop", [16_000, 9_936])


@pytest.mark.covers("R291")
async def test_a_window_that_the_prompt_fills_is_an_overflow(
    server: ModelServer, provider: MakeProvider
) -> None:
    words = "input length and `max_tokens` exceed context limit: 29500 + 16000 > 30000"
    server.play(json_answer(400, {"error": {"message": words}}))
    end = seen(await ask(provider("anthropic"), model_request(model="anthropic/m"))).end
    assert (end, len(server.requests)) == ("contextOverflow", 1)


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
