"""Doubles for everything the kernel is given: a scripted provider, tools, a clock, ids, and a recorder."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeAlias, TypeVar, cast

from pilothouse_agent.kernel.agent import Agent, Content
from pilothouse_agent.kernel.events import Location, ToolKind
from pilothouse_agent.kernel.hooks import Hooks
from pilothouse_agent.kernel.json_types import JsonObject, JsonValue
from pilothouse_agent.kernel.messages import (
    ErrorInfo,
    ErrorKind,
    Message,
    TextBlock,
    Usage,
    UserBlock,
)
from pilothouse_agent.kernel.parts import AgentParts, SystemPrompt
from pilothouse_agent.kernel.ports import (
    Approver,
    Clock,
    Compactor,
    FilePort,
    Invocation,
    NewsSource,
    PermissionPipeline,
    PlannedFiles,
    RetryPolicy,
    TodoSource,
    Tool,
    ToolContext,
)
from pilothouse_agent.kernel.request import (
    Delta,
    Failed,
    Finished,
    ModelLimits,
    ModelRequest,
    ProviderStop,
    StreamEvent,
    ToolSpec,
)
from pilothouse_agent.kernel.retry import BackOff
from pilothouse_agent.kernel.run import RunResult
from pilothouse_agent.kernel.settings import RunSettings
from pilothouse_agent.kernel.tooling import Footprint, Preview, ToolResult
from support.recorder import Recorder

__all__ = [
    "Bench",
    "FakeClock",
    "FakeModel",
    "FakeTool",
    "Gate",
    "Ids",
    "Step",
    "Turn",
    "asks",
    "bench",
    "block",
    "call",
    "echo_tool",
    "fails",
    "says",
    "shown",
    "soon",
    "thinks",
]

T = TypeVar("T")

Step: TypeAlias = "StreamEvent | BaseException | Callable[[], Awaitable[object]]"
"""What a scripted turn does next: send the event, raise the exception, or await the call."""
Turn: TypeAlias = "Sequence[Step] | Callable[[ModelRequest], AsyncIterator[StreamEvent]]"
Body: TypeAlias = "Callable[[JsonObject, ToolContext], Awaitable[object]]"


async def soon(awaitable: Awaitable[T], *, limit: float = 5) -> T:
    """Every wait of a test is bounded by this."""
    async with asyncio.timeout(limit):
        return await awaitable


class Gate:
    """A place where a double stops until the test opens it. Await an instance's call to stop there."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self._opened = asyncio.Event()

    def open(self) -> None:
        self._opened.set()

    async def arrival(self) -> None:
        await soon(self.reached.wait())

    async def __call__(self) -> None:
        self.reached.set()
        await self._opened.wait()


def block(text: str) -> tuple[UserBlock, ...]:
    return (TextBlock(text),)


def thinks(*parts: str, index: int = 0) -> list[Step]:
    return [Delta("thinking", index, part) for part in parts]


def says(*parts: str, stop: ProviderStop = "stop", usage: Usage | None = None) -> list[Step]:
    """A whole answer of text, one delta a part."""
    return [*(Delta("text", 0, part) for part in parts), Finished(stop, usage)]


def call(call_id: str, name: str, arguments: JsonValue = None, *, index: int = 0) -> Delta:
    """A call in one delta. A string is sent as it stands, anything else as JSON; None is `{}`."""
    raw = arguments if isinstance(arguments, str) else json.dumps({} if arguments is None else arguments)
    return Delta("toolCall", index, raw, call_id, name)


def asks(
    *calls: Delta, text: str = "", stop: ProviderStop = "toolUse", usage: Usage | None = None
) -> list[Step]:
    """A whole answer that asks for these calls, in order, after the text."""
    said = [Delta("text", 0, text)] if text else []
    numbered = [delta._replace(block=index) for index, delta in enumerate(calls, len(said))]
    return [*said, *numbered, Finished(stop, usage)]


def fails(
    kind: ErrorKind,
    message: str = "it broke",
    *,
    retryable: bool = False,
    status: int | None = None,
    retry_after: float | None = None,
) -> Failed:
    return Failed(ErrorInfo(kind, message, retryable, status, retry_after))


class FakeModel:
    """A provider in memory: plays one turn a request, in order, and keeps the requests."""

    def __init__(self, *turns: Turn, window: int | None = None) -> None:
        self.requests: list[ModelRequest] = []
        self.streaming = asyncio.Event()
        """Set by the first request."""
        self.closed = 0
        """How many streams have ended, by whatever means."""
        self.window = window
        self._turns = list(turns)

    def limits(self, model: str) -> ModelLimits:
        return ModelLimits(context_window=self.window)

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        self.requests.append(request)
        self.streaming.set()
        turn = self._turns.pop(0) if self._turns else [fails("invalidRequest", "The script has ended.")]
        try:
            if callable(turn):
                async for event in turn(request):
                    yield event
                return
            for step in turn:
                if isinstance(step, BaseException):
                    raise step
                if callable(step):
                    await step()
                else:
                    yield step
        finally:
            self.closed += 1

    @property
    def shown(self) -> list[list[str]]:
        """Each request's messages, in short: `U:Hi`, `A:Hello [c1]`, `R c1:ok`."""
        return [shown(request.messages) for request in self.requests]


class FakeTool:
    """A tool made from an async function; keeps the arguments its bodies ran with."""

    def __init__(
        self,
        name: str,
        body: Body,
        *,
        kind: ToolKind = "other",
        footprint: Footprint | Callable[[JsonObject], Footprint] | None = None,
        check: Callable[[JsonObject], JsonObject] | None = None,
        preview: Callable[[JsonObject, PlannedFiles], Awaitable[Preview | None]] | None = None,
        command: Callable[[JsonObject], str] | None = None,
    ) -> None:
        """`check` validates and may coerce the arguments; it raises what `Tool.bind` may raise."""
        self.kind: ToolKind = kind
        self.spec = ToolSpec(name, f"The {name} tool.", {"type": "object"})
        self.ran: list[JsonObject] = []
        self.body = body
        self.footprint = footprint or Footprint()
        self.preview = preview
        self.command = command
        self._check = check or _unchecked

    def bind(self, arguments: JsonObject) -> Invocation:
        return _Invocation(self, self._check(arguments))


def _unchecked(arguments: JsonObject) -> JsonObject:
    return arguments


class _Invocation:
    def __init__(self, tool: FakeTool, arguments: JsonObject) -> None:
        self._tool = tool
        self._arguments = arguments
        footprint = tool.footprint
        self.footprint = footprint if isinstance(footprint, Footprint) else footprint(arguments)
        self.title = f"Run {tool.spec.name}"
        self.locations: tuple[Location, ...] = ()
        self.command = tool.command(arguments) if tool.command is not None else None

    async def preview(self, planned: PlannedFiles) -> Preview | None:
        return None if self._tool.preview is None else await self._tool.preview(self._arguments, planned)

    async def execute(self, context: ToolContext) -> ToolResult:
        self._tool.ran.append(self._arguments)
        return cast("ToolResult", await self._tool.body(self._arguments, context))


def echo_tool(name: str = "echo", *, footprint: Footprint | None = None) -> FakeTool:
    """Answers `ok`, or the argument `v` when there is one."""

    async def body(arguments: JsonObject, context: ToolContext) -> ToolResult:
        return ToolResult.text(str(arguments.get("v", "ok")))

    return FakeTool(name, body, footprint=footprint)


class FakeClock:
    """Time that passes only by sleeping: at once, or when released if made with `hold`."""

    def __init__(self, *, hold: bool = False) -> None:
        self.sleeps: list[float] = []
        self.asleep = asyncio.Event()
        self.hold = hold
        self._elapsed = 0.0
        self._released = asyncio.Event()

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self._elapsed)

    def monotonic(self) -> float:
        return self._elapsed

    def release(self) -> None:
        """Let the present sleepers go on."""
        self._released.set()
        self._released = asyncio.Event()
        self.asleep.clear()

    async def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.asleep.set()
        if self.hold:
            await self._released.wait()
        self._elapsed += seconds


class Ids:
    """Ids that count up for each prefix: msg1, msg2, call1."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def __call__(self, prefix: str) -> str:
        self._counts[prefix] = self._counts.get(prefix, 0) + 1
        return f"{prefix}{self._counts[prefix]}"


@dataclass(slots=True)
class Bench:
    """An agent with its doubles; `events` has been recording since before the first event."""

    agent: Agent
    model: FakeModel
    clock: FakeClock
    events: Recorder

    async def run(self, *messages: Content) -> RunResult:
        return await soon(self.agent.prompt(*messages))

    @property
    def lines(self) -> list[str]:
        return self.events.lines

    @property
    def shown(self) -> list[str]:
        """The transcript in short."""
        return shown(self.agent.state.messages)


def bench(
    *turns: Turn,
    tools: Iterable[Tool] = (),
    hooks: Hooks | None = None,
    settings: RunSettings | None = None,
    clock: FakeClock | None = None,
    permissions: PermissionPipeline | None = None,
    approver: Approver | None = None,
    files: FilePort | None = None,
    compactor: Compactor | Callable[[Clock], Compactor] | None = None,
    retry: RetryPolicy | None = None,
    todos: TodoSource | None = None,
    news: NewsSource | None = None,
    window: int | None = None,
    system_prompt: str | SystemPrompt = "",
    messages: Iterable[Message] = (),
    new_id: Callable[[str], str] | None = None,
) -> Bench:
    """An agent over a scripted model that plays these turns."""
    model, clock = FakeModel(*turns, window=window), clock or FakeClock()
    parts = AgentParts(
        model,
        session_id="s1",
        permissions=permissions,
        approver=approver,
        files=files,
        compactor=compactor(clock) if callable(compactor) else compactor,
        retry=retry or BackOff(jitter=lambda: 1),
        todos=todos,
        news=news,
        hooks=hooks or Hooks(),
        settings=settings or RunSettings(),
        clock=clock,
        new_id=new_id or Ids(),
    )
    agent = Agent(parts, model="m", tools=tools, system_prompt=system_prompt, messages=messages)
    recorder = Recorder()
    agent.subscribe(recorder)
    return Bench(agent, model, clock, recorder)


def shown(messages: Iterable[Message]) -> list[str]:
    """Messages in short: `U:Hi`, `A:Hello [c1]`, `A:He (aborted)`, `R c1:ok`, `R c1:bad!` for an error,
    `C resume:…` for a custom one."""
    return [Recorder.message(message) for message in messages]
