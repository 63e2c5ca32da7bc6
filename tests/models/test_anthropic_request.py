"""What goes out: kernel messages as blocks of the Messages API, each written once."""

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
    ToolResultMessage,
)
from pilothouse_agent.kernel.request import ModelLimits, ModelRequest, ThinkingLevel, ToolSpec
from pilothouse_agent.models.messages.request import AnthropicRequests
from pilothouse_agent.models.model_traits import ModelTraits
from support.asking import TIME, assistant, model_request, tool_result, user

MODEL = "anthropic/claude-sonnet-4-5"
NEW = "anthropic/claude-opus-4-8"
PNG = ImageBlock("image/png", "iVBO")
PNG_BLOCK = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}}
MARK = {"cache_control": {"type": "ephemeral"}}
REDACTED = {"type": "redacted_thinking", "data": "RU5D"}
SERVED: dict[str, Any] = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
CALLED = {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a"}}
READ = ToolSpec("read", "Reads.", {"properties": {"path": {"type": "string"}}})


def _body(
    request: ModelRequest,
    *,
    traits: ModelTraits | None = None,
    conceded: dict[str, str] | None = None,
) -> dict[str, Any]:
    name = request.model.partition("/")[2]
    return json.loads(AnthropicRequests().body(request, model=name, traits=traits, conceded=conceded))


def _messages(*messages: ModelMessage, model: str = MODEL, **options: Any) -> list[dict[str, Any]]:
    """Without the marks of the cache."""
    request = model_request(*messages, model=model, tools=(READ,))
    return _body(request, conceded={"cache marks": ""}, **options)["messages"]


def _answer(turn: AssistantMessage, model: str = MODEL) -> list[dict[str, Any]]:
    """The blocks of the one answer of a conversation."""
    messages = _messages(user("Hi"), turn, user("Go on"), model=model)
    return messages[1]["content"] if len(messages) > 1 else []


def _said(role: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "content": [*blocks]}


def _text(text: str, **fields: Any) -> dict[str, Any]:
    return {"type": "text", "text": text, **fields}


def _call(call_id: str = "c1", **fields: Any) -> ToolCall:
    given: dict[str, Any] = {"arguments": {"path": "a"}, **fields}
    return ToolCall(call_id, "read", **given)


def _result(call_id: str, *content: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, **fields, "content": [*content]}


def _thinking(signature: str | None = "c2ln", model: str = MODEL, origin: str = "anthropic") -> ThinkingBlock:
    return ThinkingBlock("Hm.", signature, {"model": model}, origin)


def _opaque(block: Any, model: str = MODEL) -> ThinkingBlock:
    return ThinkingBlock("", None, {"model": model, "block": block}, "anthropic")


@pytest.mark.covers("W132", "W137")
def test_a_request_goes_out_as_the_format_asks_with_marks_for_the_cache() -> None:
    history = user("Hi"), assistant("Hello"), user("a", "b")
    request = model_request(*history, model=MODEL, system="Be brief.", tools=(READ,))
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    assert _body(request) == {
        "model": "claude-sonnet-4-5",
        "max_tokens": 64_000,
        "stream": True,
        "system": [_text("Be brief.", **MARK)],
        "tools": [{"name": "read", "description": "Reads.", "input_schema": schema, **MARK}],
        "messages": [
            _said("user", _text("Hi", **MARK)),
            _said("assistant", _text("Hello")),
            _said("user", _text("a"), _text("b", **MARK)),
        ],
    }


@pytest.mark.covers("W108")
def test_all_results_of_a_batch_and_what_the_user_adds_are_one_message() -> None:
    turn = assistant("Reading.", _call(), _call("c2"))
    failed = ToolResultMessage("r", (), TIME, "c2", "read", is_error=True)
    assert _messages(user("Hi"), turn, tool_result("c1", "text", "more"), failed, user("Hurry")) == [
        _said("user", _text("Hi")),
        _said("assistant", _text("Reading."), CALLED, {**CALLED, "id": "c2"}),
        _said(
            "user",
            _result("c1", _text("text"), _text("more")),
            _result("c2", _text("(no output)"), is_error=True),
            _text("Hurry"),
        ),
    ]


@pytest.mark.covers("W113")
def test_images_stand_where_they_belong_also_in_results() -> None:
    assert _messages(user("See", PNG), assistant(_call()), tool_result("c1", PNG)) == [
        _said("user", _text("See"), PNG_BLOCK),
        _said("assistant", CALLED),
        _said("user", _result("c1", PNG_BLOCK)),
    ]


@pytest.mark.covers("W114")
def test_a_note_takes_the_place_of_an_image_that_cannot_be_seen() -> None:
    bitmap = ImageBlock("image/bmp", "Qk0=")
    assert _messages(user(PNG), traits=ModelTraits(images=False)) == [
        _said("user", _text("(an image that this model cannot see)"))
    ]
    assert _messages(user(bitmap)) == [
        _said("user", _text("(an image of the type image/bmp, which this model cannot see)"))
    ]


@pytest.mark.covers("W103", "W107", "W108")
def test_messages_that_say_nothing_do_no_harm() -> None:
    thought = assistant(ThinkingBlock("Hm."))
    assert _messages(user(""), assistant(), assistant(" "), thought, user("Hi")) == [
        _said("user", _text("(empty)"), _text("Hi"))
    ]


@pytest.mark.covers("W105", "W106")
def test_the_user_has_the_first_and_the_last_word() -> None:
    assert _messages(assistant("Welcome"), assistant("Hello")) == [
        _said("user", _text("(The conversation begins with your answer.)")),
        _said("assistant", _text("Welcome"), _text("Hello")),
        _said("user", _text("Go on.")),
    ]


@pytest.mark.covers("W106", "W109")
def test_no_request_ends_with_the_blanks_of_an_answer() -> None:
    for turn in (assistant("Hello \n"), assistant(_thinking(), "Hello \n")):
        assert _messages(user("Hi"), turn)[-1] == _said("user", _text("Go on."))


@pytest.mark.covers("W137")
def test_there_are_never_more_than_four_marks_for_the_cache() -> None:
    turns = [message for _ in range(5) for message in (user("a", "", PNG), assistant(_thinking(), "b"))]
    body = _body(model_request(*turns, user(""), model=MODEL, system="Be brief.", tools=(READ, READ)))
    marked = [
        block for message in body["messages"] for block in message["content"] if MARK.items() <= block.items()
    ]
    assert json.dumps(body).count("cache_control") == 4
    assert marked == [{**PNG_BLOCK, **MARK}, _text("(empty)", **MARK)]


@pytest.mark.covers("W123")
@pytest.mark.parametrize(("cap", "budget"), [(2_000, None), (3_000, 1_500), (64_000, 32_000)])
def test_thinking_leaves_room_and_goes_with_no_option_it_does_not_bear(cap: int, budget: int | None) -> None:
    request = model_request(model=MODEL, thinking="high", tools=(READ,))
    body = _body(request, traits=ModelTraits(output_cap=cap), conceded={"cache marks": ""})
    thinking = {"thinking": {"type": "enabled", "budget_tokens": budget}} if budget else {}
    said = {
        name: value for name, value in body.items() if name not in ("model", "tools", "messages", "stream")
    }
    assert said == {"max_tokens": cap, **thinking}


@pytest.mark.covers("W55")
def test_after_a_pause_the_answer_goes_back_as_it_is() -> None:
    assert _messages(user("Hi"), assistant(_thinking(), "Yes", _opaque(SERVED))) == [
        _said("user", _text("Hi")),
        _said("assistant", THOUGHT, _text("Yes"), SERVED),
    ]


THINKING: dict[str, tuple[AssistantMessage, list[Any]]] = {
    "signed": (assistant(_thinking(), _call()), [THOUGHT, CALLED]),
    "signed, without text": (
        assistant(ThinkingBlock("", "c2ln", {"model": MODEL}, "anthropic"), "Yes"),
        [{**THOUGHT, "thinking": ""}, _text("Yes")],
    ),
    "redacted, between others": (
        assistant(_thinking(), _opaque(REDACTED), "Yes", _thinking(), _call()),
        [THOUGHT, REDACTED, _text("Yes"), THOUGHT, CALLED],
    ),
    "at the end": (assistant("Yes", _thinking(), _opaque(REDACTED)), [_text("Yes")]),
    "alone": (assistant(_thinking()), []),
    "not signed": (assistant(_thinking(None), _call()), [CALLED]),
    "of another model": (assistant(_thinking(model=NEW), _opaque(SERVED, NEW), _call()), [CALLED]),
    "of another format": (assistant(_thinking(origin="openai"), _call()), [CALLED]),
    "of a message that broke off": (assistant(_thinking(), "Y", stop="aborted"), [_text("Y")]),
    "of a block that is none": (assistant(_opaque({"a": 1}), _opaque("x"), "Yes"), [_text("Yes")]),
}


@pytest.mark.covers("W56", "W110", "W120", "W121")
@pytest.mark.parametrize("name", THINKING)
def test_thinking_goes_back_unchanged_to_its_own_model_and_in_its_place(name: str) -> None:
    turn, blocks = THINKING[name]
    assert _answer(turn) == blocks


def test_thinking_without_a_name_belongs_to_the_model_of_its_message() -> None:
    turn = assistant(ThinkingBlock("Hm.", "c2ln", None, "anthropic"), "Yes", model=MODEL)
    assert _answer(turn) == [THOUGHT, _text("Yes")]
    assert _answer(turn, NEW) == [_text("Yes")]


@pytest.mark.covers("R185", "W41", "W42", "W140", "W141")
def test_arguments_and_texts_are_always_what_a_server_can_read() -> None:
    turn = assistant("b\ude00", _call(arguments=None, arguments_text='{"path": 1e400'))
    infinite = assistant(_call(arguments={"n": float("inf")}))
    assert _answer(turn) == [_text("b\ufffd"), {**CALLED, "input": {}}]
    assert _answer(infinite) == [{**CALLED, "input": {"n": None}}]


@pytest.mark.covers("W116")
def test_ids_too_long_or_odd_are_made_legal_alike_in_call_and_result() -> None:
    ids = ["x" * 70 + "1", "x" * 70 + "2", "functions.read:0"]
    _, turn, results = _messages(
        user("Hi"), assistant(*map(_call, ids)), *(tool_result(call_id, "a") for call_id in ids)
    )
    sent = [block["id"] for block in turn["content"]]
    assert sent == [block["tool_use_id"] for block in results["content"]]
    assert len(set(sent)) == 3
    assert all(set(call_id) <= set("abcdefghijklmnopqrstuvwxyz0123456789_-") for call_id in sent)


@pytest.mark.covers("W119")
def test_calls_in_the_history_keep_their_tools_but_none_may_be_called() -> None:
    history = user("Hi"), assistant(_call()), tool_result("c1", "a"), user("Sum up")
    body = _body(model_request(*history, model=MODEL))
    assert [tool["name"] for tool in body["tools"]] == ["read"]
    assert body["tool_choice"] == {"type": "none"}


LEVELS: tuple[ThinkingLevel, ...] = ("off", "minimal", "low", "medium", "high")
BUDGETS: list[tuple[str, tuple[int | None, ...]]] = [
    ("claude-sonnet-4-5", (None, 1_024, 4_096, 12_288, 32_000)),
    ("claude-opus-4-1-20250805", (None, 1_024, 4_096, 12_288, 16_000)),
    ("claude-3-7-sonnet-20250219", (None, 1_024, 4_096, 12_288, 16_000)),
    ("claude-sonnet-4-20250514", (None, 1_024, 4_096, 12_288, 16_000)),
    ("MiniMax-M2", (None, 1_024, 4_096, 4_096, 4_096)),
    ("claude-3-5-sonnet-20241022", (None, None, None, None, None)),
    ("claude-3-haiku-20240307", (None, None, None, None, None)),
]


@pytest.mark.covers("W123")
@pytest.mark.parametrize(("model", "budgets"), BUDGETS)
def test_an_older_model_is_given_a_budget_for_its_thinking_that_leaves_room_for_the_answer(
    model: str, budgets: tuple[int | None, ...]
) -> None:
    bodies = [_body(model_request(model=f"anthropic/{model}", thinking=level)) for level in LEVELS]
    assert tuple(body.get("thinking", {}).get("budget_tokens") for body in bodies) == budgets
    assert not any("output_config" in body for body in bodies)


@pytest.mark.parametrize("model", ["claude-opus-4-8", "claude-sonnet-4-6", "claude-fable-5", "claude-next"])
def test_a_newer_model_is_told_how_hard_to_think(model: str) -> None:
    bodies = [_body(model_request(model=f"anthropic/{model}", thinking=level)) for level in LEVELS]
    efforts = [body.get("output_config", {}).get("effort") for body in bodies]
    thinking = [body.get("thinking") for body in bodies]
    assert efforts == [None, "low", "low", "medium", "high"]
    assert thinking == [None, *[{"type": "adaptive", "display": "summarized"}] * 4]


@pytest.mark.covers("W122")
def test_a_turn_that_another_model_began_without_thinking_is_gone_on_with_without_it() -> None:
    open_turn = user("Hi"), assistant(_call()), tool_result("c1", "a")
    own_turn = user("Hi"), assistant(_thinking(), _call()), tool_result("c1", "a")
    done = *open_turn, assistant("Done."), user("More")
    asked = [
        "thinking" in _body(model_request(*history, model=MODEL, thinking="low"))
        for history in (open_turn, own_turn, done)
    ]
    assert asked == [False, True, True]


def test_a_model_that_does_not_think_is_not_asked_to() -> None:
    request = model_request(model=NEW, thinking="high")
    assert {"thinking", "output_config"} & _body(request, traits=ModelTraits(thinking=False)).keys() == set()


LIMITS: dict[str, tuple[ModelTraits, dict[str, str], int]] = {
    "known": (ModelTraits(ModelLimits(200_000, 128_000)), {}, 128_000),
    "not known": (ModelTraits(), {}, 64_000),
    "set by the user": (ModelTraits(ModelLimits(200_000, 128_000), output_cap=500), {}, 500),
    "as far as the window has room": (ModelTraits(ModelLimits(20_000, 64_000)), {}, 20_000 - 10_004 - 1_024),
    "in a window that is full": (ModelTraits(ModelLimits(9_000, 64_000)), {}, 1_024),
    "as the server said": (ModelTraits(ModelLimits(200_000, 128_000)), {"output": "64000"}, 64_000),
}


@pytest.mark.covers("W130")
@pytest.mark.parametrize("name", LIMITS)
def test_the_limit_of_an_answer_is_what_model_window_and_user_allow(name: str) -> None:
    traits, conceded, limit = LIMITS[name]
    request = model_request(user("x" * 40_000), model=MODEL)
    assert _body(request, traits=traits, conceded=conceded)["max_tokens"] == limit


CONCEDED: dict[str, tuple[str, dict[str, Any]]] = {
    "budget": (
        MODEL,
        {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "low"}},
    ),
    "adaptive": (NEW, {"thinking": {"type": "enabled", "budget_tokens": 4_096}, "output_config": None}),
    "thinking": (NEW, {"thinking": None, "output_config": None}),
    "cache marks": (MODEL, {"messages": [_said("user", _text("Hi"))]}),
}


@pytest.mark.parametrize("name", CONCEDED)
def test_what_was_conceded_is_left_out_or_asked_for_otherwise(name: str) -> None:
    model, changes = CONCEDED[name]
    request = model_request(model=model, thinking="low")
    wanted = {**_body(request), **changes}
    body = _body(request, conceded={name: ""})
    assert body == {key: value for key, value in wanted.items() if value is not None}


def test_thinking_that_was_refused_is_not_sent_again() -> None:
    history = user("Hi"), assistant(_thinking(), "Yes"), user("Go on")
    body = _body(model_request(*history, model=MODEL), conceded={"thoughts": "", "cache marks": ""})
    assert body["messages"][1] == _said("assistant", _text("Yes"))


@pytest.mark.covers("W138")
def test_a_message_is_written_the_same_in_each_request_but_for_the_marks() -> None:
    writer = AnthropicRequests()
    history = (user("a"), assistant(_thinking(), _call()), tool_result("c1", "b"))
    first = writer.body(model_request(*history, model=MODEL), model="m")
    second = writer.body(model_request(*history, assistant("c"), user("d"), model=MODEL), model="m")
    mark = b',"cache_control":{"type":"ephemeral"}'
    shared = first.replace(mark, b"").index(b'],"max_tokens"')
    assert second.replace(mark, b"")[:shared] == first.replace(mark, b"")[:shared]
