"""Going on without new input (A6)."""

from __future__ import annotations

import pytest

from pilothouse_agent.kernel.errors import NothingToContinue
from pilothouse_agent.kernel.messages import (
    AssistantMessage,
    CustomMessage,
    Message,
    MessageStop,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from pilothouse_agent.kernel.request import Delta
from support.kernel import FakeClock, Gate, bench, block, fails, says, soon

NOW = FakeClock().now()
USER = UserMessage("u1", block("Hi"), NOW)
CALLS = AssistantMessage("a1", (ToolCall("c1", "echo", {}),), NOW, "m", "toolUse")
INSTRUCTION = CustomMessage("n2", block("go"), NOW, "note", for_model=True)
RESULT = ToolResultMessage("r1", block("ok"), NOW, "c1", "echo")


def answer(text: str, stop: MessageStop = "stop") -> AssistantMessage:
    return AssistantMessage("a9", (TextBlock(text),) if text else (), NOW, "m", stop)


@pytest.mark.covers("A6", "K98")
@pytest.mark.parametrize(
    "messages",
    [
        (),
        (answer("", "error"),),
        (USER, answer("done")),
        (USER, answer("done"), CustomMessage("n", block("seen by the user only"), NOW, "note")),
    ],
    ids=["empty", "only a failure", "answered", "answered, with a note"],
)
async def test_with_nothing_to_answer_it_refuses_and_stays_idle(messages: tuple[Message, ...]) -> None:
    b = bench(messages=messages)

    with pytest.raises(NothingToContinue):
        b.agent.continue_()

    assert (b.agent.busy, b.lines) == (False, [])


@pytest.mark.covers("A6", "K98")
@pytest.mark.parametrize(
    ("messages", "sent"),
    [
        ((USER,), ["U:Hi"]),
        ((USER, CALLS, RESULT), ["U:Hi", "A: [c1]", "R c1:ok"]),
        ((USER, answer("", "error")), ["U:Hi"]),
        ((USER, answer("", "aborted")), ["U:Hi"]),
        ((USER, answer("par", "interrupted")), ["U:Hi", "A:par (interrupted)"]),
        ((USER, answer("", "stop")), ["U:Hi"]),
        ((USER, CustomMessage("n", block("note"), NOW, "note")), ["U:Hi"]),
        (
            (USER, answer("x"), CustomMessage("n", block("go"), NOW, "n", for_model=True)),
            ["U:Hi", "A:x", "U:go"],
        ),
    ],
    ids=["user", "result", "failed", "aborted", "interrupted", "empty", "note", "instruction"],
)
async def test_what_waits_for_an_answer_is_asked_at_once(
    messages: tuple[Message, ...], sent: list[str]
) -> None:
    b = bench(says("ok"), messages=messages)

    result = await soon(b.agent.continue_())

    assert (result.stop_reason, b.model.shown) == ("completed", [sent])
    assert b.lines[:4] == ["AS", "PH idle→turn", "TS1", "MS(A)"]


@pytest.mark.covers("A6")
async def test_an_answer_of_thinking_alone_counts_as_none() -> None:
    thought = AssistantMessage("a1", (ThinkingBlock("hm"),), NOW, "m", "stop")
    b = bench(says("ok"), messages=(USER, thought))

    assert (await soon(b.agent.continue_())).stop_reason == "completed"


@pytest.mark.covers("A6", "K98")
async def test_after_an_answer_queued_steering_is_delivered_before_a_follow_up() -> None:
    b = bench(says("1"), says("2"), messages=(USER, answer("done")))
    b.agent.follow_up("F")
    b.agent.steer("S")

    await soon(b.agent.continue_())

    assert b.model.shown == [["U:Hi", "A:done", "U:S"], ["U:Hi", "A:done", "U:S", "A:1", "U:F"]]


@pytest.mark.covers("A6", "Q3")
async def test_what_continue_took_from_the_queue_is_handed_back_when_aborted_before_delivery() -> None:
    b = bench(messages=(USER, answer("done")))
    queue_id = b.agent.steer("S")

    run = b.agent.continue_()
    returned = b.agent.abort()
    result = await soon(run)

    assert [item.queue_id for item in returned] == [queue_id]
    assert (result.stop_reason, result.returned) == ("aborted", returned)
    assert b.shown == ["U:Hi", "A:done"]


@pytest.mark.covers("A6", "A3")
@pytest.mark.parametrize("ending", ["failed", "aborted"])
async def test_a_run_that_did_not_succeed_can_be_tried_again(ending: str) -> None:
    gate = Gate()
    first = [fails("auth", "no key")] if ending == "failed" else [gate]
    b = bench(first, says("ok"))
    run = b.agent.prompt("Hi")
    if ending == "aborted":
        await gate.arrival()
        b.agent.abort()
    await soon(run)

    result = await soon(b.agent.continue_())

    assert (result.text, b.model.shown[1]) == ("ok", ["U:Hi"])


@pytest.mark.covers("A6")
async def test_a_run_cut_off_in_its_text_goes_on_from_what_it_had() -> None:
    b = bench([Delta("text", 0, "par"), fails("invalidRequest")], says("tial"))
    await b.run("Hi")

    await soon(b.agent.continue_())

    assert b.model.shown[1] == ["U:Hi", "A:par (error)"]
