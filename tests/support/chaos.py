"""Random runs: scripts of turns, tools of every temper, and things that happen at random moments."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from hypothesis import strategies as st

from pilothouse_agent.kernel.abort import AbortSignal
from pilothouse_agent.kernel.hooks import (
    BlockCall,
    ChangeArguments,
    FinishedCall,
    Hooks,
    OneMoreTurn,
    ResultPatch,
    StopRun,
)
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.messages import ErrorInfo, ErrorKind, Message, ToolCall
from pilothouse_agent.kernel.ports import ToolContext
from pilothouse_agent.kernel.questions import Answer, Question
from pilothouse_agent.kernel.request import Delta, Failed, Finished, ModelRequest, StreamEvent, ThinkingData
from pilothouse_agent.kernel.snapshot import AgentStateSnapshot
from pilothouse_agent.kernel.tooling import ToolError, ToolResult
from support.footprints import EVERYTHING, NOTHING, READS_EVERYTHING, changes, looks_at, turns_of_the_loop
from support.kernel import FakeTool, block
from support.permissions import ALLOW, REJECT, STOP

__all__ = ["Action", "Answers", "Chaos", "Happening", "Moody", "Script", "chaos", "moody_hooks", "tools"]


@dataclass(frozen=True, slots=True)
class Pause:
    turns: int


@dataclass(frozen=True, slots=True)
class Hang:
    """The provider is silent until it is closed."""


Step: TypeAlias = "StreamEvent | Pause | Hang | type[BaseException]"
Action: TypeAlias = Literal["abort", "steer", "followUp", "unqueue", "raise"]


@dataclass(frozen=True, slots=True)
class Happening:
    """What somebody does while event number `at` is delivered."""

    at: int
    action: Action


@dataclass(frozen=True, slots=True)
class Chaos:
    """Everything random about one run."""

    turns: list[list[Step]]
    queued_before: int
    happenings: list[Happening]
    abort_at_step: int | None
    """After so many turns of the event loop."""
    moods: list[str]
    """What the hooks do, one a call of any of them; then nothing."""
    answers: list[Answer | None]
    window: int | None
    all_at_once: bool
    """The queues deliver all they hold."""
    slow_listener: bool


class Script:
    """Plays the turns, then answers `over` for ever."""

    def __init__(self, turns: Sequence[Sequence[Step]]) -> None:
        self._turns = deque(turns)

    def end(self) -> None:
        self._turns.clear()

    async def play(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        over: list[Step] = [Delta("text", 0, "over"), Finished("stop")]
        for step in self._turns.popleft() if self._turns else over:
            if isinstance(step, Pause):
                await turns_of_the_loop(step.turns)
            elif isinstance(step, Hang):
                await asyncio.Event().wait()
            elif isinstance(step, type):
                raise step("the provider broke")
            else:
                yield step


class Moody:
    """Hands out moods, then none."""

    def __init__(self, moods: Sequence[str]) -> None:
        self._moods = deque(moods)

    def end(self) -> None:
        self._moods.clear()

    async def next(self) -> str:
        mood = self._moods.popleft() if self._moods else ""
        if mood == "slow":
            await turns_of_the_loop(3)
        elif mood == "raise":
            raise RuntimeError("a hook broke")
        elif mood == "cancelled":
            raise asyncio.CancelledError
        return mood


def moody_hooks(moody: Moody) -> Hooks:
    async def transform(messages: Sequence[Message], signal: AbortSignal) -> Sequence[Message]:
        await moody.next()
        return messages

    async def before(call: ToolCall, signal: AbortSignal) -> BlockCall | ChangeArguments | None:
        match await moody.next():
            case "no":
                return BlockCall("no")
            case "change":
                return ChangeArguments({"changed": True})
            case _:
                return None

    async def after(finished: FinishedCall) -> ResultPatch | None:
        return ResultPatch(content=block("patched")) if await moody.next() == "change" else None

    async def should_stop(snapshot: AgentStateSnapshot) -> StopRun | OneMoreTurn | None:
        match await moody.next():
            case "no":
                return StopRun()
            case "change":
                return OneMoreTurn("one more")
            case _:
                return None

    return Hooks((transform,), None, (before,), (after,), (should_stop,))


async def _ok(arguments: JsonObject, context: ToolContext) -> object:
    return ToolResult.text("ok")


async def _wait(arguments: JsonObject, context: ToolContext) -> object:
    await turns_of_the_loop(4)
    context.progress("waited")
    await turns_of_the_loop(2)
    return ToolResult.text(f"{context.call_id} waited")


async def _fail(arguments: JsonObject, context: ToolContext) -> object:
    raise ToolError("It cannot be done.")


async def _crash(arguments: JsonObject, context: ToolContext) -> object:
    context.progress("crashing")
    raise RuntimeError("crash")


async def _cancelled(arguments: JsonObject, context: ToolContext) -> object:
    raise asyncio.CancelledError


async def _nothing(arguments: JsonObject, context: ToolContext) -> object:
    return None


async def _end(arguments: JsonObject, context: ToolContext) -> object:
    return ToolResult(block("end"), terminate=True)


async def _deaf(arguments: JsonObject, context: ToolContext) -> object:
    for _ in range(8):
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            context.progress("I heard nothing")
    return ToolResult.text("deaf")


async def _write(arguments: JsonObject, context: ToolContext) -> object:
    with context.pending_write("/a"):
        await turns_of_the_loop(2)
        with context.committing():
            await turns_of_the_loop(4)
    return ToolResult.text("written")


def tools() -> list[FakeTool]:
    return [
        FakeTool("ok", _ok, footprint=NOTHING),
        FakeTool("wait", _wait, footprint=looks_at("/a")),
        FakeTool("fail", _fail, footprint=READS_EVERYTHING),
        FakeTool("crash", _crash, footprint=EVERYTHING),
        FakeTool("cancelled", _cancelled, footprint=NOTHING),
        FakeTool("nothing", _nothing, footprint=NOTHING),
        FakeTool("end", _end, footprint=NOTHING),
        FakeTool("deaf", _deaf, footprint=NOTHING),
        FakeTool("write", _write, footprint=changes("/a")),
    ]


_NAMES = st.sampled_from([tool.spec.name for tool in tools()] * 2 + ["missing", ""])
_ARGUMENTS = st.sampled_from(['{"v": 1}', "{}", "", '{"v": 2}', '{"v": ', "[1]", '{"v": "a\\"b"}', "null"])
_IDS = st.sampled_from(["c1", "c2", "c3", "c4", "c5", "", None])
_TEXTS = st.sampled_from(["a", "Hello ", "", "\n", "ü"])
_KINDS: list[ErrorKind] = ["overloaded", "connectionLost", "auth", "contextOverflow", "invalidRequest"]
_ERRORS = st.builds(ErrorInfo, st.sampled_from(_KINDS), st.just("it broke"), st.booleans())
_FAILURES: st.SearchStrategy[Step] = st.builds(Failed, _ERRORS)
_FINISHED = st.sampled_from(
    [Finished("stop"), *[Finished("toolUse")] * 3, Finished("length"), Finished("refusal"), Finished("pause")]
)
_BREAKS: st.SearchStrategy[Step] = st.sampled_from([Pause(0), RuntimeError, asyncio.CancelledError])
_HANGS: st.SearchStrategy[Step] = st.just(Hang())


@st.composite
def _block(draw: st.DrawFn, index: int) -> list[Step]:
    match draw(st.sampled_from(["text", "thinking", "data", "pause", *["call"] * 5])):
        case "text":
            return [Delta("text", index, text) for text in draw(st.lists(_TEXTS, max_size=3))]
        case "thinking":
            return [Delta("thinking", index, text) for text in draw(st.lists(_TEXTS, max_size=2))]
        case "data":
            return [ThinkingData(index, signature="s")]
        case "pause":
            return [Pause(draw(st.integers(1, 4)))]
        case _:
            arguments, cut = draw(_ARGUMENTS), draw(st.integers(0, 4))
            first = Delta("toolCall", index, arguments[:cut], draw(_IDS), draw(_NAMES))
            return [first, Delta("toolCall", index, arguments[cut:])]


@st.composite
def _turn(draw: st.DrawFn, *, may_hang: bool) -> list[Step]:
    breaks = st.one_of(_FAILURES, _BREAKS, _HANGS if may_hang else _FAILURES)
    if draw(st.integers(0, 4)) == 0:
        return [draw(breaks)]
    blocks = [step for index in range(draw(st.integers(1, 5))) for step in draw(_block(index))]
    return [*blocks, draw(st.one_of(_FINISHED, _FINISHED, _FINISHED, breaks))]


_HAPPENINGS = st.builds(
    Happening,
    st.integers(0, 60),
    st.sampled_from(["abort", "steer", "steer", "followUp", "followUp", "unqueue", "raise"]),
)
_MOODS = st.sampled_from(["", "", "slow", "no", "change", "raise", "cancelled"])


@st.composite
def chaos(draw: st.DrawFn) -> Chaos:
    abort_at_step = draw(st.none() | st.integers(0, 150))
    return Chaos(
        turns=draw(st.lists(_turn(may_hang=abort_at_step is not None), min_size=2, max_size=6)),
        queued_before=draw(st.integers(0, 2)),
        happenings=draw(st.lists(_HAPPENINGS, max_size=4)),
        abort_at_step=abort_at_step,
        moods=draw(st.lists(_MOODS, max_size=8)),
        answers=draw(st.lists(st.sampled_from([ALLOW, REJECT, STOP, None]), max_size=3)),
        window=draw(st.none() | st.sampled_from([40, 200])),
        all_at_once=draw(st.booleans()),
        slow_listener=draw(st.booleans()),
    )


class Answers:
    """An approver with these answers; then he allows everything, after a while."""

    def __init__(self, answers: Sequence[Answer | None]) -> None:
        self._answers = deque(answers)

    async def ask(self, question: Question) -> Answer | None:
        await turns_of_the_loop(2)
        return self._answers.popleft() if self._answers else ALLOW
