"""What goes out: kernel messages as chat messages that servers take, each written once."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pilothouse_agent.kernel.messages import (
    AssistantMessage,
    ImageBlock,
    ModelMessage,
    ThinkingBlock,
    ToolCall,
)
from pilothouse_agent.kernel.request import ModelRequest, ToolSpec
from pilothouse_agent.models.chat_completions.request import ChatRequests
from pilothouse_agent.models.history.pieces import Pieces
from support.asking import assistant, model_request, tool_result, user

PNG = ImageBlock("image/png", "iVBO")
PATH_A = {"path": "a"}
PNG_PART = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO"}}


def _body(request: ModelRequest, writer: ChatRequests | None = None) -> dict[str, Any]:
    return json.loads((writer or ChatRequests()).body(request, model="m"))


def _messages(*messages: ModelMessage, model: str = "openai-chat/m") -> list[dict[str, Any]]:
    return _body(model_request(*messages, model=model))["messages"]


def _answer(turn: AssistantMessage, model: str = "openai-chat/m") -> dict[str, Any]:
    """The one answer of a conversation, as it goes out."""
    return _messages(user("Hi"), turn, user("Go on"), model=model)[1]


def _call(call_id: str = "c1", name: str = "read", arguments: Any = PATH_A, **fields: Any) -> ToolCall:
    return ToolCall(call_id, name, arguments, **fields)


def _wire_call(call_id: str = "c1", name: str = "read", arguments: str = '{"path":"a"}') -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


@pytest.mark.covers("W108")
def test_a_tool_turn_is_a_call_and_one_tool_message_for_each_result() -> None:
    turn = assistant("Reading.", _call(), _call("c2"))
    assert _messages(user("Hi"), turn, tool_result("c1", "text", "more"), tool_result("c2")) == [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Reading.", "tool_calls": [_wire_call(), _wire_call("c2")]},
        {"role": "tool", "tool_call_id": "c1", "content": "text\nmore"},
        {"role": "tool", "tool_call_id": "c2", "content": "(no output)"},
    ]


@pytest.mark.covers("W107", "W112")
def test_images_of_tool_results_follow_them_in_one_user_message() -> None:
    turn = assistant(_call(), _call("c2"))
    results = tool_result("c1", PNG), tool_result("c2", "b", PNG)
    assert _messages(user("Hi"), turn, *results, user("Go on")) == [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": None, "tool_calls": [_wire_call(), _wire_call("c2")]},
        {"role": "tool", "tool_call_id": "c1", "content": "(image, see below)"},
        {"role": "tool", "tool_call_id": "c2", "content": "b"},
        {"role": "user", "content": [PNG_PART, PNG_PART]},
        {"role": "user", "content": "Go on"},
    ]


@pytest.mark.covers("W115")
def test_a_users_image_goes_beside_the_text() -> None:
    content = [{"type": "text", "text": "See"}, PNG_PART]
    assert _messages(user("See", PNG)) == [{"role": "user", "content": content}]


@pytest.mark.covers("W107", "W108")
def test_messages_that_say_nothing_do_no_harm() -> None:
    thought = assistant(ThinkingBlock("Hm."))
    assert _messages(user(""), assistant(), assistant(" "), thought, user("Hi")) == [
        {"role": "user", "content": "(empty)"},
        {"role": "user", "content": "Hi"},
    ]


@pytest.mark.covers("W42", "W141")
@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ('{"path": "a"}', '{"path":"a"}'),
        ('{"path": "a', "{}"),
        ("[1]", "{}"),
        ("null", "{}"),
        ("", "{}"),
        ('{"n": 1e999}', '{"n":null}'),
        ('{"a":' * 600 + "1" + "}" * 600, "{}"),
    ],
)
def test_arguments_in_the_history_are_always_the_json_of_an_object(text: str, sent: str) -> None:
    message = _answer(assistant(_call(arguments=None, arguments_text=text)))
    assert message["tool_calls"] == [_wire_call(arguments=sent)]


@pytest.mark.covers("W42")
def test_numbers_beyond_64_bits_are_sent_whole() -> None:
    message = _answer(assistant(_call(arguments={"n": 2**70})))
    assert message["tool_calls"] == [_wire_call(arguments=f'{{"n":{2**70}}}')]


@pytest.mark.covers("R185", "W41", "W140")
def test_lone_surrogates_become_replacement_characters() -> None:
    call = _call(arguments={"\ud83d": ["\ude00", "\ud83d\ude00"]})
    assert _messages(user("a\ud83d"), assistant("b\ude00", call), tool_result("c1", "😋\udcff")) == [
        {"role": "user", "content": "a\ufffd"},
        {
            "role": "assistant",
            "content": "b\ufffd",
            "tool_calls": [_wire_call(arguments='{"\ufffd":["\ufffd","😀"]}')],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "😋\ufffd"},
    ]


@pytest.mark.covers("W116")
def test_ids_too_long_for_the_format_are_shortened_alike_in_call_and_result() -> None:
    long, other = "call_" + "x" * 60, "call_" + "x" * 61
    _, turn, first, second = _messages(
        user("Hi"), assistant(_call(long), _call(other)), tool_result(long, "a"), tool_result(other, "b")
    )
    ids = [call["id"] for call in turn["tool_calls"]]
    assert ids == [first["tool_call_id"], second["tool_call_id"]]
    assert len(set(ids)) == 2
    assert max(map(len, ids)) <= 40


@pytest.mark.covers("W118")
def test_names_are_made_legal_and_can_be_told_back() -> None:
    tools = (ToolSpec("read", "", {}), ToolSpec("my.tool/ä", "", {}), ToolSpec("my_tool__", "", {}))
    writer = ChatRequests()
    body = _body(model_request(user("Hi"), assistant(_call(name="my.tool/ä")), tools=tools), writer)
    sent = [tool["function"]["name"] for tool in body["tools"]]
    assert sent[::2] == ["read", "my_tool__"]
    assert writer.names(tools) == {sent[1]: "my.tool/ä"}
    assert body["messages"][1]["tool_calls"][0]["function"]["name"] == sent[1]


@pytest.mark.covers("W118")
def test_long_names_that_begin_alike_stay_apart() -> None:
    tools = tuple(ToolSpec("mcp__" + "x" * 70 + end, "", {}) for end in ("one", "two"))
    writer = ChatRequests()
    sent = [tool["function"]["name"] for tool in _body(model_request(tools=tools), writer)["tools"]]
    assert writer.names(tools) == dict(zip(sent, (tool.name for tool in tools), strict=True))
    assert [len(name) <= 64 for name in sent] == [True, True]


@pytest.mark.covers("W134", "W136")
def test_tools_are_told_with_a_whole_schema_and_left_out_when_there_are_none() -> None:
    tool = ToolSpec("now", "The time.", {}, guidance="for the system prompt only")
    parameters: dict[str, Any] = {"type": "object", "properties": {}}
    function: dict[str, Any] = {"name": "now", "description": "The time.", "parameters": parameters}
    assert _body(model_request(tools=(tool,)))["tools"] == [{"type": "function", "function": function}]
    assert "tools" not in _body(model_request())


THOUGHTS: dict[str, tuple[Any, dict[str, Any]]] = {
    "details": ({"reasoning_details": [{"signature": "s"}]}, {"reasoning_details": [{"signature": "s"}]}),
    "field": ({"field": "reasoning_content"}, {"reasoning_content": "Hm."}),
    "nothing": (None, {}),
}


@pytest.mark.covers("W121", "W125")
@pytest.mark.parametrize("name", THOUGHTS)
def test_thinking_goes_back_to_its_own_model_in_the_form_it_came(name: str) -> None:
    data, sent = THOUGHTS[name]
    turn = assistant(ThinkingBlock("Hm.", data=data, origin="openai-chat"), _call())
    plain = {"role": "assistant", "content": None, "tool_calls": [_wire_call()]}
    assert _answer(turn) == {**plain, **sent}
    assert _answer(turn, "openai-chat/other") == plain


@pytest.mark.covers("W124")
def test_a_field_of_thinking_goes_back_beside_calls_only() -> None:
    thought = ThinkingBlock("Hm.", data={"field": "reasoning_content"}, origin="openai-chat")
    assert _answer(assistant(thought, "Yes")) == {"role": "assistant", "content": "Yes"}


@pytest.mark.covers("W121")
def test_thinking_of_another_format_is_not_sent() -> None:
    foreign = ThinkingBlock("Hm.", "signature", {"reasoning_details": ["x"]}, "anthropic")
    assert _answer(assistant(foreign, "Yes")) == {"role": "assistant", "content": "Yes"}


@pytest.mark.covers("W29")
def test_what_came_with_a_call_goes_back_with_it() -> None:
    extra: Any = {"extra_content": {"google": {"thought_signature": "s"}}, "foreign": 1}
    message = _answer(assistant(_call(extra=extra)))
    signed = {**_wire_call(), "extra_content": {"google": {"thought_signature": "s"}}}
    assert message["tool_calls"] == [signed]
    assert _answer(assistant(_call(extra=extra)), "gemini/other")["tool_calls"] == [_wire_call()]


def test_a_message_is_written_once_while_it_stays_in_the_history() -> None:
    made: list[ModelMessage] = []

    def make(message: ModelMessage) -> bytes:
        made.append(message)
        return b"x" * 100

    pieces = Pieces(make, len)
    history: list[ModelMessage] = []
    for turn in range(50):
        history.append(user(str(turn)))
        assert [pieces.of(message) for message in history] == [b"x" * 100] * (turn + 1)
    assert made == history


def test_what_was_written_is_forgotten_oldest_first_beyond_its_room() -> None:
    made: list[ModelMessage] = []

    def make(message: ModelMessage) -> bytes:
        made.append(message)
        return b"x" * 600

    pieces = Pieces(make, len, room=3_000)
    first, *_, last = history = [user(str(number)) for number in range(5)]
    for message in (*history, last, first):
        pieces.of(message)
    assert made == [*history, first]


def test_two_equal_messages_are_two_messages() -> None:
    writer = ChatRequests()
    request = model_request(user("a"), user("a"))
    assert len(_body(request, writer)["messages"]) == 2
    assert writer.body(request, model="m") == ChatRequests().body(request, model="m")
