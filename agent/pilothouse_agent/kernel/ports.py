"""The seams of the kernel: what it needs from others, as Protocols. Implementations only duck-type."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from pilothouse_agent.kernel.abort import AbortSignal
from pilothouse_agent.kernel.events import CompactionReason, FileChangeKind, Location, ToolKind
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.messages import ErrorInfo, Message
from pilothouse_agent.kernel.questions import Answer, PermissionRequest, Question, Verdict
from pilothouse_agent.kernel.request import ModelLimits, ModelRequest, StreamEvent, ToolSpec
from pilothouse_agent.kernel.tooling import FileDiff, Footprint, Preview, ToolResult

__all__ = [
    "Approver",
    "Clock",
    "Compaction",
    "Compactor",
    "Consent",
    "FileChange",
    "FilePart",
    "FilePort",
    "FileText",
    "Invocation",
    "ModelProvider",
    "NewsSource",
    "PermissionPipeline",
    "PlannedFiles",
    "RetryPolicy",
    "TextChange",
    "TodoSource",
    "Tool",
    "ToolContext",
    "WriteScope",
]


class Clock(Protocol):
    def now(self) -> datetime:
        """Wall time, aware, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds, for durations only."""
        ...

    async def sleep(self, seconds: float) -> None: ...


class ModelProvider(Protocol):
    def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        """Events of one answer, ended by exactly one `Finished` or `Failed`.

        Failures are the final event, never raised; a silence longer than the provider's idle limit
        is one. Cancelling the task that iterates closes the connection.
        """
        ...

    def limits(self, model: str) -> ModelLimits: ...


class Consent(Protocol):
    """What the user said yes to, for a call that was asked about (kernel.md P3)."""

    def covers(self, diff: FileDiff) -> bool:
        """Whether just this change was shown; from any thread."""
        ...

    async def extend(self, diff: FileDiff) -> None:
        """Ask about this change. Raises `ToolError` for a no, `Aborted` at an abort."""
        ...


class WriteScope(Protocol):
    """Who a change to a file is made for."""

    @property
    def consent(self) -> Consent | None:
        """None: the call may change what it likes, since nobody was asked about it."""
        ...

    @property
    def call_id(self) -> str: ...

    @property
    def signal(self) -> AbortSignal: ...

    def pending_write(self, path: str) -> AbstractContextManager[None]:
        """Lists the path in State.pending_writes while a write is queued or running."""
        ...

    def committing(self) -> AbstractContextManager[None]:
        """Brackets a write in flight: an abort waits for it instead of cancelling (kernel.md F4, T7).

        Raises `Aborted` on entry when the run has been aborted.
        """
        ...


class ToolContext(WriteScope, Protocol):
    """One call's line to the executor."""

    def progress(self, text: str) -> None:
        """New output, for display only; from any thread. Dropped once the call has ended."""
        ...


class Invocation(Protocol):
    """One call with valid arguments, bound to its tool."""

    @property
    def title(self) -> str:
        """A line for people: `Edit src/a.py`."""
        ...

    @property
    def footprint(self) -> Footprint: ...

    @property
    def locations(self) -> tuple[Location, ...]: ...

    @property
    def command(self) -> str | None:
        """The shell command, when the call runs one."""
        ...

    async def preview(self, planned: PlannedFiles) -> Preview | None:
        """What the user is to be shown; notes the planned texts in `planned`.

        Raises `ToolError` when the call cannot succeed, so that nobody is asked in vain.
        """
        ...

    async def execute(self, context: ToolContext) -> ToolResult:
        """Run it. Raises `ToolError` for a failure the model should read."""
        ...


class Tool(Protocol):
    @property
    def spec(self) -> ToolSpec: ...

    @property
    def kind(self) -> ToolKind: ...

    def bind(self, arguments: JsonObject) -> Invocation:
        """Validate, coercing harmless shapes. Raises `InvalidArguments` with every violation."""
        ...


@dataclass(frozen=True, slots=True)
class FileText:
    """A text file as the user sees it: decoded, mark removed, line endings as they are."""

    path: str
    """Absolute and real."""
    text: str
    encoding: str
    bom: bytes = b""
    note: str = ""
    """A sentence for the model on its state, such as why it cannot be edited."""


@dataclass(frozen=True, slots=True)
class FilePart:
    """Whole lines of a large file, or the beginning of a line that is very long."""

    path: str
    """Absolute and real."""
    text: str
    encoding: str
    bom: bytes
    first: int
    """The number of its first line, from 1; negative: counted from the end."""
    size: int
    """Bytes of the whole file."""
    ends: bool
    """Nothing of the file follows."""


@dataclass(frozen=True, slots=True)
class FileChange:
    path: str
    kind: FileChangeKind
    via: Literal["editor", "disk"]
    before: str | None
    """None: it did not exist, or what was deleted or moved was not text."""
    after: str | None
    """The text as it stands afterwards; None: it is gone, or what was moved is not text."""
    source: str | None = None
    """Where a renamed file came from."""
    note: str = ""
    """A sentence for the model on what is left to be done, such as saving."""
    folders: tuple[str, ...] = ()
    """Those that were made for it, innermost first."""


TextChange = Callable[[FileText | None], str]
"""From the newest text (None: no such file) to the text wanted. Raises `ToolError` to refuse."""


class PlannedFiles(Protocol):
    """The texts that files will have once the batch's earlier approved calls have run."""

    @property
    def uncertain(self) -> bool:
        """An earlier call may have changed anything; a text from here may be outdated."""
        ...

    def mark_uncertain(self) -> None: ...

    async def text(self, path: str) -> FileText | None:
        """None: there is no such file. Raises `ToolError` for one that cannot be edited."""
        ...

    def put(self, path: str, text: str | None) -> None:
        """Note the planned text; None: deleted. Raises `ToolError` for text the file cannot hold."""
        ...


class FilePort(Protocol):
    """Files as the user sees them, with one write queue a file (kernel.md F1 to F6).

    Paths are absolute; each method resolves symlinks itself. All raise `ToolError` with a reason
    the model can act on.
    """

    async def read(self, path: str) -> FileText: ...

    async def read_part(self, path: str, offset: int, size: int) -> FilePart | None:
        """About `size` bytes from line `offset` on (from 1; negative: from the end).

        None: the file is to be read as a whole, since it is not large or somebody holds it open.
        """
        ...

    async def exists(self, path: str) -> bool: ...

    def note_part(self, part: FilePart, lines: int) -> None:
        """As `note_read`, for the first lines of a part."""
        ...

    def note_read(self, file: FileText, first: int, last: int) -> None:
        """Record that the model has seen these lines (from 1, both included) of this very text."""
        ...

    async def edit(self, path: str, change: TextChange, scope: WriteScope) -> FileChange:
        """Change an existing file inside its queue turn, on its newest text."""
        ...

    async def write(self, path: str, text: str, scope: WriteScope) -> FileChange:
        """Create a file, or replace one the model has read in full (F3)."""
        ...

    async def move(self, path: str, new_path: str, scope: WriteScope) -> FileChange: ...

    async def delete(self, path: str, scope: WriteScope) -> FileChange: ...

    def plan(self) -> PlannedFiles: ...


class PermissionPipeline(Protocol):
    def judge(self, request: PermissionRequest) -> Verdict:
        """Decide without asking: deny list, command check, workspace boundary, rules (P1)."""
        ...

    def settle(self, request: PermissionRequest, option_id: str) -> bool:
        """Whether this answer allows the call; remembers it if its option says so. Unknown: no."""
        ...


class Approver(Protocol):
    async def ask(self, question: Question) -> Answer | None:
        """Put a question to the user and wait. None, or any failure, means reject once (P4).

        Cancelled when the question is resolved otherwise; the display must then go away.
        """
        ...


@dataclass(frozen=True, slots=True)
class Compaction:
    messages: tuple[Message, ...]
    summary: str


class Compactor(Protocol):
    def due(self, tokens: int, limits: ModelLimits) -> bool:
        """Whether the history is to be shortened before the next request."""
        ...

    async def compact(
        self, messages: Sequence[Message], limits: ModelLimits, reason: CompactionReason
    ) -> Compaction | None:
        """A shorter history with all tool pairs intact; None when it cannot be shortened."""
        ...


class RetryPolicy(Protocol):
    @property
    def attempts(self) -> int: ...

    def delay(self, attempt: int, error: ErrorInfo) -> float | None:
        """Seconds to wait before retry number `attempt` (from 1); None: do not retry."""
        ...


class NewsSource(Protocol):
    def take(self) -> Sequence[tuple[str, str]]:
        """What the model is to be told since the last time: names of custom messages, and their texts."""
        ...


class TodoSource(Protocol):
    def unfinished(self) -> Sequence[str]:
        """What the model's todo list still holds, as the model wrote it."""
        ...
