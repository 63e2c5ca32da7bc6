"""The events of `agent/event`, as models: for the schema, for clients and for tests.

The server builds events by hand (`wire.py`), since a model for each delta would cost more than all
the rest of its way; tests hold both against each other.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from pilothouse_server.protocol.models import (
    ErrorModel,
    JsonDict,
    OptionModel,
    QueuedText,
    ReturnedItem,
    RunStopName,
    UsageModel,
    Wire,
)

__all__ = ["EVENTS", "EventParams"]

PhaseName: TypeAlias = Literal["idle", "turn", "compaction", "retry"]
KindName: TypeAlias = Literal[
    "read", "edit", "delete", "move", "search", "execute", "think", "fetch", "other"
]


class EventBase(Wire):
    """What every event carries."""

    session_id: str
    run_id: str | None
    """null outside a run."""
    epoch: str
    """Changes with the server process."""
    seq: int
    """Rises by one on the wire within a session."""
    time: str
    """ISO 8601, UTC."""


class LocationModel(Wire):
    path: str
    """Absolute."""
    line: int | None = None
    """From 1."""


class AgentStartEvent(EventBase):
    """A run begins."""

    type: Literal["agent_start"]
    model: str
    input: list[str]
    """Ids of the messages it begins with."""
    prompt_id: str | None = None


class TurnStartEvent(EventBase):
    """One model request and the tools it asks for begin."""

    type: Literal["turn_start"]
    turn: int
    """From 1."""


class MessageHead(Wire):
    id: str
    role: Literal["user", "assistant", "toolResult", "custom"]


class MessageStartEvent(EventBase):
    """A message begins; an assistant message with its first delta, or with its end when there is none."""

    type: Literal["message_start"]
    message: MessageHead


class DeltaModel(Wire):
    kind: Literal["text", "thinking", "toolCall"]
    content_index: int
    text: str
    """New text only."""
    tool_call_id: str | None = None
    tool_name: str | None = None


class MessageUpdateEvent(EventBase):
    """New text of the assistant message."""

    type: Literal["message_update"]
    message_id: str
    delta: DeltaModel


class BlockPlaceModel(Wire):
    message_id: str
    block: int
    """Index in the message's content."""


class MessageModel(MessageHead):
    content: list[JsonDict]
    """Blocks of type text, thinking, toolCall and image."""
    time: str
    queue_id: str | None = None
    """User messages delivered from a queue."""
    model: str | None = None
    stop_reason: Literal["stop", "toolUse", "length", "refusal", "error", "aborted", "interrupted"] | None = (
        None
    )
    usage: UsageModel | None = None
    error: ErrorModel | None = None
    tool_call_id: str | None = None
    tool_name: str | None = None
    is_error: bool | None = None
    name: str | None = None
    """Custom messages: what they are."""
    left_out: list[BlockPlaceModel] | None = None
    """Custom messages: blocks of earlier messages in whose place this message's text stands from here on."""


class MessageEndEvent(EventBase):
    """The message, whole."""

    type: Literal["message_end"]
    message: MessageModel


class ToolExecutionStartEvent(EventBase):
    """A call is being prepared; a question may follow."""

    type: Literal["tool_execution_start"]
    tool_call_id: str
    tool_name: str
    kind: KindName
    arguments: JsonDict | None = None
    arguments_text: str | None = None
    """Instead of `arguments` when they could not be parsed."""
    arguments_cut: bool | None = None
    """They are longer than 16 KiB and shortened here; `message_end` has them whole."""
    title: str
    locations: list[LocationModel] | None = None
    parent_tool_call_id: str | None = None


class ProgressModel(Wire):
    text: str
    dropped: int | None = None
    """Bytes left out before `text`."""


class ToolExecutionUpdateEvent(EventBase):
    """New output of a running call."""

    type: Literal["tool_execution_update"]
    tool_call_id: str
    progress: ProgressModel


class ToolExecutionEndEvent(EventBase):
    """The call has ended; what the model is told is in the toolResult message."""

    type: Literal["tool_execution_end"]
    tool_call_id: str
    tool_name: str
    is_error: bool
    outcome: Literal["ok", "error", "denied", "blocked", "aborted"]
    details: JsonDict | None = None
    locations: list[LocationModel] | None = None
    duration_ms: int


class TurnEndEvent(EventBase):
    """All tool events and tool results of the turn are out."""

    type: Literal["turn_end"]
    turn: int
    message_id: str | None = None
    tool_call_ids: list[str]


class AgentEndEvent(EventBase):
    """The last event of a run: the prompt's settled result."""

    type: Literal["agent_end"]
    stop_reason: RunStopName
    text: str
    usage: UsageModel | None
    returned: list[ReturnedItem]
    denied: int | None = None
    """How many calls were refused; absent when none was."""
    error: ErrorModel | None = None
    duration_ms: int


class PhaseChangeEvent(EventBase):
    """What the agent is doing."""

    type: Literal["phase_change"]
    from_: PhaseName = Field(alias="from")
    to: PhaseName
    reason: str


class QueueUpdateEvent(EventBase):
    """What is still queued."""

    type: Literal["queue_update"]
    steering: list[QueuedText]
    follow_up: list[QueuedText]


class ApprovalRequestedEvent(EventBase):
    """A question is open; `agent/answer` answers it too."""

    type: Literal["approval_requested"]
    approval_id: str
    tool_call_id: str
    title: str
    options: list[OptionModel]


class ApprovalResolvedEvent(EventBase):
    """The question is closed; dialogs go away."""

    type: Literal["approval_resolved"]
    approval_id: str
    tool_call_id: str
    decision: Literal["allowed", "denied", "cancelled"]
    by: str
    reason: str | None = None


class RetryScheduledEvent(EventBase):
    """The request failed and is sent again."""

    type: Literal["retry_scheduled"]
    attempt: int
    """From 1."""
    max_attempts: int
    delay_ms: int
    reason: str


class CompactionStartEvent(EventBase):
    """The history is being shortened."""

    type: Literal["compaction_start"]
    reason: Literal["threshold", "overflow", "manual"]


class CompactionEndEvent(EventBase):
    """It is shorter, or unchanged and `error` says why."""

    type: Literal["compaction_end"]
    reason: Literal["threshold", "overflow", "manual"]
    summary: str | None = None
    tokens_before: int
    tokens_after: int
    error: ErrorModel | None = None


class FileChangedEvent(EventBase):
    """A file was changed by a call."""

    type: Literal["file_changed"]
    path: str
    """Absolute."""
    uri: str
    change: Literal["create", "modify", "delete", "rename"]
    via: Literal["editor", "disk"]
    lines_added: int
    lines_removed: int
    tool_call_id: str


class TodoModel(Wire):
    content: str
    status: Literal["pending", "in_progress", "completed"]


class TodoUpdateEvent(EventBase):
    """The model's todo list."""

    type: Literal["todo_update"]
    todos: list[TodoModel]


class SessionUpdateEvent(EventBase):
    """What has changed of the session."""

    type: Literal["session_update"]
    title: str | None = None
    model: str | None = None
    mode: str | None = None
    thinking: str | None = None


class NoticeEvent(EventBase):
    """Something to tell the user."""

    type: Literal["notice"]
    level: Literal["info", "warning", "error"]
    message: str
    code: str


EVENTS: tuple[type[EventBase], ...] = (
    AgentStartEvent,
    TurnStartEvent,
    MessageStartEvent,
    MessageUpdateEvent,
    MessageEndEvent,
    ToolExecutionStartEvent,
    ToolExecutionUpdateEvent,
    ToolExecutionEndEvent,
    TurnEndEvent,
    AgentEndEvent,
    PhaseChangeEvent,
    QueueUpdateEvent,
    ApprovalRequestedEvent,
    ApprovalResolvedEvent,
    RetryScheduledEvent,
    CompactionStartEvent,
    CompactionEndEvent,
    FileChangedEvent,
    TodoUpdateEvent,
    SessionUpdateEvent,
    NoticeEvent,
)

EventParams: TypeAlias = Annotated[
    AgentStartEvent
    | TurnStartEvent
    | MessageStartEvent
    | MessageUpdateEvent
    | MessageEndEvent
    | ToolExecutionStartEvent
    | ToolExecutionUpdateEvent
    | ToolExecutionEndEvent
    | TurnEndEvent
    | AgentEndEvent
    | PhaseChangeEvent
    | QueueUpdateEvent
    | ApprovalRequestedEvent
    | ApprovalResolvedEvent
    | RetryScheduledEvent
    | CompactionStartEvent
    | CompactionEndEvent
    | FileChangedEvent
    | TodoUpdateEvent
    | SessionUpdateEvent
    | NoticeEvent,
    Field(discriminator="type"),
]
