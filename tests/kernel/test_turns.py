"""What a finished answer leads to, and how many turns there may be (L1, L2, L4, A3, A8)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import cast

import pytest

from pilothouse_agent.kernel.abort import AbortSignal
from pilothouse_agent.kernel.events import CompactionReason, RunStop
from pilothouse_agent.kernel.hooks import Hooks
from pilothouse_agent.kernel.messages import AssistantMessage, ErrorInfo, Message, ModelMessage, ToolCall
from pilothouse_agent.kernel.ports import Compaction
from pilothouse_agent.kernel.request import (
    Delta,
    Finished,
    ModelLimits,
    ModelRequest,
    ProviderStop,
    StreamEvent,
    ToolSpec,
)
from pilothouse_agent.kernel.settings import RunSettings
from pilothouse_agent.kernel.transcript import INTERRUPTED, convert
from support.kernel import FakeClock, Gate, asks, bench, call, echo_tool, fails, says, shown


@pytest.mark.covers("L4", "K6")
@pytest.mark.parametrize(
    ("label", "ending"),
    [("stop", "completed"), ("toolUse", "completed"), ("length", "length"), ("refusal", "refused")],
)
async def test_without_calls_the_label_says_how_the_run_ends(label: ProviderStop, ending: RunStop) -> None:
    b = bench(says("text", stop=label))

    result = await b.run("Hi")

    assert (result.stop_reason, result.text, result.error) == (ending, "text", None)
    assert b.lines[-1] == f"AE {ending}"


@pytest.mark.covers("L4", "K7", "W30")
@pytest.mark.parametrize("label", ["stop", "toolUse"])
async def test_calls_run_whatever_the_label_of_a_finished_answer(label: ProviderStop) -> None:
    tool = echo_tool()
    b = bench(asks(call("c1", "echo"), stop=label), says("done"), tools=[tool])

    result = await b.run("Hi")

    assert (tool.ran, result.text) == ([{}], "done")


@pytest.mark.covers("L4", "K42", "W30")
async def test_calls_of_an_answer_cut_at_the_limit_do_not_run_and_the_run_goes_on() -> None:
    tool = echo_tool()
    cut = asks(call("c1", "echo"), call("c2", "echo", '{"v": "cu'), stop="length")
    b = bench(cut, says("done"), tools=[tool])

    result = await b.run("Hi")

    text = "The answer was cut at the output limit, so this call did not run. Issue it again, smaller.!"
    assert b.model.shown[1] == ["U:Hi", "A: [c1] [c2]", f"R c1:{text}", f"R c2:{text}"]
    assert (tool.ran, result.stop_reason) == ([], "completed")


@pytest.mark.covers("L4")
async def test_calls_of_a_refusal_do_not_run_and_the_run_ends() -> None:
    tool = echo_tool()
    b = bench(asks(call("c1", "echo"), text="No.", stop="refusal"), says("never"), tools=[tool])

    result = await b.run("Hi")

    assert (tool.ran, result.stop_reason, len(b.model.requests)) == ([], "refused", 1)
    assert b.shown[2] == "R c1:The answer was refused, so this call did not run.!"


@pytest.mark.covers("L4", "W55")
async def test_a_pause_asks_again_with_what_was_said() -> None:
    b = bench(says("first", stop="pause"), says("second"))

    result = await b.run("Hi")

    assert (result.text, b.model.shown[1]) == ("second", ["U:Hi", "A:first"])


@pytest.mark.covers("L4", "K43", "R167", "W30", "W42", "W141")
async def test_a_call_with_unreadable_arguments_is_an_error_and_its_sibling_runs() -> None:
    tool = echo_tool()
    b = bench(asks(call("c1", "echo", '{"v": "a'), call("c2", "echo", {"v": "b"})), says("ok"), tools=[tool])

    result = await b.run("Hi")

    assert (tool.ran, result.stop_reason) == ([{"v": "b"}], "completed")
    assert b.model.shown[1][2:] == [
        'R c1:The arguments are not a JSON object, so echo did not run: {"v": "a!',
        "R c2:b",
    ]


@pytest.mark.covers("R028")
async def test_of_two_calls_one_failing_both_results_reach_the_model() -> None:
    b = bench(asks(call("c1", "echo"), call("c2", "unknown")), says("ok"), tools=[echo_tool()])

    await b.run("Hi")

    assert b.model.shown[1][2:] == [
        "R c1:ok",
        "R c2:There is no tool named 'unknown'. The tools are: echo.!",
    ]


@pytest.mark.covers("A8")
async def test_the_last_turn_allowed_still_runs_its_tools_and_then_the_run_ends() -> None:
    tool = echo_tool()
    turns = [asks(call(f"c{n}", "echo", {"v": n})) for n in range(3)]
    b = bench(*turns, tools=[tool], settings=RunSettings(max_turns=2))

    result = await b.run("Hi")

    text = "The run was ended at its limit of 2 turns (run.maxTurns)."
    assert (result.stop_reason, result.error) == ("maxTurns", ErrorInfo("maxTurns", text))
    assert (len(tool.ran), len(b.model.requests), b.shown[-1]) == (2, 2, "R c1:1")
    assert b.agent.state.error_message == text


@pytest.mark.covers("A8")
async def test_an_answer_in_the_last_turn_allowed_completes_the_run() -> None:
    b = bench(asks(call("c1", "echo")), says("done"), tools=[echo_tool()], settings=RunSettings(max_turns=2))

    assert (await b.run("Hi")).stop_reason == "completed"


@pytest.mark.covers("A8", "Q3")
async def test_at_the_limit_of_turns_queued_messages_are_handed_back() -> None:
    b = bench(says("done"), settings=RunSettings(max_turns=1))
    queue_id = b.agent.follow_up("F")

    result = await b.run("Hi")

    assert result.stop_reason == "maxTurns"
    assert [item.queue_id for item in result.returned] == [queue_id]


@pytest.mark.covers("A8", "L7")
async def test_retries_are_not_turns() -> None:
    busy = fails("overloaded", retryable=True)
    b = bench([busy], [busy], says("done"), settings=RunSettings(max_turns=1))

    result = await b.run("Hi")

    assert (result.stop_reason, b.agent.state.turn, len(b.model.requests)) == ("completed", 1, 3)


class Watcher:
    """A compactor, hooks and a provider that note when they are called."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def due(self, tokens: int, limits: ModelLimits) -> bool:
        self.calls.append("compaction check")
        return False

    async def compact(
        self, messages: Sequence[Message], limits: ModelLimits, reason: CompactionReason
    ) -> Compaction | None:
        raise AssertionError("it is not due")

    async def transform(self, messages: Sequence[Message], signal: AbortSignal) -> Sequence[Message]:
        self.calls.append(f"transform {shown(messages)}")
        return messages

    async def convert(self, messages: Sequence[Message]) -> Sequence[ModelMessage]:
        self.calls.append("convert")
        return convert(messages)

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        self.calls.append("stream")
        yield Finished("refusal")


@pytest.mark.covers("L2")
async def test_before_each_request_the_steps_are_taken_in_order() -> None:
    w = Watcher()
    hooks = Hooks(transform_context=(w.transform,), convert_to_llm=w.convert)
    now = FakeClock().now()
    unanswered = AssistantMessage("a1", (ToolCall("c1", "echo", {}),), now, "m", "toolUse")
    b = bench(w.stream, compactor=w, hooks=hooks, messages=[unanswered])

    await b.run("Hi")

    repaired = ["A: [c1]", f"R c1:{INTERRUPTED}!", "U:Hi"]
    assert w.calls == ["compaction check", f"transform {repaired}", "convert", "stream"]
    assert b.shown == ["A: [c1]", "U:Hi", "A:"]


@pytest.mark.covers("A7", "K94")
async def test_settings_changed_while_a_request_is_being_made_wait_for_the_next() -> None:
    async def transform(messages: Sequence[Message], signal: AbortSignal) -> Sequence[Message]:
        b.agent.set_model("other")
        b.agent.set_tools([])
        b.agent.set_system_prompt("new")
        return messages

    tool = echo_tool()
    b = bench(asks(call("c1", "echo")), says("ok"), tools=[tool], hooks=Hooks(transform_context=(transform,)))

    await b.run("Hi")

    sent = [(request.model, len(request.tools), request.system) for request in b.model.requests]
    assert sent == [("m", 1, ""), ("other", 0, "new")]
    assert len(tool.ran) == 1


@pytest.mark.covers("A3", "K85")
@pytest.mark.parametrize("failing", [1, 2], ids=["first request", "second request"])
async def test_a_request_that_cannot_be_built_ends_the_run_like_a_failed_one(failing: int) -> None:
    built: list[int] = []

    def prompt(specs: Sequence[ToolSpec]) -> str:
        built.append(len(built) + 1)
        if built[-1] == failing:
            raise KeyError("no key")
        return ""

    b = bench(asks(call("c1", "echo")), tools=[echo_tool()], system_prompt=prompt)

    result = await b.run("Hi")

    assert b.lines[-5:] == ["MS(A)", "ME(A,error)", f"TE{failing}", "PH turn→idle", "AE error"]
    text = "The request could not be built: KeyError: 'no key'"
    assert result.error == ErrorInfo("internal", text)
    assert b.agent.state.messages[-1] == result.message


class BrokenTodos:
    def unfinished(self) -> Sequence[str]:
        raise OSError("disk gone")


@pytest.mark.covers("A3", "A4")
async def test_a_fault_between_turns_has_the_shape_of_any_failure() -> None:
    b = bench(says("ok"), says("fine"), todos=BrokenTodos())

    result = await b.run("Hi")

    assert b.lines[-7:] == ["TE1", "TS2", "MS(A)", "ME(A,error)", "TE2", "PH turn→idle", "AE error"]
    assert result.error == ErrorInfo("internal", "The run failed inside: OSError: disk gone")
    assert b.agent.busy is False


class BrokenPolicy:
    attempts = 3

    def delay(self, attempt: int, error: ErrorInfo) -> float | None:
        raise ZeroDivisionError("oops")


@pytest.mark.covers("A3")
async def test_a_fault_inside_a_turn_ends_its_message_and_the_turn() -> None:
    b = bench([fails("overloaded", retryable=True)], retry=BrokenPolicy())

    result = await b.run("Hi")

    assert b.lines[5:] == ["MS(A)", "ME(A,error)", "TE1", "PH turn→idle", "AE error"]
    assert result.error == ErrorInfo("internal", "The run failed inside: ZeroDivisionError: oops")


@pytest.mark.covers("A3")
async def test_a_provider_that_sends_nonsense_ends_its_message_with_an_error() -> None:
    b = bench([Delta("text", 0, "a"), cast("StreamEvent", "what?"), Gate()])

    result = await b.run("Hi")

    assert b.lines[5:] == ["MS(A)", "MU:a", "ME(A,error)", "TE1", "PH turn→idle", "AE error"]
    assert (result.text, b.model.closed) == ("a", 1)
