"""Requests for chat servers that differ from most."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pilothouse_agent.kernel.messages import ImageBlock, ThinkingBlock, ToolCall
from pilothouse_agent.kernel.request import ModelLimits, ModelRequest, ThinkingLevel, ToolSpec
from pilothouse_agent.models.chat_completions.dialect import ChatDialect
from pilothouse_agent.models.chat_completions.request import ChatRequests
from pilothouse_agent.models.messages.request import AnthropicRequests
from pilothouse_agent.models.model_traits import ModelTraits
from pilothouse_agent.models.responses.request import ResponsesRequests
from support.asking import assistant, model_request, tool_result, user

PNG = ImageBlock("image/png", "iVBO")
PNG_PART = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO"}}
STRICT = ChatDialect(alternating=True)
MISTRAL = ChatDialect(alternating=True, user_after_tool=False, nine_letter_ids=True)


def _body(
    request: ModelRequest,
    dialect: ChatDialect | None = None,
    *,
    traits: ModelTraits | None = None,
    conceded: dict[str, str] | None = None,
) -> dict[str, Any]:
    return json.loads(ChatRequests(dialect).body(request, model="m", traits=traits, conceded=conceded))


def _story(dialect: ChatDialect, *messages: Any) -> list[tuple[str, Any]]:
    return [
        (message["role"], message["content"])
        for message in _body(model_request(*messages), dialect)["messages"]
    ]


def _call(call_id: str = "c1") -> ToolCall:
    return ToolCall(call_id, "read", {})


OPTIONS: list[tuple[ChatDialect, dict[str, str], dict[str, Any]]] = [
    (
        ChatDialect(),
        {},
        {"max_tokens": 500, "reasoning_effort": "low", "stream_options": {"include_usage": True}},
    ),
    (
        ChatDialect(token_field="max_completion_tokens", thinking_field="reasoning", usage_option=False),
        {},
        {"max_completion_tokens": 500, "reasoning": {"effort": "low"}},
    ),
    (ChatDialect(thinking_field="none", usage_option=False), {}, {"max_tokens": 500}),
    (ChatDialect(), {"usage": "", "thinking": "", "token field": ""}, {"max_completion_tokens": 500}),
    (
        ChatDialect(token_field="max_completion_tokens", usage_option=False),
        {"thinking": "", "token field": ""},
        {"max_tokens": 500},
    ),
]


@pytest.mark.covers("W130")
@pytest.mark.parametrize(
    ("window", "most"), [(None, 8_000), (200_000, 8_000), (16_000, 16_000 - 10_004 - 1_024), (9_000, 1_024)]
)
def test_an_answer_may_have_what_the_user_allows_and_the_window_has_room_for(
    window: int | None, most: int
) -> None:
    traits = ModelTraits(ModelLimits(window), output_cap=8_000)
    request = model_request(user("x" * 40_000))
    assert _body(request, traits=traits)["max_tokens"] == most
    responses = json.loads(ResponsesRequests().body(request, model="m", traits=traits))
    assert responses["max_output_tokens"] == most


@pytest.mark.covers("R291")
def test_the_room_for_an_answer_is_what_all_that_is_sent_leaves() -> None:
    tools = (ToolSpec("t", "d" * 8_000, {"type": "object", "properties": {}}),)
    request = model_request(user("x" * 20_000), system="s" * 32_000, tools=tools)
    traits = ModelTraits(ModelLimits(30_000, 16_000), output_cap=16_000)
    limits = [
        _body(request, traits=traits)["max_tokens"],
        json.loads(ResponsesRequests().body(request, model="m", traits=traits))["max_output_tokens"],
        json.loads(AnthropicRequests().body(request, model="m", traits=traits))["max_tokens"],
    ]
    left = 30_000 - (20_000 + 32_000 + 8_000) // 4 - 1_024
    assert [left - 100 < limit <= left for limit in limits] == [True] * 3


SWITCH = ChatDialect(thinking_switch=True)
SWITCHED: list[tuple[ChatDialect, ThinkingLevel, dict[str, str], dict[str, Any]]] = [
    (SWITCH, "off", {}, {"thinking": {"type": "disabled"}}),
    (SWITCH, "high", {}, {"thinking": {"type": "enabled"}, "reasoning_effort": "high"}),
    (SWITCH, "off", {"thinking": ""}, {}),
    (SWITCH, "high", {"thinking": ""}, {}),
    (ChatDialect(), "off", {}, {}),
]


@pytest.mark.parametrize(("dialect", "level", "conceded", "asked"), SWITCHED)
def test_thinking_is_switched_off_where_a_server_has_a_switch(
    dialect: ChatDialect, level: ThinkingLevel, conceded: dict[str, str], asked: dict[str, Any]
) -> None:
    body = _body(model_request(thinking=level), dialect, conceded=conceded)
    assert {name: body[name] for name in ("thinking", "reasoning_effort") if name in body} == asked


@pytest.mark.covers("W129")
@pytest.mark.parametrize(("dialect", "conceded", "options"), OPTIONS)
def test_options_are_asked_for_in_the_servers_words_or_not_at_all(
    dialect: ChatDialect, conceded: dict[str, str], options: dict[str, Any]
) -> None:
    body = _body(
        model_request(thinking="low"), dialect, traits=ModelTraits(output_cap=500), conceded=conceded
    )
    fixed = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "stream": True}
    assert body == {**fixed, **options}


def test_a_model_that_does_not_think_is_not_asked_to() -> None:
    body = _body(model_request(thinking="high"), traits=ModelTraits(thinking=False))
    assert "reasoning_effort" not in body


@pytest.mark.covers("W114")
@pytest.mark.parametrize(
    ("traits", "conceded"), [(ModelTraits(images=False), {}), (ModelTraits(), {"images": ""})]
)
def test_a_note_takes_the_place_of_an_image_that_cannot_be_seen(
    traits: ModelTraits, conceded: dict[str, str]
) -> None:
    history = user("See", PNG), assistant(_call()), tool_result("c1", PNG)
    messages = _body(model_request(*history), traits=traits, conceded=conceded)["messages"]
    assert [message["content"] for message in messages] == [
        "See\n(an image that this model cannot see)",
        None,
        "(an image that this model cannot see)",
    ]


@pytest.mark.covers("W131")
def test_the_system_prompt_has_the_role_the_server_knows() -> None:
    body = _body(model_request(system="Be brief."), ChatDialect(system_role="developer"))
    assert body["messages"][0] == {"role": "developer", "content": "Be brief."}


@pytest.mark.covers("W103")
def test_neighbours_of_one_role_are_one_message_where_roles_must_take_turns() -> None:
    history = user("One"), user("Two", PNG), assistant("a"), assistant(), assistant("b", _call())
    assert _story(STRICT, *history, tool_result("c1", "A"), user("c")) == [
        ("user", [{"type": "text", "text": "One"}, {"type": "text", "text": "Two"}, PNG_PART]),
        ("assistant", "a\n\nb"),
        ("tool", "A"),
        ("user", "c"),
    ]


@pytest.mark.covers("W103", "W112")
def test_an_image_of_a_result_and_the_user_after_it_take_turns_too() -> None:
    history = user("Hi"), assistant(_call()), tool_result("c1", PNG), user("Go")
    assert _story(STRICT, *history) == [
        ("user", "Hi"),
        ("assistant", None),
        ("tool", "(image, see below)"),
        ("user", [PNG_PART]),
        ("assistant", "Noted."),
        ("user", "Go"),
    ]


@pytest.mark.covers("W104")
def test_an_answer_stands_between_a_result_and_the_user_where_it_must() -> None:
    history = user("Hi"), assistant(_call()), tool_result("c1", "A"), user("Go")
    assert _story(MISTRAL, *history)[2:] == [("tool", "A"), ("assistant", "Noted."), ("user", "Go")]


@pytest.mark.covers("W105", "W106")
def test_the_user_has_the_first_and_the_last_word() -> None:
    assert _story(ChatDialect(), assistant("Welcome")) == [
        ("user", "(The conversation begins with your answer.)"),
        ("assistant", "Welcome"),
        ("user", "Go on."),
    ]


@pytest.mark.covers("W116")
def test_ids_of_nine_letters_are_made_where_they_must_be() -> None:
    ids = ["Abc123xyZ", "call_1", "call_2"]
    history = user("Hi"), assistant(*map(_call, ids)), *(tool_result(call_id, "a") for call_id in ids)
    _, turn, *results = _body(model_request(*history), MISTRAL)["messages"]
    sent = [call["id"] for call in turn["tool_calls"]]
    assert sent == [result["tool_call_id"] for result in results]
    assert sent[0] == "Abc123xyZ"
    assert len(set(sent)) == 3
    assert all(len(call_id) == 9 and call_id.isalnum() for call_id in sent)


@pytest.mark.covers("W138")
def test_merged_neighbours_are_written_the_same_in_each_request() -> None:
    writer = ChatRequests(STRICT)
    history = user("a"), user("b"), assistant("c"), assistant("d")
    first = writer.body(model_request(*history, user("e")), model="m")
    second = writer.body(model_request(*history, user("e")), model="m")
    assert first == second == ChatRequests(STRICT).body(model_request(*history, user("e")), model="m")


THOUGHT = ThinkingBlock("Hm.", data={"field": "reasoning_content"}, origin="openai-chat")
FOREIGN = ThinkingBlock("Plan.", "sig", None, "anthropic")


@pytest.mark.covers("W124")
@pytest.mark.parametrize(
    ("back", "thoughts"),
    [
        ("as it came", [None, None, "Hm."]),
        ("always", ["Plan.", "", "Hm."]),
        ("never", [None, None, None]),
    ],
)
def test_thinking_goes_back_as_the_server_wants_it(back: Any, thoughts: list[str | None]) -> None:
    history = user("Hi"), assistant(FOREIGN, "a"), user("b"), assistant("c"), assistant(THOUGHT, _call())
    messages = _body(model_request(*history), ChatDialect(reasoning_back=back))["messages"]
    answers = [message for message in messages if message["role"] == "assistant"]
    assert [answer.get("reasoning_content") for answer in answers] == thoughts


def test_schemas_are_reduced_where_they_must_be() -> None:
    tool = ToolSpec("read", "", {"type": "object", "properties": {"a": {}}, "additionalProperties": False})
    (sent,) = _body(model_request(tools=(tool,)), ChatDialect(schema="reduced"))["tools"]
    assert sent["function"]["parameters"] == {"type": "object", "properties": {"a": {"type": "string"}}}
