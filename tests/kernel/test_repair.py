"""The view of the transcript that a request may carry (L2), and its sizes."""

from __future__ import annotations

import pytest

from pilothouse_agent.kernel.messages import (
    AssistantBlock,
    AssistantMessage,
    CustomMessage,
    ImageBlock,
    Message,
    MessageStop,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from pilothouse_agent.kernel.transcript import INTERRUPTED, Transcript, convert, estimate_tokens, repair
from support.kernel import FakeClock, asks, bench, block, call, says, shown

NOW = FakeClock().now()
USER = UserMessage("u", block("Hi"), NOW)


def answer(text: str, *calls: str, stop: MessageStop = "toolUse") -> AssistantMessage:
    content: list[AssistantBlock] = [TextBlock(text)] if text else []
    content += [ToolCall(call_id, "t", {}) for call_id in calls]
    return AssistantMessage(f"a{text}", tuple(content), NOW, "m", stop)


def result(call_id: str, text: str = "ok") -> ToolResultMessage:
    return ToolResultMessage(f"r{call_id}", block(text), NOW, call_id, "t")


MISSING = f"R c1:{INTERRUPTED}!"


@pytest.mark.covers("L2")
@pytest.mark.parametrize(
    ("messages", "view"),
    [
        ([USER, answer("", "c1"), result("c1")], ["U:Hi", "A: [c1]", "R c1:ok"]),
        ([USER, answer("", "c1")], ["U:Hi", "A: [c1]", MISSING]),
        ([USER, answer("", "c1"), USER, result("c1")], ["U:Hi", "A: [c1]", "R c1:ok", "U:Hi"]),
        (
            [answer("", "c1"), answer("next"), result("c1")],
            ["A: [c1]", MISSING, "A:next"],
        ),
        ([USER, result("c1")], ["U:Hi"]),
        ([answer("", "c1"), result("c1"), result("c1", "twice")], ["A: [c1]", "R c1:ok"]),
        (
            [answer("", "c1", "c2"), result("c2", "2"), result("c1", "1")],
            ["A: [c1] [c2]", "R c1:1", "R c2:2"],
        ),
        ([USER, answer("", stop="error")], ["U:Hi"]),
        ([USER, answer("", stop="aborted")], ["U:Hi"]),
        ([USER, answer(" \n", stop="error")], ["U:Hi"]),
        ([USER, answer("", stop="stop")], ["U:Hi"]),
        ([USER, answer("par", stop="error")], ["U:Hi", "A:par (error)"]),
        ([USER, answer("", "c1", stop="aborted"), result("c1")], ["U:Hi", "A: [c1] (aborted)", "R c1:ok"]),
        ([USER, answer("", "c1", stop="interrupted"), result("c1")], ["U:Hi"]),
        (
            [USER, answer("par", "c1", stop="interrupted"), result("c1")],
            ["U:Hi", "A:par [c1] (interrupted)", "R c1:ok"],
        ),
    ],
    ids=[
        "whole",
        "missing",
        "displaced",
        "too late",
        "orphan",
        "twice",
        "out of order",
        "failed and empty",
        "aborted and empty",
        "failed and blank",
        "empty",
        "failed with text",
        "aborted with a call",
        "interrupted without text",
        "interrupted with text",
    ],
)
def test_in_a_request_every_call_has_exactly_one_result_after_it(
    messages: list[Message], view: list[str]
) -> None:
    before = list(messages)

    assert shown(repair(messages)) == view
    assert messages == before


@pytest.mark.covers("L2", "L6")
def test_half_made_thinking_is_not_sent_and_finished_thinking_is() -> None:
    content = (ThinkingBlock("hm", "sig"), TextBlock("x"))
    broken = AssistantMessage("a", content, NOW, "m", "interrupted")
    finished = AssistantMessage("a", content, NOW, "m", "stop")

    assert repair([broken])[0].content == (TextBlock("x"),)
    assert repair([finished]) == [finished]


@pytest.mark.covers("L2", "B3")
async def test_a_damaged_history_is_repaired_in_the_request_only() -> None:
    history = [USER, answer("", "c1"), UserMessage("u2", block("and?"), NOW)]
    b = bench(says("ok"), messages=history)

    await b.run("go on")

    assert b.model.shown == [["U:Hi", "A: [c1]", MISSING, "U:and?", "U:go on"]]
    assert b.shown == ["U:Hi", "A: [c1]", "U:and?", "U:go on", "A:ok"]


@pytest.mark.covers("T6", "L2")
async def test_call_ids_stay_unique_against_a_loaded_history() -> None:
    b = bench(asks(call("c1", "none")), says("ok"), messages=[answer("", "c1"), result("c1")])

    await b.run("Hi")

    assert b.shown[3] == "A: [call1]"


@pytest.mark.covers("B3", "W139")
def test_the_built_in_conversion_sends_custom_messages_only_when_meant_for_the_model() -> None:
    note = CustomMessage("n", block("note"), NOW, "note")
    rule = CustomMessage("r", block("rule"), NOW, "rule", for_model=True)

    assert convert([note, USER, rule]) == [USER, UserMessage("r", block("rule"), NOW)]


@pytest.mark.covers("L2")
def test_a_custom_message_is_the_very_same_user_message_in_each_request() -> None:
    rule = CustomMessage("r", block("rule"), NOW, "rule", for_model=True)

    assert convert([rule])[0] is convert([USER, rule])[1]


@pytest.mark.covers("L2", "R155")
def test_the_size_of_the_history_is_measured_where_the_provider_said_and_guessed_where_not() -> None:
    measured = AssistantMessage("a", (TextBlock("x" * 400),), NOW, "m", "stop", Usage(1000, 50))
    transcript = Transcript([USER])
    assert transcript.tokens == estimate_tokens(USER) == 4

    transcript.append(measured)
    assert transcript.tokens == 1050

    transcript.append(UserMessage("u2", block("y" * 40), NOW))
    assert transcript.tokens == 1050 + 14

    transcript.replace([USER])
    assert transcript.tokens == 4


@pytest.mark.covers("L2")
def test_every_kind_of_content_has_a_size() -> None:
    image = UserMessage("u", (ImageBlock("image/png", "aGk="),), NOW)
    thought = AssistantMessage("a", (ThinkingBlock("x" * 40),), NOW, "m", "stop")
    asked = AssistantMessage("a", (ToolCall("c", "tool", None, "x" * 36),), NOW, "m", "toolUse")

    assert [estimate_tokens(message) for message in (image, thought, asked)] == [1504, 14, 14]


@pytest.mark.covers("R222")
async def test_what_is_sent_of_custom_messages_is_the_very_same_each_time_however_many_there_are() -> None:
    b = bench(says("1"), says("2"))
    for number in range(1000):
        b.agent.append_custom("note", f"note {number}", for_model=True)

    await b.run("one")
    await b.run("two")

    first, second = (request.messages for request in b.model.requests)
    assert len(first) == 1001
    assert [id(message) for message in second[:1001]] == [id(message) for message in first]
