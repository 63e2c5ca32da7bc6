"""What the hooks around a call may change, and what becomes of a call whose hook fails."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pilothouse_agent.kernel.events import FileChanged, ToolExecutionEnd
from pilothouse_agent.kernel.hooks import BlockCall, ChangeArguments, FinishedCall, Hooks, ResultPatch
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.messages import AssistantMessage, ToolCall
from pilothouse_agent.kernel.ports import ToolContext
from pilothouse_agent.kernel.tooling import InvalidArguments, ToolError, ToolResult, Violation
from support.kernel import FakeTool, asks, bench, block, call, echo_tool, says, shown

DETAILS: JsonObject = {"lines": 3}


def after(decide: Callable[[FinishedCall], ResultPatch | None]) -> Hooks:
    async def hook(finished: FinishedCall) -> ResultPatch | None:
        return decide(finished)

    return Hooks(after_tool_result=(hook,))


def before(decide: Callable[[ToolCall], BlockCall | ChangeArguments | None]) -> Hooks:
    async def hook(call: ToolCall, signal: object) -> BlockCall | ChangeArguments | None:
        return decide(call)

    return Hooks(before_tool_call=(hook,))


def answering(result: ToolResult) -> FakeTool:
    async def body(arguments: JsonObject, context: ToolContext) -> ToolResult:
        return result

    return FakeTool("tool", body)


@pytest.mark.covers("T5", "K34")
async def test_a_blocked_call_gets_the_reason_and_no_after_hook() -> None:
    finished: list[str] = []

    async def note(call: FinishedCall) -> None:
        finished.append(call.call.id)

    hooks = before(lambda call: BlockCall("not on Fridays") if call.id == "c1" else None)
    tool = echo_tool()
    b = bench(
        asks(call("c1", "echo", {"v": "a"}), call("c2", "echo", {"v": "b"})),
        says("done"),
        tools=[tool],
        hooks=Hooks(before_tool_call=hooks.before_tool_call, after_tool_result=(note,)),
    )

    await b.run("Hi")

    assert b.shown[2:4] == ["R c1:Blocked: not on Fridays!", "R c2:b"]
    assert [event.outcome for event in b.events.of(ToolExecutionEnd)] == ["blocked", "ok"]
    assert (tool.ran, finished) == ([{"v": "b"}], ["c2"])


@pytest.mark.covers("K36", "T1")
async def test_the_tool_sees_changed_arguments_and_the_transcript_keeps_the_models() -> None:
    tool = echo_tool()
    b = bench(
        asks(call("c1", "echo", {"v": "mine"})),
        says("done"),
        tools=[tool],
        hooks=before(lambda call: ChangeArguments({"v": "yours"})),
    )

    await b.run("Hi")

    message = b.agent.state.messages[1]
    assert isinstance(message, AssistantMessage)
    assert (tool.ran, message.calls[0].arguments) == ([{"v": "yours"}], {"v": "mine"})
    assert b.model.requests[1].messages[1] == message


@pytest.mark.covers("T1")
async def test_changed_arguments_are_validated_again() -> None:
    def check(arguments: JsonObject) -> JsonObject:
        if arguments.get("v") == "bad":
            raise InvalidArguments((Violation("v", "must not be bad"),))
        return arguments

    tool = FakeTool("echo", echo_tool().body, check=check)
    hooks = before(lambda call: ChangeArguments({"v": "bad"}))
    b = bench(asks(call("c1", "echo", {"v": "good"})), says("done"), tools=[tool], hooks=hooks)

    await b.run("Hi")

    assert b.shown[2] == "R c1:The arguments do not fit echo, which did not run:\n- v: must not be bad!"
    assert tool.ran == []


@pytest.mark.covers("T1")
async def test_the_before_hook_sees_only_valid_calls() -> None:
    seen: list[str] = []

    def check(arguments: JsonObject) -> JsonObject:
        raise ToolError("no")

    hooks = before(lambda call: seen.append(call.id))
    tools = [FakeTool("bad", echo_tool().body, check=check), echo_tool()]
    b = bench(
        asks(call("c1", "bad"), call("c2", "missing"), call("c3", "echo")),
        says("done"),
        tools=tools,
        hooks=hooks,
    )

    await b.run("Hi")

    assert seen == ["c3"]


@pytest.mark.covers("K37")
async def test_an_after_hook_that_replaces_the_content_leaves_the_rest() -> None:
    tool = answering(ToolResult(block("long"), is_error=True, details=DETAILS))
    hooks = after(lambda finished: ResultPatch(content=block("short")))
    b = bench(asks(call("c1", "tool")), says("done"), tools=[tool], hooks=hooks)

    await b.run("Hi")

    (end,) = b.events.of(ToolExecutionEnd)
    assert (end.is_error, end.details) == (True, DETAILS)
    assert shown(b.agent.state.messages)[2] == "R c1:short!"


@pytest.mark.covers("K38")
@pytest.mark.parametrize(("was", "becomes", "outcome"), [(True, False, "ok"), (False, True, "error")])
async def test_an_after_hook_may_turn_the_error_flag(*, was: bool, becomes: bool, outcome: str) -> None:
    tool = answering(ToolResult(block("text"), is_error=was))
    hooks = after(lambda finished: ResultPatch(is_error=becomes))
    b = bench(asks(call("c1", "tool")), says("done"), tools=[tool], hooks=hooks)

    await b.run("Hi")

    (end,) = b.events.of(ToolExecutionEnd)
    assert (end.is_error, end.outcome) == (becomes, outcome)
    assert b.shown[2] == f"R c1:text{'!' if becomes else ''}"


@pytest.mark.covers("K39")
async def test_an_after_hook_that_raises_does_not_suppress_the_news_of_what_changed() -> None:
    change = FileChanged("/a", "modify", "disk", 1, 0, "")

    def decide(finished: FinishedCall) -> None:
        if finished.call.id == "c1":
            raise RuntimeError("hook broke")

    tool = answering(ToolResult(block("written"), effects=(change,)))
    b = bench(asks(call("c1", "tool"), call("c2", "tool")), says("done"), tools=[tool], hooks=after(decide))

    await b.run("Hi")

    assert b.shown[2:] == [
        "R c1:The after_tool_result hook failed: RuntimeError: hook broke!",
        "R c2:written",
        "A:done",
    ]
    assert [event.tool_call_id for event in b.events.of(FileChanged)] == ["c1", "c2"]


@pytest.mark.covers("E3")
async def test_after_hooks_end_before_the_end_event_of_their_call() -> None:
    ended_at_the_hook: list[int] = []

    def decide(finished: FinishedCall) -> ResultPatch:
        ended_at_the_hook.append(len(b.events.of(ToolExecutionEnd)))
        return ResultPatch(content=block("patched"))

    b = bench(asks(call("c1", "echo")), says("done"), tools=[echo_tool()], hooks=after(decide))

    await b.run("Hi")

    assert (ended_at_the_hook, b.shown[2]) == ([0], "R c1:patched")
