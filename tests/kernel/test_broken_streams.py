"""Streams that break off: resumed, asked again, or the end of the run (L3, L6)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from pilothouse_agent.kernel.events import Event, MessageUpdate, RetryScheduled
from pilothouse_agent.kernel.messages import AssistantMessage, CustomMessage, ErrorInfo, Usage
from pilothouse_agent.kernel.request import Delta, Failed, Finished, ModelRequest, StreamEvent, ToolExtra
from pilothouse_agent.kernel.settings import RunSettings
from support.kernel import FakeClock, Step, Turn, asks, bench, call, echo_tool, fails, says, soon, thinks

CUT = fails("connectionLost", "cut", retryable=True)
SILENT = fails("timeout", "silent for 120 s", retryable=True)
BUSY = fails("overloaded", "busy", retryable=True)
RESUME = (
    "The connection broke while you were answering. What arrived is above. Go on exactly where it "
    "stops, without repeating it."
)
ENDED = ErrorInfo(
    "incompleteStream",
    "The answer ended without its final event; the connection may have been cut.",
    retryable=True,
)


def part(*steps: Step) -> list[Step]:
    return [Delta("text", 0, "par"), *steps]


@pytest.mark.covers("L6", "E3", "W164")
@pytest.mark.parametrize(
    "turn", [part(CUT), part(SILENT), part(BUSY), part()], ids=["cut", "silent", "busy", "no final event"]
)
async def test_after_visible_text_the_answer_is_resumed_in_a_new_turn(turn: Turn) -> None:
    b = bench(turn, says("tial"))

    result = await b.run("Hi")

    assert b.lines[5:-2] == [
        "MS(A)",
        "MU:par",
        "ME(A,interrupted)",
        "TE1",
        "TS2",
        "MS(C)",
        "ME(C,resume)",
        "PH turn→retry",
        "RS 1/3 2000",
        "PH retry→turn",
        "MS(A)",
        "MU:tial",
        "ME(A,stop)",
        "TE2",
    ]
    assert b.model.shown[1] == ["U:Hi", "A:par (interrupted)", f"U:{RESUME}"]
    assert (result.stop_reason, result.text) == ("completed", "tial")


@pytest.mark.covers("L6", "B3")
async def test_the_resume_instruction_is_not_a_message_of_the_user() -> None:
    b = bench(part(CUT), says("tial"))

    await b.run("Hi")

    resume = b.agent.state.messages[2]
    assert isinstance(resume, CustomMessage)
    assert (resume.name, resume.for_model) == ("resume", True)


@pytest.mark.covers("L6")
@pytest.mark.parametrize(
    "steps", [thinks("hm"), [Delta("toolCall", 0, '{"v":1}', "c1", "echo")]], ids=["thinking", "a call"]
)
async def test_after_thinking_or_calls_alone_the_same_is_asked_again(steps: list[Step]) -> None:
    tool = echo_tool()
    b = bench([*steps, CUT], says("ok"), tools=[tool])

    result = await b.run("Hi")

    assert "ME(A,interrupted)" in b.lines
    assert b.model.shown == [["U:Hi"], ["U:Hi"]]
    assert (tool.ran, result.text, b.agent.state.turn) == ([], "ok", 2)


@pytest.mark.covers("L3", "R097", "W18", "W53")
@pytest.mark.parametrize(
    "arguments", ['{"path":"a","con', "", "[1", '{"path":"a",}'], ids=["cut", "none yet", "list", "comma"]
)
async def test_a_call_cut_off_in_its_arguments_never_runs_and_nothing_is_invented(arguments: str) -> None:
    tool = echo_tool("write")
    b = bench([Delta("toolCall", 0, arguments, "c1", "write"), CUT], says("ok"), tools=[tool])

    await b.run("Hi")

    assert (tool.ran, b.shown) == ([], ["U:Hi", "A: (interrupted)", "A:ok"])
    assert b.model.shown[1] == ["U:Hi"]


@pytest.mark.covers("L3", "W18")
async def test_complete_calls_of_a_broken_answer_get_an_aborted_result() -> None:
    tool = echo_tool()
    first, second = call("c1", "echo", index=1), Delta("toolCall", 2, '{"v":', "c2", "echo")
    b = bench([Delta("text", 0, "x"), first, second, CUT], says("ok"), tools=[tool])

    await b.run("Hi")

    result = "R c1:Aborted: the answer broke off before this call could run.!"
    assert b.shown[:3] == ["U:Hi", "A:x [c1] (interrupted)", result]
    assert b.model.shown[1] == ["U:Hi", "A:x [c1] (interrupted)", result, f"U:{RESUME}"]
    assert tool.ran == []


@pytest.mark.covers("L3")
async def test_an_unnamed_call_and_half_made_thinking_do_not_come_back_to_the_model() -> None:
    unnamed = [Delta("toolCall", 2, "{}", "c1", None), ToolExtra(2, {"sig": 1})]
    b = bench([*thinks("hm"), Delta("text", 1, "x"), *unnamed, CUT], says("ok"))

    await b.run("Hi")

    message = b.model.requests[1].messages[1]
    assert isinstance(message, AssistantMessage)
    assert [type(block).__name__ for block in message.content] == ["TextBlock"]
    stored = b.agent.state.messages[1]
    assert [type(block).__name__ for block in stored.content] == ["ThinkingBlock", "TextBlock"]


@pytest.mark.covers("L6")
async def test_after_three_resumes_the_run_ends_in_error_with_what_had_come() -> None:
    b = bench(*[part(CUT)] * 4, says("never"))

    result = await b.run("Hi")

    assert (result.stop_reason, result.text, len(b.model.requests)) == ("error", "par", 4)
    assert result.error == CUT.error
    assert [line for line in b.lines if line.startswith("ME(A")] == [
        *["ME(A,interrupted)"] * 3,
        "ME(A,error)",
    ]


@pytest.mark.covers("L6")
async def test_resumes_are_counted_over_the_run_not_in_a_row() -> None:
    turns = [part(CUT), asks(call("c1", "echo")), part(CUT), says("never")]
    b = bench(*turns, tools=[echo_tool()], settings=RunSettings(resumes=1))

    result = await b.run("Hi")

    assert (result.stop_reason, len(b.model.requests)) == ("error", 3)


@pytest.mark.covers("L6", "Q1")
async def test_steering_sent_meanwhile_comes_after_the_resume_instruction() -> None:
    b = bench(part(CUT), says("tial"))

    def steering(event: Event) -> None:
        if isinstance(event, MessageUpdate) and event.text == "par":
            b.agent.steer("S")

    b.agent.subscribe(steering)
    await b.run("Hi")

    assert b.model.shown[1:] == [["U:Hi", "A:par (interrupted)", f"U:{RESUME}", "U:S"]]


@pytest.mark.covers("L6", "K74", "A3", "W16")
async def test_an_error_that_is_not_retryable_keeps_the_text_and_ends_the_run() -> None:
    b = bench([Delta("text", 0, "par"), fails("contentFilter", "blocked")], says("never"))

    result = await b.run("Hi")

    assert b.lines[5:] == ["MS(A)", "MU:par", "ME(A,error)", "TE1", "PH turn→idle", "AE error"]
    assert (result.text, result.error) == ("par", ErrorInfo("contentFilter", "blocked"))
    assert result.message is not None
    assert (result.message.stop_reason, result.message.error) == ("error", result.error)


@pytest.mark.covers("L6", "L7", "K76", "W15", "W164")
async def test_with_nothing_visible_a_stream_without_end_is_retried_in_the_same_turn() -> None:
    b = bench([], says("ok"))

    result = await b.run("Hi")

    assert b.lines[5:9] == ["PH turn→retry", "RS 1/3 2000", "PH retry→turn", "MS(A)"]
    assert (result.text, b.shown) == ("ok", ["U:Hi", "A:ok"])


@pytest.mark.covers("L6", "K76", "K79")
async def test_a_stream_that_never_ends_well_says_so_in_the_end() -> None:
    b = bench([], [], [], [])

    assert (await b.run("Hi")).error == ENDED


@pytest.mark.covers("L7", "K77", "R163", "W20", "W164")
async def test_a_silent_stream_with_nothing_visible_is_retried() -> None:
    clock = FakeClock()
    b = bench([SILENT], says("ok"), clock=clock)

    assert (await b.run("Hi")).text == "ok"
    assert clock.sleeps == [2]


@pytest.mark.covers("L6")
async def test_usage_of_a_broken_answer_counts() -> None:
    failed = Failed(CUT.error, Usage(10, 5))
    b = bench(part(failed), says("tial", usage=Usage(20, 7)))

    assert (await b.run("Hi")).usage == Usage(30, 12)


@pytest.mark.covers("L4", "E1")
async def test_what_a_provider_sends_after_its_final_event_is_not_read() -> None:
    b = bench(
        [Delta("text", 0, "a"), Finished("stop"), Delta("text", 0, "b"), fails("auth"), Finished("stop")]
    )

    result = await b.run("Hi")

    assert (result.text, result.stop_reason, b.model.closed) == ("a", "completed", 1)
    assert len(b.events.of(MessageUpdate)) == 1


@pytest.mark.covers("L6", "A3")
async def test_a_provider_that_raises_after_text_ends_the_run_with_the_text_kept() -> None:
    b = bench(part(OSError("socket gone")))

    result = await b.run("Hi")

    assert (result.stop_reason, result.text) == ("error", "par")
    assert result.error == ErrorInfo("internal", "The model provider failed: socket gone")


@pytest.mark.covers("L6", "A3")
async def test_a_provider_that_cancels_itself_is_a_broken_stream() -> None:
    b = bench([asyncio.CancelledError()], part(asyncio.CancelledError()), says("tial"))

    result = await b.run("Hi")

    assert (result.stop_reason, result.text) == ("completed", "tial")
    assert [line for line in b.lines if line[:2] in ("RS", "ME")] == [
        "ME(U,Hi)",
        "RS 1/3 2000",
        "ME(A,interrupted)",
        "ME(C,resume)",
        "RS 1/3 2000",
        "ME(A,stop)",
    ]


class Plain:
    """A provider whose stream is no generator."""

    def __init__(self, *events: StreamEvent) -> None:
        self._events = iter(events)

    def __aiter__(self) -> Plain:
        return self

    async def __anext__(self) -> StreamEvent:
        for event in self._events:
            return event
        raise StopAsyncIteration


@pytest.mark.covers("B5")
async def test_any_async_iterator_will_do_as_a_stream() -> None:
    def stream(request: ModelRequest) -> AsyncIterator[StreamEvent]:
        return Plain(Delta("text", 0, "plain"), Finished("stop"))

    assert (await bench(stream).run("Hi")).text == "plain"


@pytest.mark.covers("L6", "E1")
async def test_ten_thousand_deltas_come_through_in_order() -> None:
    words = [f"{n} " for n in range(10_000)]
    b = bench(says(*words))

    result = await b.run("Hi")

    assert [update.text for update in b.events.of(MessageUpdate)] == words
    assert result.text == "".join(words)


@pytest.mark.covers("R294", "L6", "L7")
@pytest.mark.parametrize("failure", [CUT, SILENT, BUSY], ids=["cut", "silent", "busy"])
async def test_between_resumes_the_run_backs_off_as_between_retries(failure: Failed) -> None:
    b = bench(*[part(failure)] * 4, says("never"))

    result = await b.run("Hi")

    assert (result.stop_reason, len(b.model.requests), b.clock.sleeps) == ("error", 4, [2, 4, 8])
    reason = failure.error.message
    assert b.events.of(RetryScheduled) == [
        RetryScheduled(1, 3, 2000, reason),
        RetryScheduled(2, 3, 4000, reason),
        RetryScheduled(3, 3, 8000, reason),
    ]


@pytest.mark.covers("R294", "L6")
@pytest.mark.parametrize("steps", [thinks("hm"), [Delta("toolCall", 0, "{}", "c1", "echo")]])
async def test_what_broke_before_any_text_is_backed_off_from_too(steps: list[Step]) -> None:
    b = bench([*steps, CUT], says("ok"), tools=[echo_tool()])

    await b.run("Hi")

    assert b.clock.sleeps == [2]


@pytest.mark.covers("R294", "L7")
async def test_a_wait_that_the_provider_asked_for_holds_for_a_resume_as_well() -> None:
    slow = fails("overloaded", "busy", retryable=True, retry_after=20)
    late = fails("overloaded", "busy", retryable=True, retry_after=301)
    b = bench(part(slow), part(late), says("never"))

    result = await b.run("Hi")

    assert (b.clock.sleeps, result.stop_reason) == ([22], "error")
    assert result.error is not None
    assert result.error.message == "busy (retry after 301 s)"


@pytest.mark.covers("R294", "L3")
async def test_the_turn_that_broke_is_over_before_the_wait_and_an_abort_ends_it() -> None:
    clock = FakeClock(hold=True)
    b = bench([Delta("text", 0, "x"), call("c1", "echo", index=1), CUT], says("never"), clock=clock)
    run = b.agent.prompt("Hi")
    await soon(clock.asleep.wait())
    before = b.lines[-4:]

    b.agent.abort()
    result = await soon(run)

    assert before == ["MS(C)", "ME(C,resume)", "PH turn→retry", "RS 1/3 2000"]
    assert (result.stop_reason, len(b.model.requests)) == ("aborted", 1)
    assert b.lines[b.lines.index("RS 1/3 2000") + 1 :] == ["TE2", "PH retry→idle", "AE aborted"]
