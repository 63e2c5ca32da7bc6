"""Answers with neither text nor calls: asked once more, then completed with a word (L4)."""

from __future__ import annotations

import pytest

from pilothouse_agent.kernel.events import Notice
from pilothouse_agent.kernel.messages import Usage
from pilothouse_agent.kernel.request import Delta, Finished
from pilothouse_agent.kernel.settings import RunSettings
from support.kernel import Step, asks, bench, call, echo_tool, says, thinks

TOLD = Notice(
    "warning", "The model gave an empty answer twice, so the run has ended without one.", "emptyAnswer"
)
EMPTY: dict[str, list[Step]] = {
    "nothing": [Finished("stop")],
    "the wrong label": [Finished("toolUse")],
    "an empty text": [Delta("text", 0, ""), Finished("stop")],
    "blanks": says(" \n", "\t"),
    "thinking alone": [*thinks("hm"), Finished("stop")],
    "thinking and blanks": [*thinks("hm"), Delta("text", 1, "\n"), Finished("stop")],
}
empty = pytest.mark.parametrize("turn", EMPTY.values(), ids=EMPTY)


@pytest.mark.covers("R297", "L4")
@empty
async def test_an_empty_answer_is_asked_for_once_more_with_the_same_request(turn: list[Step]) -> None:
    b = bench(turn, says("here"))

    result = await b.run("Hi")

    assert (result.stop_reason, result.text, b.events.of(Notice)) == ("completed", "here", [])
    assert b.model.shown == [["U:Hi"], ["U:Hi"]]


@pytest.mark.covers("R297", "L4", "K8")
@empty
async def test_a_second_empty_answer_ends_the_run_and_the_user_is_told(turn: list[Step]) -> None:
    b = bench(turn, turn, says("next"))

    result = await b.run("Hi")

    assert (result.stop_reason, result.text.strip(), len(b.model.requests)) == ("completed", "", 2)
    assert b.events.of(Notice) == [TOLD]
    assert (await b.run("And now?")).text == "next"
    assert b.model.shown[2] == ["U:Hi", "U:And now?"]


@pytest.mark.covers("R297", "L4")
async def test_after_calls_an_empty_answer_is_asked_for_once_more_too() -> None:
    b = bench(asks(call("c1", "echo")), says(), says("done"), tools=[echo_tool()])

    assert (await b.run("Hi")).text == "done"
    assert b.model.shown[1] == b.model.shown[2] == ["U:Hi", "A: [c1]", "R c1:ok"]


@pytest.mark.covers("R297", "Q1")
async def test_steering_that_waits_is_delivered_with_the_second_request() -> None:
    b = bench(says(), says("done"))
    b.agent.steer("S1")
    b.agent.steer("S2")

    assert (await b.run("Hi")).text == "done"
    assert b.model.shown == [["U:Hi", "U:S1"], ["U:Hi", "U:S1", "U:S2"]]


@pytest.mark.covers("L4")
async def test_empty_answers_that_say_why_they_are_empty_are_not_asked_for_again() -> None:
    benches = [bench(says(stop="length")), bench(says(stop="refusal"))]

    results = [await b.run("Hi") for b in benches]

    assert [result.stop_reason for result in results] == ["length", "refused"]
    assert [len(b.model.requests) for b in benches] == [1, 1]


@pytest.mark.covers("R297", "A8")
async def test_an_empty_answer_in_the_last_turn_ends_the_run_at_its_limit() -> None:
    b = bench(says(), says("never"), settings=RunSettings(max_turns=1))

    assert (await b.run("Hi")).stop_reason == "maxTurns"


@pytest.mark.covers("R297", "R263")
async def test_the_tokens_of_an_empty_answer_count() -> None:
    b = bench(says(usage=Usage(10, 1)), says("here", usage=Usage(20, 2)))

    assert (await b.run("Hi")).usage == Usage(30, 3)
