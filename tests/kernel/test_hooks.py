"""Hooks: what each may change, and what happens when one fails (the hook table of kernel.md)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar, cast

import pytest

from pilothouse_agent.kernel.abort import AbortSignal
from pilothouse_agent.kernel.events import Notice, ToolExecutionEnd
from pilothouse_agent.kernel.hooks import (
    AfterToolResult,
    BeforeToolCall,
    BlockCall,
    ChangeArguments,
    ConvertToLlm,
    FinishedCall,
    Hooks,
    OneMoreTurn,
    ResultPatch,
    ShouldStop,
    StopRun,
    TransformContext,
)
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.messages import (
    AssistantMessage,
    CustomMessage,
    Message,
    ModelMessage,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    UserBlock,
    UserMessage,
)
from pilothouse_agent.kernel.ports import ToolContext
from pilothouse_agent.kernel.settings import RunSettings
from pilothouse_agent.kernel.snapshot import AgentStateSnapshot
from pilothouse_agent.kernel.tooling import ToolResult
from pilothouse_agent.kernel.transcript import convert
from support.kernel import FakeClock, FakeTool, asks, bench, block, call, echo_tool, says, shown

T = TypeVar("T")
Failure = Callable[[], Awaitable[None]]

NOW = FakeClock().now()
SHORT = RunSettings(hook_limit=0.02)


async def raises() -> None:
    raise ValueError("no")


def raises_before_it_waits() -> Awaitable[None]:
    raise ValueError("no")


async def cancels_itself() -> None:
    raise asyncio.CancelledError


async def hangs() -> None:
    await asyncio.Event().wait()


FAILURES = [
    (raises, "failed: ValueError: no"),
    (raises_before_it_waits, "failed: ValueError: no"),
    (cancels_itself, "failed: RuntimeError: it was cancelled"),
    (hangs, "did not answer within 0.02 s."),
]


def failing(fail: Failure, value: T) -> Awaitable[T]:
    """Like a hook that would give `value`; it may raise at once."""
    work = fail()

    async def give() -> T:
        await work
        return value

    return give()


@pytest.mark.covers("B4", "L2", "B3")
async def test_transform_context_changes_the_request_and_never_the_transcript() -> None:
    async def only_last(messages: Sequence[Message], signal: AbortSignal) -> Sequence[Message]:
        return messages[-1:]

    async def louder(messages: Sequence[Message], signal: AbortSignal) -> Sequence[Message]:
        return [UserMessage(m.id, block(shown([m])[0].upper()), m.time) for m in messages]

    b = bench(says("1"), says("2"), hooks=Hooks(transform_context=(only_last, louder)))
    await b.run("one")
    await b.run("two")

    assert b.model.shown == [["U:U:ONE"], ["U:U:TWO"]]
    assert b.shown == ["U:one", "A:1", "U:two", "A:2"]


@pytest.mark.covers("B4", "B3")
async def test_convert_to_llm_decides_what_becomes_of_custom_messages() -> None:
    async def notes_too(messages: Sequence[Message]) -> Sequence[ModelMessage]:
        return [UserMessage(m.id, m.content, m.time) if isinstance(m, CustomMessage) else m for m in messages]

    b = bench(says("1"), hooks=Hooks(convert_to_llm=notes_too))
    b.agent.append_custom("note", "from the application")

    await b.run("Hi")

    assert b.model.shown == [["U:from the application", "U:Hi"]]
    assert b.shown == ["C note:from the application", "U:Hi", "A:1"]


@pytest.mark.covers("B3")
async def test_without_a_hook_custom_messages_are_sent_only_when_meant_for_the_model() -> None:
    b = bench(says("1"))
    b.agent.append_custom("note", "for people")
    b.agent.append_custom("rule", "for the model", for_model=True)

    await b.run("Hi")

    assert b.shown == ["C note:for people", "C rule:for the model", "U:Hi", "A:1"]
    assert b.model.shown == [["U:for the model", "U:Hi"]]


@pytest.mark.covers("B4", "K85")
@pytest.mark.parametrize(("fail", "said"), FAILURES)
async def test_when_transform_context_fails_its_input_is_used_with_a_notice(fail: Failure, said: str) -> None:
    async def add(messages: Sequence[Message], signal: AbortSignal) -> Sequence[Message]:
        return [*messages, UserMessage("x", block("added"), messages[0].time)]

    def transform(messages: Sequence[Message], signal: AbortSignal) -> Awaitable[Sequence[Message]]:
        return failing(fail, ())

    b = bench(says("ok"), hooks=Hooks(transform_context=(add, transform)), settings=SHORT)

    assert (await b.run("Hi")).stop_reason == "completed"
    assert b.model.shown == [["U:Hi", "U:added"]]
    text = f"The transform_context hook {said} It was skipped."
    assert b.events.of(Notice) == [Notice("warning", text, "hookFailed")]


@pytest.mark.covers("B4", "K85")
@pytest.mark.parametrize(("fail", "said"), FAILURES)
async def test_when_convert_to_llm_fails_the_built_in_one_is_used_with_a_notice(
    fail: Failure, said: str
) -> None:
    def broken(messages: Sequence[Message]) -> Awaitable[Sequence[ModelMessage]]:
        return failing(fail, convert(messages))

    b = bench(says("ok"), hooks=Hooks(convert_to_llm=broken), settings=SHORT)
    b.agent.append_custom("note", "for people")

    assert (await b.run("Hi")).stop_reason == "completed"
    assert b.model.shown == [["U:Hi"]]
    text = f"The convert_to_llm hook {said} It was skipped."
    assert b.events.of(Notice) == [Notice("warning", text, "hookFailed")]


@pytest.mark.covers("B4", "L8")
@pytest.mark.parametrize(("fail", "said"), FAILURES)
async def test_when_the_stop_hook_fails_it_is_ignored_with_a_notice(fail: Failure, said: str) -> None:
    def stop(snapshot: AgentStateSnapshot) -> Awaitable[StopRun | OneMoreTurn | None]:
        return failing(fail, StopRun())

    b = bench(
        asks(call("c1", "echo")),
        says("ok"),
        tools=[echo_tool()],
        hooks=Hooks(should_stop_after_turn=(stop,)),
        settings=SHORT,
    )

    assert (await b.run("Hi")).text == "ok"
    text = f"The should_stop_after_turn hook {said} It was skipped."
    assert b.events.of(Notice) == [Notice("warning", text, "hookFailed")] * 2


@pytest.mark.covers("B4", "T5", "K35")
@pytest.mark.parametrize(("fail", "said"), FAILURES)
async def test_when_before_tool_call_fails_that_call_does_not_run(fail: Failure, said: str) -> None:
    def before(call: ToolCall, signal: AbortSignal) -> Awaitable[BlockCall | ChangeArguments | None]:
        return failing(fail if call.id == "c1" else nothing, None)

    tool = echo_tool()
    b = bench(
        asks(call("c1", "echo"), call("c2", "echo")),
        says("ok"),
        tools=[tool],
        hooks=Hooks(before_tool_call=(before,)),
        settings=SHORT,
    )

    assert (await b.run("Hi")).text == "ok"
    assert b.shown[2:4] == [f"R c1:The before_tool_call hook {said}!", "R c2:ok"]
    assert len(tool.ran) == 1


async def nothing() -> None:
    return None


@pytest.mark.covers("B4", "T5", "K39")
@pytest.mark.parametrize(("fail", "said"), FAILURES)
async def test_when_after_tool_result_fails_that_call_has_an_error_result(fail: Failure, said: str) -> None:
    def after(finished: FinishedCall) -> Awaitable[ResultPatch | None]:
        return failing(fail if finished.call.id == "c1" else nothing, None)

    b = bench(
        asks(call("c1", "echo"), call("c2", "echo")),
        says("ok"),
        tools=[echo_tool()],
        hooks=Hooks(after_tool_result=(after,)),
        settings=SHORT,
    )

    assert (await b.run("Hi")).text == "ok"
    assert b.shown[2:4] == [f"R c1:The after_tool_result hook {said}!", "R c2:ok"]


@pytest.mark.covers("B4", "L8")
async def test_the_stop_hook_sees_the_turn_that_has_ended_and_comes_before_the_queues() -> None:
    seen: list[tuple[int, list[str], int]] = []

    async def look(snapshot: AgentStateSnapshot) -> StopRun | None:
        seen.append((snapshot.turn, shown(snapshot.messages)[-1:], len(snapshot.steering)))
        return None

    b = bench(
        asks(call("c1", "echo")),
        says("1"),
        says("2"),
        tools=[echo_tool()],
        hooks=Hooks(should_stop_after_turn=(look,)),
    )
    b.agent.steer("S1")
    b.agent.steer("S2")

    await b.run("Hi")

    assert seen == [(1, ["R c1:ok"], 1), (2, ["A:1"], 0)]


@pytest.mark.covers("B4")
async def test_of_several_stop_hooks_the_first_that_decides_wins() -> None:
    asked: list[str] = []

    async def silent(snapshot: AgentStateSnapshot) -> None:
        asked.append("silent")

    async def stop(snapshot: AgentStateSnapshot) -> StopRun:
        asked.append("stop")
        return StopRun()

    async def late(snapshot: AgentStateSnapshot) -> OneMoreTurn:
        asked.append("late")
        return OneMoreTurn("never")

    b = bench(says("1"), says("2"), hooks=Hooks(should_stop_after_turn=(silent, stop, late)))

    assert (await b.run("Hi")).text == "1"
    assert asked == ["silent", "stop"]


@pytest.mark.covers("T8", "A5")
async def test_a_hook_that_aborts_the_run_is_the_last_one_called() -> None:
    called: list[str] = []

    async def aborting(messages: Sequence[Message], signal: AbortSignal) -> Sequence[Message]:
        called.append("aborting")
        b.agent.abort()
        return messages

    def next_one(messages: Sequence[Message], signal: AbortSignal) -> Awaitable[Sequence[Message]]:
        called.append("next")
        return failing(nothing, messages)

    b = bench(says("never"), hooks=Hooks(transform_context=(aborting, next_one)))

    assert (await b.run("Hi")).stop_reason == "aborted"
    assert (called, b.model.requests) == (["aborting"], [])


def giving(value: object) -> Callable[..., Awaitable[object]]:
    async def hook(*arguments: object) -> object:
        return value

    return hook


NO_MESSAGES = [None, "Hi", {"a": 1}, 3, ["Hi"], (None,), iter([])]


@pytest.mark.covers("R220", "B4")
async def test_a_list_that_was_changed_by_a_hook_that_then_raised_is_not_used() -> None:
    async def spoil(messages: list[Message], signal: AbortSignal) -> Sequence[Message]:
        messages.append(UserMessage("x", block("added"), messages[0].time))
        messages[0] = UserMessage("y", block("replaced"), messages[0].time)
        raise ValueError("no")

    b = bench(says("ok"), hooks=Hooks(transform_context=(cast("TransformContext", spoil),)))

    await b.run("Hi")

    assert (b.model.shown, b.shown) == ([["U:Hi"]], ["U:Hi", "A:ok"])


@pytest.mark.covers("R220", "B4", "B3")
async def test_what_a_hook_does_to_the_messages_it_was_given_stays_out_of_the_transcript() -> None:
    async def change(messages: Sequence[Message], signal: AbortSignal) -> Sequence[Message]:
        for part in [part for m in messages for part in m.content if isinstance(part, ToolCall)]:
            assert part.arguments is not None
            part.arguments["v"] = "changed"
        return messages

    turns = [asks(call("c1", "echo", {"v": "as it was"})), says("ok")]
    b = bench(*turns, tools=[echo_tool()], hooks=Hooks(transform_context=(change,)))

    await b.run("Hi")

    sent, stored = b.model.requests[1].messages[1], b.agent.state.messages[1]
    assert sent.content == (ToolCall("c1", "echo", {"v": "changed"}),)
    assert stored.content == (ToolCall("c1", "echo", {"v": "as it was"}),)


@pytest.mark.covers("R220")
async def test_what_a_hook_does_to_hidden_thoughts_stays_out_of_the_transcript() -> None:
    async def change(messages: Sequence[Message], signal: AbortSignal) -> Sequence[Message]:
        for part in [part for m in messages for part in m.content if isinstance(part, ThinkingBlock)]:
            assert part.data is not None
            part.data["id"] = "changed"
        return messages

    content = (ThinkingBlock("Hm", data={"id": "as it was"}), TextBlock("Hello."))
    thought = AssistantMessage("m1", content, NOW, "m", "stop")
    b = bench(says("ok"), hooks=Hooks(transform_context=(change,)), messages=[thought])

    await b.run("Hi")

    sent, stored = b.model.requests[0].messages[0], b.agent.state.messages[0]
    assert sent.content == (ThinkingBlock("Hm", data={"id": "changed"}), TextBlock("Hello."))
    assert stored.content == (ThinkingBlock("Hm", data={"id": "as it was"}), TextBlock("Hello."))


@pytest.mark.covers("R220", "R222")
async def test_messages_that_a_hook_leaves_as_they_are_are_sent_as_the_very_same_objects() -> None:
    async def same(messages: Sequence[Message], signal: AbortSignal) -> Sequence[Message]:
        return list(messages)

    turns = [asks(call("c1", "echo", {"v": [1]})), says("ok"), says("ok")]
    b = bench(*turns, tools=[echo_tool()], hooks=Hooks(transform_context=(same,)))

    await b.run("Hi")
    await b.run("Go on")

    assert all(one is two for one, two in zip(*(r.messages for r in b.model.requests[1:]), strict=False))


@pytest.mark.covers("R220", "B4")
@pytest.mark.parametrize("given", NO_MESSAGES, ids=lambda given: type(given).__name__)
async def test_a_transform_that_gives_no_list_of_messages_is_skipped_with_a_notice(given: object) -> None:
    b = bench(says("ok"), hooks=Hooks(transform_context=(cast("TransformContext", giving(given)),)))

    assert (await b.run("Hi")).text == "ok"
    assert b.model.shown == [["U:Hi"]]
    assert [notice.code for notice in b.events.of(Notice)] == ["hookFailed"]


@pytest.mark.covers("R220", "B4")
@pytest.mark.parametrize(
    "given",
    [*NO_MESSAGES, [CustomMessage("c", block("note"), NOW, "note")]],
    ids=lambda given: type(given).__name__,
)
async def test_a_conversion_that_gives_no_messages_for_the_model_is_skipped_with_a_notice(
    given: object,
) -> None:
    b = bench(says("ok"), hooks=Hooks(convert_to_llm=cast("ConvertToLlm", giving(given))))
    b.agent.append_custom("note", "for people")

    assert (await b.run("Hi")).text == "ok"
    assert b.model.shown == [["U:Hi"]]
    assert [notice.code for notice in b.events.of(Notice)] == ["hookFailed"]


@pytest.mark.covers("R220", "B4")
@pytest.mark.parametrize(
    ("given", "answer", "notices"),
    [
        (True, "1", 0),
        (StopRun(), "1", 0),
        (False, "3", 0),
        (None, "3", 0),
        (1, "3", 3),
        ("stop", "3", 3),
        (OneMoreTurn(cast("str", None)), "3", 3),
    ],
    ids=repr,
)
async def test_true_ends_the_run_and_what_is_no_decision_is_ignored_with_a_notice(
    given: object, answer: str, notices: int
) -> None:
    turns = [asks(call(f"c{n}", "echo", {"v": n}), text=str(n)) for n in (1, 2)]
    hooks = Hooks(should_stop_after_turn=(cast("ShouldStop", giving(given)),))
    b = bench(*turns, says("3"), tools=[echo_tool()], hooks=hooks)

    result = await b.run("Hi")

    assert (result.stop_reason, result.text, len(b.events.of(Notice))) == ("completed", answer, notices)


@pytest.mark.covers("R220", "T5")
@pytest.mark.parametrize("given", [True, "block", {"block": True}, ChangeArguments(cast("JsonObject", []))])
async def test_a_before_hook_that_decides_nonsense_keeps_its_call_from_running(given: object) -> None:
    tool = echo_tool()
    hooks = Hooks(before_tool_call=(cast("BeforeToolCall", giving(given)),))
    b = bench(asks(call("c1", "echo")), says("ok"), tools=[tool], hooks=hooks)

    assert (await b.run("Hi")).text == "ok"
    wanted = "BlockCall, ChangeArguments or None"
    said = f"The before_tool_call hook gave {type(given).__name__} in place of {wanted}."
    assert (tool.ran, b.shown[2]) == ([], f"R c1:{said}!")


@pytest.mark.covers("R220", "T5")
@pytest.mark.parametrize(
    "given",
    [
        False,
        "patched",
        ResultPatch(content=cast("tuple[UserBlock, ...]", "text")),
        ResultPatch(content=cast("tuple[UserBlock, ...]", ("text",))),
        ResultPatch(details=cast("JsonObject", [])),
        ResultPatch(details=cast("JsonObject", {"made": object()})),
        ResultPatch(is_error=cast("bool", "no")),
    ],
)
async def test_an_after_hook_that_gives_no_patch_makes_its_call_an_error(given: object) -> None:
    hooks = Hooks(after_tool_result=(cast("AfterToolResult", giving(given)),))
    b = bench(asks(call("c1", "echo")), says("ok"), tools=[echo_tool()], hooks=hooks)

    assert (await b.run("Hi")).text == "ok"
    said = f"The after_tool_result hook gave {type(given).__name__} in place of a ResultPatch or None."
    assert b.shown[2] == f"R c1:{said}!"


@pytest.mark.covers("R220", "B3")
async def test_hooks_that_change_the_call_and_the_details_they_see_change_nothing_else() -> None:
    async def after(finished: FinishedCall) -> None:
        assert finished.result.details is not None
        finished.result.details.clear()
        (finished.call.arguments or {}).clear()

    async def body(arguments: JsonObject, context: ToolContext) -> ToolResult:
        return ToolResult(block("ok"), details={"lines": [1]})

    async def stop(snapshot: AgentStateSnapshot) -> None:
        for part in snapshot.messages[1].content:
            if isinstance(part, ToolCall):
                (part.arguments or {}).clear()

    hooks = Hooks(after_tool_result=(after,), should_stop_after_turn=(stop,))
    b = bench(asks(call("c1", "tool", {"v": 1})), says("ok"), tools=[FakeTool("tool", body)], hooks=hooks)

    await b.run("Hi")

    assert b.agent.state.messages[1].content == (ToolCall("c1", "tool", {"v": 1}),)
    assert [end.details for end in b.events.of(ToolExecutionEnd)] == [{"lines": [1]}]
