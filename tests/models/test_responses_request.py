"""What goes out: kernel messages as items of the Responses API, each written once."""

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
from pilothouse_agent.kernel.request import ModelRequest, ThinkingLevel, ToolSpec
from pilothouse_agent.models.model_traits import ModelTraits
from pilothouse_agent.models.responses.request import ResponsesRequests
from support.asking import assistant, model_request, tool_result, user

MODEL = "openai/gpt-5.2"
PNG = ImageBlock("image/png", "iVBO")
PNG_PART = {"type": "input_image", "image_url": "data:image/png;base64,iVBO", "detail": "auto"}
SEALED: dict[str, Any] = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "U0VBTA=="}


def _body(
    request: ModelRequest,
    *,
    model: str | None = None,
    traits: ModelTraits | None = None,
    conceded: dict[str, str] | None = None,
) -> dict[str, Any]:
    name = model or request.model.partition("/")[2]
    return json.loads(ResponsesRequests().body(request, model=name, traits=traits, conceded=conceded))


def _items(*messages: ModelMessage, model: str = MODEL) -> list[dict[str, Any]]:
    return _body(model_request(*messages, model=model))["input"]


def _answer(turn: AssistantMessage, model: str = MODEL) -> list[dict[str, Any]]:
    """The items of the one answer of a conversation, results left out."""
    items = _items(user("Hi"), turn, user("Go on"), model=model)[1:-1]
    return [item for item in items if item["type"] != "function_call_output"]


def _said(role: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": [*parts]}


def _answered(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": text}


def _text(text: str) -> dict[str, Any]:
    return {"type": "input_text", "text": text}


def _call(call_id: str = "c1", **fields: Any) -> ToolCall:
    given: dict[str, Any] = {"arguments": {"path": "a"}, **fields}
    return ToolCall(call_id, "read", **given)


def _wire_call(call_id: str = "c1", **fields: Any) -> dict[str, Any]:
    call = {"type": "function_call", "call_id": call_id, "name": "read", "arguments": '{"path":"a"}'}
    return {**call, **fields}


def _output(call_id: str, output: Any) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": output}


def _thought(item: Any, model: str = MODEL, origin: str = "openai") -> ThinkingBlock:
    return ThinkingBlock("Hm.", data={"item": item, "model": model}, origin=origin)


MADE = _call(extra={"item": {"type": "function_call", "id": "fc_1"}, "model": MODEL})


@pytest.mark.covers("W126", "W132")
def test_a_request_stores_nothing_and_asks_for_the_thinking_sealed() -> None:
    tool = ToolSpec("read", "Reads.", {"type": "object", "properties": {"path": {"type": "string"}}})
    request = model_request(user("Hi"), model=MODEL, system="Be brief.", tools=(tool,), thinking="low")
    assert _body(request, traits=ModelTraits(output_cap=500)) == {
        "model": "gpt-5.2",
        "instructions": "Be brief.",
        "input": [_said("user", _text("Hi"))],
        "tools": [
            {
                "type": "function",
                "name": "read",
                "description": "Reads.",
                "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
                "strict": False,
            }
        ],
        "stream": True,
        "store": False,
        "prompt_cache_key": "s1",
        "max_output_tokens": 500,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "low", "summary": "auto"},
    }


@pytest.mark.covers("W108")
def test_a_tool_turn_is_a_call_item_and_an_output_item_for_each_result() -> None:
    turn = assistant("Reading.", _call(), _call("c2"))
    results = tool_result("c1", "text", "more"), tool_result("c2")
    assert _items(user("Hi"), turn, *results) == [
        _said("user", _text("Hi")),
        _answered("Reading."),
        _wire_call(),
        _wire_call("c2"),
        _output("c1", "text\nmore"),
        _output("c2", "(no output)"),
    ]


@pytest.mark.covers("W113")
def test_images_stand_where_they_belong_also_in_results() -> None:
    assert _items(user("See", PNG), assistant(_call()), tool_result("c1", "Saved.", PNG)) == [
        _said("user", _text("See"), PNG_PART),
        _wire_call(),
        _output("c1", [_text("Saved."), PNG_PART]),
    ]


@pytest.mark.covers("W114")
def test_a_note_takes_the_place_of_an_image_that_the_model_cannot_see() -> None:
    request = model_request(user("See", PNG), model=MODEL)
    body = _body(request, traits=ModelTraits(images=False))
    assert body["input"] == [_said("user", _text("See"), _text("(an image that this model cannot see)"))]


@pytest.mark.covers("W107", "W108")
def test_messages_that_say_nothing_do_no_harm() -> None:
    thought = assistant(ThinkingBlock("Hm."))
    assert _items(user(""), assistant(), assistant(" "), thought, user("Hi")) == [
        _said("user", _text("(empty)")),
        _said("user", _text("Hi")),
    ]


@pytest.mark.covers("W106")
def test_a_conversation_that_ends_with_the_model_is_gone_on_with() -> None:
    assert _items(user("Hi"), assistant("Hello"))[-1] == _said("user", _text("Go on."))


THINKING: dict[str, tuple[AssistantMessage, list[Any]]] = {
    "sealed, before a call": (assistant(_thought(SEALED), _call()), [SEALED, _wire_call()]),
    "sealed, twice": (
        assistant(_thought(SEALED), "Yes", _thought(SEALED), _call()),
        [SEALED, _answered("Yes"), SEALED, _wire_call()],
    ),
    "sealed, with nothing after it": (
        assistant("Yes", _thought(SEALED)),
        [_answered("Yes")],
    ),
    "sealed, alone": (assistant(_thought(SEALED)), []),
    "not sealed": (assistant(_thought({**SEALED, "encrypted_content": None}), _call()), [_wire_call()]),
    "of another model": (assistant(_thought(SEALED, "openai/o3"), _call()), [_wire_call()]),
    "of another format": (assistant(_thought(SEALED, origin="anthropic"), _call()), [_wire_call()]),
    "of a message that broke off": (
        assistant(_thought(SEALED), "Y", stop="interrupted"),
        [_answered("Y")],
    ),
}


@pytest.mark.covers("W110", "W121", "W126", "W127")
@pytest.mark.parametrize("name", THINKING)
def test_thinking_goes_back_whole_to_its_own_model_with_what_it_led_to(name: str) -> None:
    turn, items = THINKING[name]
    assert _answer(turn) == items


def test_thinking_without_a_name_belongs_to_the_model_of_its_message() -> None:
    turn = assistant(ThinkingBlock("", data={"item": SEALED}, origin="openai"), _call(), model=MODEL)
    assert _answer(turn) == [SEALED, _wire_call()]
    assert _answer(turn, "openai/o3") == [_wire_call()]


def test_ids_of_items_go_back_only_where_they_are_such_as_the_format_makes() -> None:
    calls = [
        _call(
            "c1", extra={"item": {"type": "function_call", "id": "fc_1", "namespace": "n"}, "model": MODEL}
        ),
        _call("c2", extra={"item": {"type": "function_call", "id": "6b2-4af"}, "model": MODEL}),
    ]
    turn = assistant(_thought(SEALED), *calls)
    assert _answer(turn) == [SEALED, _wire_call(id="fc_1", namespace="n"), _wire_call("c2")]
    assert _answer(turn, "openai/o3") == [_wire_call(), _wire_call("c2")]


@pytest.mark.covers("W127")
@pytest.mark.parametrize(
    "turn",
    [
        assistant(MADE),
        assistant(_thought({**SEALED, "encrypted_content": None}), MADE),
        assistant(_thought(SEALED), MADE, stop="interrupted"),
    ],
    ids=["no thinking", "not sealed", "broken off"],
)
def test_a_call_without_the_thinking_it_came_from_is_not_named_by_its_id(turn: AssistantMessage) -> None:
    assert _answer(turn) == [_wire_call()]


def test_a_call_with_free_text_goes_back_as_a_call_of_a_function() -> None:
    extra: Any = {"item": {"type": "custom_tool_call", "id": "ctc_1"}, "model": MODEL}
    free = _call(arguments=None, arguments_text="*** Begin", extra=extra)
    parsed = _call("c2", arguments={"a": 1}, extra=extra)
    assert [json.loads(item["arguments"]) for item in _answer(assistant(free, parsed))] == [
        {"input": "*** Begin"},
        {"input": '{"a":1}'},
    ]


@pytest.mark.covers("R185", "W41", "W42", "W140", "W141")
def test_arguments_and_texts_are_always_what_a_server_can_read() -> None:
    turn = assistant("b\ude00", _call(arguments=None, arguments_text='{"path": "a'))
    assert _answer(turn) == [
        _answered("b\ufffd"),
        _wire_call(arguments="{}"),
    ]


@pytest.mark.covers("W116")
def test_ids_too_long_or_odd_are_made_legal_alike_in_call_and_result() -> None:
    ids = ["call_" + "x" * 60 + "|fc_1", "call_" + "x" * 60 + "|fc_2", "übung 1"]
    turn = assistant(*map(_call, ids))
    items = _items(user("Hi"), turn, *(tool_result(call_id, "a") for call_id in ids))
    sent, answered = [item["call_id"] for item in items[1:4]], [item["call_id"] for item in items[4:]]
    assert sent == answered
    assert len(set(sent)) == 3
    assert all(call_id.isascii() and len(call_id) <= 64 for call_id in sent)


LEVELS: list[tuple[str, tuple[str | None, ...]]] = [
    ("gpt-5.2", ("none", "low", "low", "medium", "high")),
    ("gpt-5-mini", ("minimal", "minimal", "low", "medium", "high")),
    ("gpt-5.1-codex", ("low", "low", "low", "medium", "high")),
    ("o4-mini", ("low", "low", "low", "medium", "high")),
    ("gpt-5-pro", (None, None, None, None, None)),
    ("gpt-4.1", (None, None, None, None, None)),
    ("openai/gpt-5", ("minimal", "minimal", "low", "medium", "high")),
    ("llama-9", (None, "low", "low", "medium", "high")),
]


@pytest.mark.parametrize(("model", "words"), LEVELS)
def test_a_thinking_level_is_asked_for_in_a_word_that_the_model_takes(
    model: str, words: tuple[str | None, ...]
) -> None:
    levels: tuple[ThinkingLevel, ...] = ("off", "minimal", "low", "medium", "high")
    bodies = [_body(model_request(model=f"openai/{model}", thinking=level)) for level in levels]
    assert tuple(body.get("reasoning", {}).get("effort") for body in bodies) == words


@pytest.mark.parametrize(
    ("model", "traits"), [("gpt-4.1", ModelTraits()), ("gpt-5", ModelTraits(thinking=False))]
)
def test_a_model_that_does_not_think_is_not_asked_about_it(model: str, traits: ModelTraits) -> None:
    body = _body(model_request(model=f"openai/{model}", thinking="high"), traits=traits)
    assert {"include", "reasoning"} & body.keys() == set()


CONCEDED: dict[str, dict[str, Any]] = {
    "encrypted": {"include": None},
    "summary": {"reasoning": {"effort": "low"}},
    "effort": {"reasoning": {"summary": "auto"}},
    "cache key": {"prompt_cache_key": None},
}


@pytest.mark.parametrize("name", CONCEDED)
def test_what_was_conceded_is_left_out(name: str) -> None:
    request = model_request(model=MODEL, thinking="low")
    wanted = {**_body(request), **CONCEDED[name]}
    body = _body(request, conceded={name: ""})
    assert body == {key: value for key, value in wanted.items() if value is not None}


@pytest.mark.covers("W138")
def test_a_message_is_written_the_same_in_each_request() -> None:
    writer = ResponsesRequests()
    history = (user("a"), assistant(_thought(SEALED), _call()), tool_result("c1", "b"))
    first = writer.body(model_request(*history, model=MODEL), model="m")
    second = writer.body(model_request(*history, assistant("c"), user("d"), model=MODEL), model="m")
    shared = first.index(b'],"stream"')
    assert second[:shared] == first[:shared]
