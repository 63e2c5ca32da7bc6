"""Code that is not ours may raise whatever it likes: that is an error of its own call (R217, R218, R219)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import NoReturn, cast

import pytest

from pilothouse_agent.kernel.abort import AbortSignal
from pilothouse_agent.kernel.agent import Agent
from pilothouse_agent.kernel.events import CompactionEnd, CompactionReason, Event, Notice
from pilothouse_agent.kernel.hooks import Hooks
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.messages import ErrorInfo, Message, ToolCall
from pilothouse_agent.kernel.parts import AgentParts
from pilothouse_agent.kernel.ports import Compaction, ToolContext
from pilothouse_agent.kernel.questions import Answer, PermissionRequest, Question, Verdict
from pilothouse_agent.kernel.request import Delta, Finished, ModelLimits, ModelRequest, StreamEvent
from pilothouse_agent.kernel.settings import RunSettings
from pilothouse_agent.kernel.tooling import ToolResult
from support.footprints import turns_of_the_loop
from support.kernel import Bench, FakeTool, Gate, asks, bench, call, echo_tool, fails, says, soon
from support.permissions import FakePermissions


class Unspeakable(BaseException):
    def __str__(self) -> str:
        raise KeyboardInterrupt


RAISED: list[BaseException] = [
    SystemExit(3),
    KeyboardInterrupt(),
    GeneratorExit(),
    BaseExceptionGroup("both", [SystemExit(3), ValueError("no")]),
    StopIteration(),
    asyncio.CancelledError(),
    Unspeakable(),
]
raised = pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)


def raises(error: BaseException) -> Callable[..., NoReturn]:
    """A plain function that raises."""

    def function(*arguments: object, **named: object) -> NoReturn:
        raise error

    return function


def raises_later(error: BaseException) -> Callable[..., Awaitable[NoReturn]]:
    """An async one, which raises after a wait."""

    async def function(*arguments: object, **named: object) -> NoReturn:
        await asyncio.sleep(0)
        raise error

    return function


def calling(tool: FakeTool | None = None, **parts: object) -> Bench:
    """A run of one call of `echo` and an answer."""
    tools = [tool or echo_tool()]
    return bench(asks(call("c1", "echo")), says("done"), tools=tools, **parts)  # pyright: ignore[reportArgumentType]


async def result_of_the_call(b: Bench) -> str:
    """The run went on to its answer; the call's result in short."""
    result = await b.run("Hi")
    assert (result.stop_reason, result.text) == ("completed", "done")
    return b.shown[2]


@pytest.mark.covers("R217", "A5")
@raised
async def test_an_abort_callback_that_raises_keeps_nobody_from_the_abort(error: BaseException) -> None:
    gate, heard = Gate(), list[str]()

    async def body(arguments: JsonObject, context: ToolContext) -> ToolResult:
        context.signal.on_abort(lambda: heard.append("before"))
        context.signal.on_abort(raises(error))
        context.signal.on_abort(lambda: heard.append("after"))
        await gate()
        return ToolResult.text("never")

    b = bench(asks(call("c1", "work")), tools=[FakeTool("work", body)])
    queue_id = b.agent.follow_up("later")
    run = b.agent.prompt("Hi")
    await gate.arrival()

    returned = b.agent.abort()
    result = await soon(run)

    assert ([item.queue_id for item in returned], result.stop_reason) == ([queue_id], "aborted")
    assert (heard, b.shown[2]) == (["before", "after"], "R c1:Aborted while it was running.!")


@pytest.mark.covers("R217")
@raised
def test_a_callback_that_comes_after_the_abort_may_raise_too(error: BaseException) -> None:
    signal = AbortSignal()
    signal.set()

    signal.on_abort(raises(error))()

    assert signal.aborted


@pytest.mark.covers("R217")
def test_an_async_callback_is_refused_with_a_word_and_harms_nobody(caplog: pytest.LogCaptureFixture) -> None:
    async def callback() -> None:
        raise AssertionError("it is never run")

    signal = AbortSignal()
    signal.on_abort(cast("Callable[[], None]", callback))

    signal.set()

    assert [record.getMessage() for record in caplog.records] == [
        "A callback of the abort signal was not a plain function; it did not run"
    ]


@pytest.mark.covers("R218", "E4")
@raised
@pytest.mark.parametrize("make", [raises, raises_later])
async def test_a_listener_is_reported_once_and_the_run_goes_on(
    error: BaseException, make: Callable[[BaseException], Callable[[Event], Awaitable[None] | None]]
) -> None:
    b = calling()
    b.agent.subscribe(make(error))

    await result_of_the_call(b)

    assert [notice.code for notice in b.events.of(Notice)] == ["listenerFailed"]


@pytest.mark.covers("R218", "T5")
@raised
async def test_a_tool_that_raises_at_its_arguments_gets_an_error_result(error: BaseException) -> None:
    tool = FakeTool("echo", echo_tool().body, check=raises(error))

    said = await result_of_the_call(calling(tool))

    assert said.startswith(f"R c1:The tool echo failed at its arguments: {type(error).__name__}: ")


@pytest.mark.covers("R218", "T5")
@raised
async def test_a_body_that_raises_gets_an_error_result(error: BaseException) -> None:
    assert (await result_of_the_call(calling(FakeTool("echo", raises_later(error))))).endswith("!")


@pytest.mark.covers("R218", "B4")
@raised
@pytest.mark.parametrize("make", [raises, raises_later])
async def test_a_hook_of_a_call_makes_that_call_an_error(
    error: BaseException, make: Callable[[BaseException], Callable[..., Awaitable[NoReturn]]]
) -> None:
    before = await result_of_the_call(calling(hooks=Hooks(before_tool_call=(make(error),))))
    after = await result_of_the_call(calling(hooks=Hooks(after_tool_result=(make(error),))))

    assert before.startswith("R c1:The before_tool_call hook failed: ")
    assert after.startswith("R c1:The after_tool_result hook failed: ")


@pytest.mark.covers("R218", "B4")
@raised
@pytest.mark.parametrize("make", [raises, raises_later])
async def test_a_hook_of_a_request_or_a_turn_is_skipped_with_a_notice(
    error: BaseException, make: Callable[[BaseException], Callable[..., Awaitable[NoReturn]]]
) -> None:
    hooks = Hooks((make(error),), make(error), (), (), (make(error),))
    b = calling(hooks=hooks)

    assert await result_of_the_call(b) == "R c1:ok"
    assert [notice.code for notice in b.events.of(Notice)] == ["hookFailed"] * 6


class Judge:
    """Permissions of which one part raises."""

    def __init__(self, error: BaseException, where: str) -> None:
        self._inner = FakePermissions()
        self._error = error
        self._where = where

    def judge(self, request: PermissionRequest) -> Verdict:
        if self._where == "judge":
            raise self._error
        return self._inner.judge(request)

    def settle(self, request: PermissionRequest, option_id: str) -> bool:
        raise self._error


class Yes:
    async def ask(self, question: Question) -> Answer:
        return Answer("yes")


@pytest.mark.covers("R218", "P4")
@raised
@pytest.mark.parametrize("where", ["judge", "settle"])
async def test_a_permission_that_cannot_be_judged_is_a_no(error: BaseException, where: str) -> None:
    tool = echo_tool()

    await result_of_the_call(calling(tool, permissions=Judge(error, where), approver=Yes()))

    assert tool.ran == []


class Asker:
    def __init__(self, ask: Callable[..., Awaitable[NoReturn]]) -> None:
        self.ask = ask


@pytest.mark.covers("R218", "P4")
@raised
@pytest.mark.parametrize("make", [raises, raises_later])
async def test_an_approver_that_fails_has_said_no(
    error: BaseException, make: Callable[[BaseException], Callable[..., Awaitable[NoReturn]]]
) -> None:
    b = calling(permissions=FakePermissions(), approver=Asker(make(error)))

    assert await result_of_the_call(b) == "R c1:Denied: the question was not answered!"


class Shortener:
    def __init__(self, error: BaseException, where: str) -> None:
        self._error = error
        self._where = where

    def due(self, tokens: int, limits: ModelLimits) -> bool:
        if self._where == "due":
            raise self._error
        return True

    async def compact(
        self, messages: Sequence[Message], limits: ModelLimits, reason: CompactionReason
    ) -> Compaction | None:
        raise self._error


@pytest.mark.covers("R218", "L2")
@raised
@pytest.mark.parametrize("where", ["due", "compact"])
async def test_a_compaction_that_fails_leaves_the_history_as_it_is(error: BaseException, where: str) -> None:
    assert await result_of_the_call(calling(compactor=Shortener(error, where))) == "R c1:ok"


class Mistaken:
    """A compactor that gives what is no compaction."""

    def __init__(self, given: object) -> None:
        self._given = given

    def due(self, tokens: int, limits: ModelLimits) -> bool:
        return True

    async def compact(
        self, messages: Sequence[Message], limits: ModelLimits, reason: CompactionReason
    ) -> Compaction | None:
        return cast("Compaction", self._given)


@pytest.mark.covers("R220")
@pytest.mark.parametrize("given", ["shorter", [], Compaction(cast("tuple[Message, ...]", ("a",)), "s")])
async def test_a_compaction_that_gives_no_messages_leaves_the_history_as_it_is(given: object) -> None:
    b = calling(compactor=Mistaken(given))

    assert await result_of_the_call(b) == "R c1:ok"
    text = "The compaction gave something else than messages; the history is unchanged."
    assert {event.error for event in b.events.of(CompactionEnd)} == {ErrorInfo("internal", text)}


class Raiser:
    """A retry policy and a todo list in one; both raise."""

    attempts = 3

    def __init__(self, error: BaseException) -> None:
        self.delay = raises(error)
        self.unfinished = raises(error)


@pytest.mark.covers("R218", "A3")
@raised
async def test_whatever_else_raises_ends_the_run_and_not_the_process(error: BaseException) -> None:
    busy = fails("overloaded", retryable=True)
    benches = [
        bench(says("done"), says("done"), todos=Raiser(error)),
        bench([busy], [busy], retry=Raiser(error)),
        bench([Delta("text", 0, "x"), busy], [busy], retry=Raiser(error)),
        bench(says("done"), system_prompt=raises(error)),
        bench([Delta("text", 0, "x"), error], says("done")),
        bench([error], says("done")),
    ]

    for b in benches:
        await b.run("Hi")
        await b.run("And again")

    assert [(b.agent.busy, b.lines.count("AS"), b.lines[-1][:3]) for b in benches] == [(False, 2, "AE ")] * 6


class Provider:
    """Streams as it is told, once."""

    def __init__(self, stream: Callable[[], AsyncIterator[StreamEvent]]) -> None:
        self._stream = stream

    def limits(self, model: str) -> ModelLimits:
        return ModelLimits()

    def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        return self._stream()


def agent_over(stream: Callable[[], AsyncIterator[StreamEvent]], *, close_limit: float = 1) -> Agent:
    return Agent(AgentParts(Provider(stream), settings=RunSettings(close_limit=close_limit)), model="m")


@pytest.mark.covers("R219")
async def test_a_provider_that_has_said_its_last_may_finish_its_clean_up() -> None:
    steps: list[str] = []

    async def stream() -> AsyncIterator[StreamEvent]:
        try:
            yield Delta("text", 0, "done")
            yield Finished("stop")
        finally:
            for step in ("draining", "closing"):
                await turns_of_the_loop(5)
                steps.append(step)

    assert (await soon(agent_over(stream).prompt("Hi"))).text == "done"
    assert steps == ["draining", "closing"]


@pytest.mark.covers("R219")
async def test_a_provider_that_never_finishes_its_clean_up_is_cancelled_once_at_its_limit() -> None:
    cancelled: list[str] = []

    async def stream() -> AsyncIterator[StreamEvent]:
        try:
            yield Finished("refusal")
        finally:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.append("once")
                await turns_of_the_loop(5)
                cancelled.append("closed")
                raise

    assert (await soon(agent_over(stream, close_limit=0.05).prompt("Hi"))).stop_reason == "refused"
    assert cancelled == ["once", "closed"]


@pytest.mark.covers("R219", "A5")
async def test_an_abort_does_not_wait_for_a_clean_up_without_end() -> None:
    cleaning = Gate()

    async def stream() -> AsyncIterator[StreamEvent]:
        try:
            yield Delta("text", 0, "done")
            yield Finished("stop")
        finally:
            await cleaning()

    agent = agent_over(stream, close_limit=60)
    run = agent.prompt("Hi")
    await cleaning.arrival()

    agent.abort()

    assert (await soon(run)).stop_reason == "aborted"


@pytest.mark.covers("A2", "A3")
@pytest.mark.parametrize(
    "nonsense",
    [
        Delta("text", 0, cast("str", 5)),
        Delta("text", cast("int", []), "x"),
        Delta("toolCall", 0, "{}", cast("str", [1]), "echo"),
        Finished("stop", cast("None", "many")),
        "what?",
        None,
    ],
)
async def test_nonsense_of_a_provider_ends_message_and_run_in_order(nonsense: object) -> None:
    b = bench([Delta("text", 7, "a"), cast("StreamEvent", nonsense)], says("fine"))

    result = await b.run("Hi")

    assert (result.stop_reason, result.text) == ("error", "a")
    assert b.lines[5:] == ["MS(A)", "MU:a", "ME(A,error)", "TE1", "PH turn→idle", "AE error"]
    assert (await b.run("Go on")).text == "fine"


@pytest.mark.covers("T5", "B3")
async def test_a_tool_and_a_hook_that_change_what_they_were_given_change_nothing_else() -> None:
    def spoil(arguments: JsonObject) -> JsonObject:
        arguments.clear()
        return {}

    async def before(call: ToolCall, signal: AbortSignal) -> None:
        assert call.arguments is not None
        call.arguments["v"] = "spoilt"

    b = bench(
        asks(call("c1", "echo", {"v": {"deep": [1]}})),
        says("done"),
        tools=[FakeTool("echo", echo_tool().body, check=spoil)],
        hooks=Hooks(before_tool_call=(before,)),
    )

    await b.run("Hi")

    assert b.agent.state.messages[1].content == (ToolCall("c1", "echo", {"v": {"deep": [1]}}),)


@pytest.mark.covers("T5")
@pytest.mark.parametrize("progress", [None, b"bytes", 3])
async def test_progress_that_is_no_text_is_an_error_of_its_call(progress: object) -> None:
    async def body(arguments: JsonObject, context: ToolContext) -> ToolResult:
        context.progress(cast("str", progress))
        return ToolResult.text("never")

    said = await result_of_the_call(calling(FakeTool("echo", body)))

    kind = type(progress).__name__
    assert said == f"R c1:The tool failed: TypeError: Progress is text, not {kind}.!"
