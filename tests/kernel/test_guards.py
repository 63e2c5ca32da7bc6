"""What sends a run on, and what stops one that goes in circles (L8, L9)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pilothouse_agent.kernel.events import MessageEnd
from pilothouse_agent.kernel.hooks import Hooks, OneMoreTurn, StopRun
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.messages import CustomMessage, ErrorInfo, ToolResultMessage, text_of
from pilothouse_agent.kernel.ports import ToolContext
from pilothouse_agent.kernel.settings import RunSettings
from pilothouse_agent.kernel.snapshot import AgentStateSnapshot
from pilothouse_agent.kernel.tooling import ToolResult
from support.kernel import Bench, FakeTool, Turn, asks, bench, call, echo_tool, says

REMINDER = (
    "The todo list still has unfinished items:\n- b\n- c\n"
    "Go on with them, or update the list if they are done or no longer needed."
)


class Todos:
    def __init__(self, *items: str) -> None:
        self.items = items

    def unfinished(self) -> Sequence[str]:
        return self.items


@pytest.mark.covers("L8", "E3")
async def test_a_model_that_stops_with_todos_unfinished_is_told_which_and_goes_on() -> None:
    todos = Todos("b", "c")

    async def finish(arguments: JsonObject, context: ToolContext) -> ToolResult:
        todos.items = ()
        return ToolResult.text("updated")

    turns = [says("done?"), asks(call("c1", "finish")), says("done")]
    b = bench(*turns, todos=todos, tools=[FakeTool("finish", finish)])

    result = await b.run("Hi")

    assert b.model.shown[1] == ["U:Hi", "A:done?", f"U:{REMINDER}"]
    assert b.lines[b.lines.index("TE1") :][:5] == ["TE1", "TS2", "MS(C)", "ME(C,guard)", "MS(A)"]
    assert (result.text, len(b.model.requests)) == ("done", 3)


@pytest.mark.covers("L8")
async def test_after_three_reminders_the_answer_stands() -> None:
    b = bench(*[says("no")] * 4, todos=Todos("b", "c"))

    result = await b.run("Hi")

    assert (result.stop_reason, result.text, len(b.model.requests)) == ("completed", "no", 4)


@pytest.mark.covers("L8", "R158")
async def test_a_finished_list_is_not_mentioned() -> None:
    b = bench(says("done"), todos=Todos())

    await b.run("Hi")

    assert b.shown == ["U:Hi", "A:done"]


@pytest.mark.covers("L8")
@pytest.mark.parametrize("stop", ["length", "refusal"])
async def test_only_a_model_that_chose_to_stop_is_reminded(stop: str) -> None:
    turn = says("text", stop="length" if stop == "length" else "refusal")
    b = bench(turn, todos=Todos("b"))

    await b.run("Hi")

    assert len(b.model.requests) == 1


@pytest.mark.covers("L8", "Q1")
async def test_a_queued_message_comes_before_a_reminder() -> None:
    b = bench(*[says("no")] * 5, todos=Todos("b", "c"))
    b.agent.follow_up("F")

    await b.run("Hi")

    assert [line[:3] for line in b.shown] == ["U:H", "A:n", "U:F", *["A:n", "C g"] * 3, "A:n"]


def stop_hook(*decisions: StopRun | OneMoreTurn | None) -> Hooks:
    left = list(decisions)

    async def decide(snapshot: AgentStateSnapshot) -> StopRun | OneMoreTurn | None:
        return left.pop(0) if left else None

    return Hooks(should_stop_after_turn=(decide,))


@pytest.mark.covers("L8", "E3")
async def test_the_stop_hook_can_ask_for_one_more_turn_with_a_message() -> None:
    b = bench(says("1"), says("2"), hooks=stop_hook(OneMoreTurn("Run the tests.")))

    await b.run("Hi")

    assert b.model.shown[1] == ["U:Hi", "A:1", "U:Run the tests."]
    asked = b.agent.state.messages[2]
    assert isinstance(asked, CustomMessage)
    assert (asked.name, len(b.model.requests)) == ("stopHook", 2)


@pytest.mark.covers("L8")
async def test_the_stop_hook_and_the_todo_guard_share_their_three_turns() -> None:
    hooks = stop_hook(OneMoreTurn("more"), OneMoreTurn("more"))
    b = bench(*[says("no")] * 9, hooks=hooks, todos=Todos("b", "c"))

    await b.run("Hi")

    notes = [message.name for message in b.agent.state.messages if isinstance(message, CustomMessage)]
    assert (notes, len(b.model.requests)) == (["stopHook", "stopHook", "guard"], 4)


@pytest.mark.covers("L8")
async def test_a_stop_hook_that_never_has_enough_is_overruled() -> None:
    b = bench(
        *[says("no")] * 9,
        hooks=stop_hook(*[OneMoreTurn("more")] * 9),
        settings=RunSettings(guard_blocks=1),
    )

    assert ((await b.run("Hi")).stop_reason, len(b.model.requests)) == ("completed", 2)


@pytest.mark.covers("L8", "Q3")
async def test_the_stop_hook_can_end_a_run_that_would_go_on() -> None:
    b = bench(asks(call("c1", "echo")), says("never"), tools=[echo_tool()], hooks=stop_hook(StopRun()))
    queue_id = b.agent.follow_up("F")

    result = await b.run("Hi")

    assert (result.stop_reason, b.shown) == ("completed", ["U:Hi", "A: [c1]", "R c1:ok"])
    assert [item.queue_id for item in result.returned] == [queue_id]


def repeated(count: int, name: str = "echo", arguments: JsonObject | None = None) -> list[Turn]:
    return [asks(call(f"c{n}", name, arguments)) for n in range(1, count + 1)]


def noticed(b: Bench) -> list[bool]:
    """For each result whether it carries a notice."""
    results = [event.message for event in b.events.of(MessageEnd)]
    return ["Notice: " in text_of(m.content) for m in results if isinstance(m, ToolResultMessage)]


@pytest.mark.covers("L9", "R166")
@pytest.mark.parametrize("outcome", ["succeeds", "fails"])
async def test_the_same_call_with_the_same_result_is_noticed_at_three_and_ends_the_run_at_six(
    outcome: str,
) -> None:
    tools = [echo_tool()] if outcome == "succeeds" else []
    b = bench(*repeated(12), tools=tools)

    result = await b.run("Hi")

    text = "The model repeated one call of echo with the same result; the run was ended."
    assert (result.stop_reason, result.error) == ("error", ErrorInfo("loop", text))
    assert noticed(b) == [False, False, True, True, True, True]
    assert b.lines[-4:] == ["ME(R,c6 " + ("ok)" if tools else "error)"), "TE6", "PH turn→idle", "AE error"]


@pytest.mark.covers("L9")
async def test_the_notice_says_how_often_and_is_added_to_the_result() -> None:
    b = bench(*repeated(3), says("enough"), tools=[echo_tool()])

    await b.run("Hi")

    assert b.shown[6] == (
        "R c3:okNotice: this is call 3 in a row of echo with the same arguments and the same result. "
        "Do something else, or say what keeps you from going on."
    )


@pytest.mark.covers("L9")
async def test_bash_is_only_given_the_notice() -> None:
    b = bench(*repeated(8, "bash"), says("enough"), tools=[echo_tool("bash")])

    assert (await b.run("Hi")).stop_reason == "completed"
    assert noticed(b) == [False, False, *[True] * 6]


@pytest.mark.covers("L9", "R166")
async def test_a_call_whose_result_changes_may_be_repeated() -> None:
    lines: list[str] = []

    async def grow(arguments: JsonObject, context: ToolContext) -> ToolResult:
        lines.append("line")
        return ToolResult.text("\n".join(lines))

    b = bench(*repeated(12, "read"), says("enough"), tools=[FakeTool("read", grow)])

    assert (await b.run("Hi")).stop_reason == "completed"
    assert noticed(b) == [False] * 12


@pytest.mark.covers("L9")
async def test_other_arguments_or_another_call_in_between_begin_the_count_anew() -> None:
    turns = [*repeated(2), asks(call("d1", "echo", {"v": "ok"})), *repeated(2)]
    b = bench(*turns, says("enough"), tools=[echo_tool()])

    await b.run("Hi")

    assert noticed(b) == [False] * 5


@pytest.mark.covers("L9")
async def test_the_order_of_arguments_makes_no_other_call() -> None:
    orders: list[JsonObject] = [{"a": 1, "b": 2}, {"b": 2, "a": 1}] * 2
    turns = [asks(call(f"c{n}", "echo", arguments)) for n, arguments in enumerate(orders)]
    b = bench(*turns, says("enough"), tools=[echo_tool()])

    await b.run("Hi")

    assert noticed(b) == [False, False, True, True]


@pytest.mark.covers("L9", "R098", "L4")
async def test_a_call_cut_at_the_limit_again_and_again_is_stopped_by_the_guard() -> None:
    tool = echo_tool("write")
    cut = [asks(call(f"c{n}", "write", '{"path":"a","con'), stop="length") for n in range(9)]
    b = bench(*cut, tools=[tool])

    result = await b.run("Hi")

    assert (result.error and result.error.kind, tool.ran) == ("loop", [])
    assert b.shown[2] == (
        "R c0:The answer was cut at the output limit, so this call did not run. Issue it again, smaller.!"
    )
    assert noticed(b) == [False, False, True, True, True, True]


@pytest.mark.covers("R263", "L9")
async def test_the_error_names_the_call_that_was_repeated_and_not_the_last_of_the_batch() -> None:
    async def count(arguments: JsonObject, context: ToolContext) -> ToolResult:
        counted.append("again")
        return ToolResult.text(str(len(counted)))

    counted: list[str] = []
    again = [call(f"c{n}", "echo") for n in range(6)]
    b = bench(asks(*again, call("d1", "count")), tools=[echo_tool(), FakeTool("count", count)])

    result = await b.run("Hi")

    text = "The model repeated one call of echo with the same result; the run was ended."
    assert result.error == ErrorInfo("loop", text)


@pytest.mark.covers("R263", "A8", "L8")
async def test_an_answer_in_the_last_turn_stands_whatever_is_still_open() -> None:
    one_turn = RunSettings(max_turns=1)
    benches = [
        bench(says("done"), todos=Todos("b"), settings=one_turn),
        bench(says("done"), hooks=stop_hook(OneMoreTurn("more")), settings=one_turn),
    ]

    results = [await b.run("Hi") for b in benches]

    assert [(result.stop_reason, result.text, result.error) for result in results] == [
        ("completed", "done", None)
    ] * 2


@pytest.mark.covers("R263", "L8")
async def test_reminders_end_with_the_turns_and_the_last_answer_stands() -> None:
    b = bench(says("1"), says("2"), says("never"), todos=Todos("b"), settings=RunSettings(max_turns=2))

    result = await b.run("Hi")

    assert (result.stop_reason, result.text, len(b.model.requests)) == ("completed", "2", 2)


@pytest.mark.covers("L8", "Q1")
async def test_a_queued_message_at_the_limit_of_turns_is_no_answer_that_stands() -> None:
    b = bench(says("done"), todos=Todos("b"), settings=RunSettings(max_turns=1))
    b.agent.follow_up("F")

    assert (await b.run("Hi")).stop_reason == "maxTurns"
