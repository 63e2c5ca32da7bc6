"""Everything the agent says about its life, as immutable values. Order of events: kernel.md E1 to E3.

This is the one declaration of them: what clients are told, its schema and its docs are made from these
fields, their defaults and the words at them. A field is left out where it has its default.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, TypeAlias

from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.messages import ErrorInfo, Message, Role, Usage, UserBlock

__all__ = [
    "AgentEnd",
    "AgentStart",
    "ApprovalRequested",
    "ApprovalResolved",
    "CompactionEnd",
    "CompactionReason",
    "CompactionStart",
    "Decision",
    "DeltaKind",
    "Event",
    "FileChangeKind",
    "FileChanged",
    "Location",
    "MessageEnd",
    "MessageStart",
    "MessageUpdate",
    "Notice",
    "Option",
    "OptionKind",
    "Outcome",
    "Phase",
    "PhaseChange",
    "QueueKind",
    "QueueUpdate",
    "QueuedItem",
    "RetryScheduled",
    "RunStop",
    "SessionUpdate",
    "Todo",
    "TodoStatus",
    "TodoUpdate",
    "ToolExecutionEnd",
    "ToolExecutionStart",
    "ToolExecutionUpdate",
    "ToolKind",
    "TurnEnd",
    "TurnStart",
]

Phase = Literal["idle", "turn", "compaction", "retry"]
RunStop = Literal["completed", "aborted", "error", "maxTurns", "length", "refused"]
DeltaKind = Literal["text", "thinking", "toolCall"]
Outcome = Literal["ok", "error", "denied", "blocked", "aborted"]
ToolKind = Literal["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "other"]
QueueKind = Literal["steering", "followUp"]
Decision = Literal["allowed", "denied", "cancelled"]
OptionKind = Literal["allowOnce", "allowAlways", "rejectOnce", "rejectAlways"]
CompactionReason = Literal["threshold", "overflow", "manual"]
FileChangeKind = Literal["create", "modify", "delete", "rename"]
TodoStatus = Literal["pending", "in_progress", "completed"]


@dataclass(frozen=True, slots=True)
class Location:
    path: str
    """Absolute."""
    line: int | None = None
    """From 1."""


@dataclass(frozen=True, slots=True)
class QueuedItem:
    queue_id: str
    kind: QueueKind
    content: tuple[UserBlock, ...]


@dataclass(frozen=True, slots=True)
class Option:
    """One answer a question can be given."""

    id: str
    label: str
    kind: OptionKind
    scope: str | None = None
    """What `allowAlways` covers, in words a user can judge."""


@dataclass(frozen=True, slots=True)
class Todo:
    content: str
    status: TodoStatus


@dataclass(frozen=True, slots=True)
class AgentStart:
    """A run begins."""

    type: ClassVar[str] = "agent_start"
    run_id: str
    model: str
    input: tuple[str, ...]
    """Ids of the messages it begins with."""
    prompt_id: str | None = None


@dataclass(frozen=True, slots=True)
class TurnStart:
    """One model request and the tools it asks for begin."""

    type: ClassVar[str] = "turn_start"
    turn: int
    """From 1."""


@dataclass(frozen=True, slots=True)
class MessageStart:
    """A message begins; an assistant message with its first delta, or with its end when there is none."""

    type: ClassVar[str] = "message_start"
    message_id: str
    role: Role


class MessageUpdate(NamedTuple):
    """New text of the assistant message being streamed. A tuple because there are thousands of them."""

    message_id: str
    kind: DeltaKind
    content_index: int
    text: str
    tool_call_id: str | None = None
    tool_name: str | None = None

    @property
    def type(self) -> str:
        return "message_update"


@dataclass(frozen=True, slots=True)
class MessageEnd:
    """The message, whole."""

    type: ClassVar[str] = "message_end"
    message: Message


@dataclass(frozen=True, slots=True)
class ToolExecutionStart:
    """A call is being prepared; a question may follow."""

    type: ClassVar[str] = "tool_execution_start"
    tool_call_id: str
    tool_name: str
    kind: ToolKind
    arguments: JsonObject | None
    title: str
    arguments_text: str | None = None
    """Set when the arguments could not be parsed; then `arguments` is None."""
    locations: tuple[Location, ...] = ()
    parent_tool_call_id: str | None = None


@dataclass(frozen=True, slots=True)
class ToolExecutionUpdate:
    """New output of a running call."""

    type: ClassVar[str] = "tool_execution_update"
    tool_call_id: str
    text: str
    """Only what is new since the last update."""
    dropped: int = 0
    """Bytes left out in front of `text`, when any were."""


@dataclass(frozen=True, slots=True)
class ToolExecutionEnd:
    """The call has ended; what the model is told is in the toolResult message."""

    type: ClassVar[str] = "tool_execution_end"
    tool_call_id: str
    tool_name: str
    is_error: bool
    outcome: Outcome
    duration_ms: int
    details: JsonObject | None = None
    locations: tuple[Location, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """All tool events and tool results of the turn are out."""

    type: ClassVar[str] = "turn_end"
    turn: int
    tool_call_ids: tuple[str, ...]
    message_id: str | None = None


@dataclass(frozen=True, slots=True)
class AgentEnd:
    """The last event of a run: the prompt's settled result."""

    type: ClassVar[str] = "agent_end"
    run_id: str
    stop_reason: RunStop
    text: str
    usage: Usage | None
    returned: tuple[QueuedItem, ...]
    duration_ms: int
    denied: int = 0
    """How many calls were refused, by permissions or the user."""
    error: ErrorInfo | None = None


@dataclass(frozen=True, slots=True)
class PhaseChange:
    """What the agent is doing."""

    type: ClassVar[str] = "phase_change"
    source: Phase
    target: Phase
    reason: str


@dataclass(frozen=True, slots=True)
class QueueUpdate:
    """What is still queued."""

    type: ClassVar[str] = "queue_update"
    steering: tuple[QueuedItem, ...]
    follow_up: tuple[QueuedItem, ...]


@dataclass(frozen=True, slots=True)
class ApprovalRequested:
    """A question is open; the first answer counts, from wherever it comes."""

    type: ClassVar[str] = "approval_requested"
    approval_id: str
    tool_call_id: str
    title: str
    options: tuple[Option, ...]


@dataclass(frozen=True, slots=True)
class ApprovalResolved:
    """The question is closed; dialogs go away."""

    type: ClassVar[str] = "approval_resolved"
    approval_id: str
    tool_call_id: str
    decision: Decision
    by: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class RetryScheduled:
    """The request failed and is sent again."""

    type: ClassVar[str] = "retry_scheduled"
    attempt: int
    """From 1."""
    max_attempts: int
    delay_ms: int
    reason: str


@dataclass(frozen=True, slots=True)
class CompactionStart:
    """The history is being shortened."""

    type: ClassVar[str] = "compaction_start"
    reason: CompactionReason


@dataclass(frozen=True, slots=True)
class CompactionEnd:
    """It is shorter, or unchanged and `error` says why."""

    type: ClassVar[str] = "compaction_end"
    reason: CompactionReason
    tokens_before: int
    tokens_after: int
    summary: str | None = None
    error: ErrorInfo | None = None


@dataclass(frozen=True, slots=True)
class FileChanged:
    """A file was changed by a call."""

    type: ClassVar[str] = "file_changed"
    path: str
    change: FileChangeKind
    via: Literal["editor", "disk"]
    lines_added: int
    lines_removed: int
    tool_call_id: str


@dataclass(frozen=True, slots=True)
class TodoUpdate:
    """The model's todo list."""

    type: ClassVar[str] = "todo_update"
    todos: tuple[Todo, ...]


@dataclass(frozen=True, slots=True)
class SessionUpdate:
    """What has changed of the session."""

    type: ClassVar[str] = "session_update"
    title: str | None = None
    model: str | None = None
    mode: str | None = None
    thinking: str | None = None


@dataclass(frozen=True, slots=True)
class Notice:
    """Something to tell the user."""

    type: ClassVar[str] = "notice"
    level: Literal["info", "warning", "error"]
    message: str
    code: str


Event: TypeAlias = (
    AgentStart
    | TurnStart
    | MessageStart
    | MessageUpdate
    | MessageEnd
    | ToolExecutionStart
    | ToolExecutionUpdate
    | ToolExecutionEnd
    | TurnEnd
    | AgentEnd
    | PhaseChange
    | QueueUpdate
    | ApprovalRequested
    | ApprovalResolved
    | RetryScheduled
    | CompactionStart
    | CompactionEnd
    | FileChanged
    | TodoUpdate
    | SessionUpdate
    | Notice
)
