"""Every call of a message gets its own result, whatever the message's label says (T6, T9, L4)."""

from __future__ import annotations

import pytest

from pilothouse_agent.kernel.errors import AgentBusy
from pilothouse_agent.kernel.events import ToolExecutionStart
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.ports import ToolContext
from pilothouse_agent.kernel.request import Delta, Finished, ProviderStop
from pilothouse_agent.kernel.tooling import ToolResult
from support.kernel import FakeTool, asks, bench, block, call, echo_tool, says


def ending_tool() -> FakeTool:
    """Asks that no request follows, unless its argument says go on."""

    async def body(arguments: JsonObject, context: ToolContext) -> ToolResult:
        return ToolResult(block("bye"), terminate=not arguments.get("go_on"))

    return FakeTool("end", body)


@pytest.mark.covers("T6", "K26")
async def test_a_repeated_id_in_one_message_is_replaced_and_both_calls_run() -> None:
    echo = echo_tool()
    b = bench(
        asks(call("c1", "echo", {"v": "a"}), call("c1", "echo", {"v": "b"}), call("", "echo", {"v": "c"})),
        says("done"),
        tools=[echo],
    )

    await b.run("Hi")

    assert b.shown[1:5] == ["A: [c1] [call1] [call2]", "R c1:a", "R call1:b", "R call2:c"]
    assert [event.tool_call_id for event in b.events.of(ToolExecutionStart)] == ["c1", "call1", "call2"]
    assert [line for line in b.lines if line.startswith("MU")][:3] == [
        'MU c1:{"v": "a"}',
        'MU call1:{"v": "b"}',
        'MU call2:{"v": "c"}',
    ]


@pytest.mark.covers("T6", "K26")
async def test_an_id_used_in_an_earlier_turn_is_replaced() -> None:
    b = bench(
        asks(call("c1", "echo", {"v": "a"})),
        asks(call("c1", "echo", {"v": "b"})),
        says("done"),
        tools=[echo_tool()],
    )

    await b.run("Hi")

    assert b.shown == ["U:Hi", "A: [c1]", "R c1:a", "A: [call1]", "R call1:b", "A:done"]


@pytest.mark.covers("E3", "L4", "K42")
@pytest.mark.parametrize(("stop", "ending"), [("length", "AE completed"), ("refusal", "AE refused")])
async def test_calls_that_are_not_prepared_are_told_of_too(stop: ProviderStop, ending: str) -> None:
    cut_call = Delta("toolCall", 1, '{"v": "b', "c2", "echo")
    b = bench(asks(call("c1", "echo"), cut_call, stop=stop), says("done"), tools=[echo_tool()])

    await b.run("Hi")

    assert b.events.turns[2:10] == [
        f"ME(A,{stop})",
        "XS c1",
        "XE c1 error",
        "XS c2",
        "XE c2 error",
        "ME(R,c1 error)",
        "ME(R,c2 error)",
        "TE1",
    ]
    assert b.lines[-1] == ending


@pytest.mark.covers("T9", "K41")
async def test_no_request_follows_when_every_result_asks_for_the_end() -> None:
    b = bench(asks(call("c1", "end"), call("c2", "end")), tools=[ending_tool()])

    result = await b.run("Hi")

    assert (result.stop_reason, len(b.model.requests)) == ("completed", 1)
    assert b.shown == ["U:Hi", "A: [c1] [c2]", "R c1:bye", "R c2:bye"]


@pytest.mark.covers("T9", "K41")
@pytest.mark.parametrize("other", ["echo", "unknown", "end"])
async def test_a_request_follows_when_one_result_does_not_ask_for_the_end(other: str) -> None:
    b = bench(
        asks(call("c1", "end"), call("c2", other, {"go_on": True})),
        says("done"),
        tools=[ending_tool(), echo_tool()],
    )

    result = await b.run("Hi")

    assert (result.text, len(b.model.requests)) == ("done", 2)


@pytest.mark.covers("T9", "K41")
async def test_queued_messages_are_delivered_after_a_batch_that_asks_for_the_end() -> None:
    tool = ending_tool()
    b = bench(asks(call("c1", "end")), says("and again"), tools=[tool])
    b.agent.follow_up("More")

    result = await b.run("Hi")

    assert (result.stop_reason, result.returned) == ("completed", ())
    assert b.shown == ["U:Hi", "A: [c1]", "R c1:bye", "U:More", "A:and again"]


@pytest.mark.covers("Q1", "K137", "K45", "K55")
async def test_nothing_comes_between_the_calls_of_a_message_and_their_results() -> None:
    async def body(arguments: JsonObject, context: ToolContext) -> ToolResult:
        if context.call_id == "c1":
            b.agent.steer("Hurry")
            with pytest.raises(AgentBusy):
                b.agent.append_custom("note", "the tests are red")
        return ToolResult.text(context.call_id)

    b = bench(asks(call("c1", "tool"), call("c2", "tool")), says("done"), tools=[FakeTool("tool", body)])

    await b.run("Hi")

    assert b.shown == ["U:Hi", "A: [c1] [c2]", "R c1:c1", "R c2:c2", "U:Hurry", "A:done"]
    assert b.model.shown[1] == b.shown[:5]


@pytest.mark.covers("L3")
async def test_of_a_broken_message_finished_calls_get_a_result_and_unfinished_ones_are_not_stored() -> None:
    echo = echo_tool()
    broken = [
        Delta("text", 0, "Let me see"),
        call("c1", "echo", {"v": 1}, index=1),
        Delta("toolCall", 2, '{"v": ', "c2", "echo"),
        Delta("toolCall", 3, "", "c3", "echo"),
    ]
    b = bench(broken, [Delta("text", 0, "So"), Finished("stop")], tools=[echo])

    await b.run("Hi")

    assert echo.ran == []
    assert b.shown[1:3] == [
        "A:Let me see [c1] (interrupted)",
        "R c1:Aborted: the answer broke off before this call could run.!",
    ]
    assert [line for line in b.lines if line.startswith("X")] == ["XS c1", "XE c1 aborted"]
