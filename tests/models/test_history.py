"""A history in any state is put in order before it is written, and left alone when it is in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilothouse_agent.kernel.messages import (
    AssistantBlock,
    AssistantMessage,
    MessageStop,
    ModelMessage,
    ThinkingBlock,
    ToolCall,
    ToolResultMessage,
)
from pilothouse_agent.kernel.transcript import INTERRUPTED
from pilothouse_agent.models.history.sendable import SettledHistory
from support.asking import TIME, assistant, tool_result, user


def settled(messages: Sequence[ModelMessage]) -> Sequence[ModelMessage]:
    return SettledHistory().settled(messages)


def _call(call_id: str) -> ToolCall:
    return ToolCall(call_id, "read", {})


def _failed(call_id: str, text: str) -> ToolResultMessage:
    return ToolResultMessage("r", tool_result(call_id, text).content, TIME, call_id, "read", is_error=True)


def _story(messages: Any) -> list[Any]:
    """Who said what: texts, call ids, and results by the id they answer."""
    return [_told(message) for message in messages]


def _told(message: ModelMessage) -> Any:
    words = [
        block.id if isinstance(block, ToolCall) else getattr(block, "text", "") for block in message.content
    ]
    if isinstance(message, ToolResultMessage):
        return {message.tool_call_id: " ".join(words)}
    return [*words] if isinstance(message, AssistantMessage) else " ".join(words)


ASK, GO = user("Hi"), user("Go")
CASES: dict[str, tuple[list[ModelMessage], list[Any]]] = {
    "W100 a missing result": (
        [ASK, assistant(_call("a"), _call("b")), tool_result("a", "A"), GO],
        ["Hi", ["a", "b"], {"a": "A"}, {"b": INTERRUPTED}, "Go"],
    ),
    "W100 a call at the end": ([ASK, assistant(_call("a"))], ["Hi", ["a"], {"a": INTERRUPTED}]),
    "W100 W102 a result too late": (
        [ASK, assistant(_call("a")), GO, assistant("Yes"), tool_result("a", "A")],
        ["Hi", ["a"], {"a": "A"}, "Go", ["Yes"]],
    ),
    "W101 a result without a call": ([ASK, tool_result("x", "X"), GO], ["Hi", "Go"]),
    "W101 two results, one of a failure": (
        [ASK, assistant(_call("a")), _failed("a", "interrupted"), tool_result("a", "A"), GO],
        ["Hi", ["a"], {"a": "A"}, "Go"],
    ),
    "two results": (
        [ASK, assistant(_call("a")), tool_result("a", "A"), tool_result("a", "B")],
        ["Hi", ["a"], {"a": "A"}],
    ),
    "W117 one id in two turns": (
        [ASK, assistant(_call("a")), tool_result("a", "A"), assistant(_call("a")), tool_result("a", "B")],
        ["Hi", ["a"], {"a": "A"}, ["a-2"], {"a-2": "B"}],
    ),
    "W117 one id for two calls": (
        [ASK, assistant(_call("a"), _call("a")), tool_result("a", "A"), tool_result("a", "B")],
        ["Hi", ["a", "a-2"], {"a": "A"}, {"a-2": "B"}],
    ),
    "W25 a call without id": (
        [ASK, assistant(_call("")), tool_result("", "A")],
        ["Hi", ["call-2"], {"call-2": "A"}],
    ),
    "W40 W55 W111 a refused answer": (
        [ASK, assistant("No", _call("a"), stop="refusal"), _failed("a", "refused"), GO],
        ["Hi", "Go"],
    ),
    "W110 thinking that broke off": (
        [ASK, assistant(ThinkingBlock("Hm"), "Y", stop="aborted"), GO],
        ["Hi", ["Y"], "Go"],
    ),
}


@pytest.mark.covers("R095")
@pytest.mark.parametrize("name", CASES)
def test_each_call_is_answered_once_right_behind_it_under_an_id_of_its_own(name: str) -> None:
    messages, story = CASES[name]
    assert _story(settled(messages)) == story


def test_a_history_in_order_is_the_very_same_sequence() -> None:
    results = tool_result("b", "B"), tool_result("a", "A")
    history = [ASK, assistant("x", ThinkingBlock("Hm"), _call("a"), _call("b")), *results, assistant("y"), GO]
    assert settled(history) is history


def test_messages_in_order_stay_the_very_same_in_a_history_that_is_not() -> None:
    first, turn, result = ASK, assistant(_call("a")), tool_result("a", "A")
    assert [*map(id, settled([first, turn, result, tool_result("x")]))] == [*map(id, (first, turn, result))]


def _answer(blocks: list[AssistantBlock], stop: MessageStop) -> AssistantMessage:
    return assistant(*blocks, stop=stop)


IDS = st.sampled_from(["a", "b", "", "a-2"])
STOPS: st.SearchStrategy[MessageStop] = st.sampled_from(["stop", "toolUse", "refusal", "aborted", "length"])
BLOCKS: st.SearchStrategy[list[AssistantBlock]] = st.lists(
    IDS.map(_call) | st.just(ThinkingBlock("Hm", "s")), max_size=3
)
MESSAGES = st.one_of(
    st.just(ASK),
    st.builds(_answer, BLOCKS, STOPS),
    IDS.map(lambda call_id: tool_result(call_id, "x")),
    IDS.map(lambda call_id: _failed(call_id, "x")),
)


@given(st.lists(MESSAGES, max_size=8))
def test_any_history_comes_out_in_order_and_stays_so(messages: list[ModelMessage]) -> None:
    history = list(settled(messages))
    assert settled(history) is history
    calls = [
        call.id for message in history if isinstance(message, AssistantMessage) for call in message.calls
    ]
    answered = [message.tool_call_id for message in history if isinstance(message, ToolResultMessage)]
    assert answered == calls
    assert len(set(calls)) == len(calls)
