"""The wire: every method name, params and result model, and error code. The one source for both ends.

Spellings on the wire are camelCase. Optional fields that are absent mean their default; unknown
fields are ignored. Lines count from 1, LSP positions from 0.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)
from pydantic.alias_generators import to_camel

from pilothouse_server.wire import faults
from pilothouse_server.wire.json_object import Json

__all__ = [
    "ALREADY_RESOLVED",
    "BUSY",
    "NOT_RUNNING",
    "NO_CREDENTIALS",
    "SESSION_LOCKED",
    "SHUTTING_DOWN",
    "UNKNOWN_MODEL",
    "UNKNOWN_SESSION",
    "UNTRUSTED",
    "AbortParams",
    "AbortResult",
    "AcceptedResult",
    "ClientFeatures",
    "CloseParams",
    "Content",
    "DeliveryResult",
    "EditFeatures",
    "EmptyResult",
    "ErrorKindCode",
    "ErrorModel",
    "EventsParams",
    "EventsResult",
    "ImageContent",
    "KeySourceName",
    "Message",
    "MessageParams",
    "NewParams",
    "NewResult",
    "OpenApproval",
    "OptionModel",
    "PromptContext",
    "PromptParams",
    "QueuedText",
    "ReturnedItem",
    "RunStopName",
    "Selection",
    "SessionState",
    "SettledResult",
    "SnapshotModel",
    "StateParams",
    "StateResult",
    "TextContent",
    "UnqueueParams",
    "UnqueueResult",
    "UsageModel",
    "Wire",
    "WithUsage",
]


class ErrorKindCode:
    """An error of our own: the kind is the contract, the code its number."""

    def __init__(self, code: int, kind: str) -> None:
        self.code = code
        self.kind = kind


BUSY = ErrorKindCode(-31001, "busy")
UNKNOWN_SESSION = ErrorKindCode(-31002, "unknownSession")
NOT_RUNNING = ErrorKindCode(-31003, "notRunning")
ALREADY_RESOLVED = ErrorKindCode(-31004, "alreadyResolved")
UNKNOWN_MODEL = ErrorKindCode(-31005, "unknownModel")
NO_CREDENTIALS = ErrorKindCode(-31006, "noCredentials")
UNTRUSTED = ErrorKindCode(-31007, "untrusted")
SHUTTING_DOWN = ErrorKindCode(faults.SHUTTING_DOWN, "shuttingDown")
SESSION_LOCKED = ErrorKindCode(-31009, "sessionLocked")


class Wire(BaseModel):
    """Base of everything on the wire."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="ignore",
        frozen=True,
        strict=True,
        defer_build=True,
    )

    def to_wire(self) -> Json:
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


class TextContent(Wire):
    type: Literal["text"] = "text"
    text: str


class ImageContent(Wire):
    type: Literal["image"] = "image"
    media_type: str
    data: str
    """Base64."""


Content: TypeAlias = Annotated[TextContent | ImageContent, Field(discriminator="type")]


class Message(Wire):
    text: str | None = None
    content: list[Content] | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Message:
        if (self.text is None) == (self.content is None):
            raise ValueError("give either text or content")
        if not self.content and not (self.text or "").strip():
            raise ValueError("the message is empty")
        return self


class Selection(Wire):
    """LSP range: lines and characters from 0, in the negotiated encoding."""

    start: Json
    end: Json


class PromptContext(Wire):
    """What the user is looking at."""

    uri: str | None = None
    selection: Selection | None = None
    diagnostics: list[Json] | None = None


class PromptParams(Message):
    session_id: str | None = None
    """Absent: a new session."""
    prompt_id: str | None = None
    """Given back in agent_start."""
    wait: Literal["settled", "accepted"] = "settled"
    model: str | None = Field(default=None, min_length=1)
    """This and the two below hold for the run and no longer; absent: what the session has."""
    mode: str | None = None
    thinking: ThinkingName | None = None
    context: PromptContext | None = None
    work_done_token: int | str | None = None
    """For the run's progress: `$/progress` begins, reports and ends on it."""


class MessageParams(Message):
    """Steering or a follow-up."""

    session_id: str


class AbortParams(Wire):
    session_id: str


class CloseParams(Wire):
    session_id: str


class UnqueueParams(Wire):
    session_id: str
    queue_ids: list[str]


class UnqueueResult(Wire):
    removed: list[str]
    """The ids that were still queued."""


class EmptyResult(Wire):
    pass


class EventsParams(Wire):
    """For a client that lost its view, not its process."""

    session_id: str
    epoch: str
    after_seq: int = Field(ge=0)
    limit: int = Field(default=1000, ge=1, le=10_000)


class StateParams(Wire):
    session_id: str | None = None
    """Absent: all sessions."""


ThinkingName: TypeAlias = Literal["off", "minimal", "low", "medium", "high"]

KeySourceName: TypeAlias = Literal["environment", "config", "command", "dotenv", "keyring"]


class NewParams(Wire):
    cwd: str | None = None
    """Absolute path or file URI; absent: the first workspace folder, else the server's folder."""
    folders: list[str] | None = None
    """More folders the agent may work in."""
    model: str | None = None
    mode: str | None = None


class NewResult(Wire):
    session_id: str
    epoch: str


class AcceptedResult(Wire):
    session_id: str
    run_id: str


class UsageModel(Wire):
    """Tokens; `input` counts cached ones too."""

    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    reasoning: int | None = None
    cost: str | None = None
    """A decimal string; absent when unknown."""


class ErrorModel(Wire):
    kind: str
    message: str
    retryable: bool
    status: int | None = None
    retry_after: float | None = None
    """Seconds."""


class ReturnedItem(Wire):
    queue_id: str
    kind: Literal["steering", "followUp"]
    content: list[Content]


RunStopName: TypeAlias = Literal["completed", "aborted", "error", "maxTurns", "length", "refused"]


class WithUsage(Wire):
    usage: UsageModel | None
    """null when no provider reported any."""

    @model_serializer(mode="wrap")
    def _with_null(self, handler: SerializerFunctionWrapHandler) -> Json:
        """Wherever it stands: nulls are left out, but this one is part of what is said."""
        return {"usage": None, **handler(self)}


class SettledResult(WithUsage):
    session_id: str
    run_id: str
    stop_reason: RunStopName
    text: str
    returned: list[ReturnedItem]
    denied: int | None = None
    """How many calls were refused; absent when none was."""
    error: ErrorModel | None = None


class DeliveryResult(Wire):
    queue_id: str
    delivery: Literal["steered", "queued", "prompted"]
    run_id: str | None = None


class AbortResult(Wire):
    aborted: bool
    run_id: str | None = None
    returned: list[ReturnedItem]


class QueuedText(Wire):
    queue_id: str
    text: str


class OptionModel(Wire):
    id: str
    label: str
    kind: Literal["allowOnce", "allowAlways", "rejectOnce", "rejectAlways"]
    scope: str | None = None


class OpenApproval(Wire):
    approval_id: str
    tool_call_id: str
    title: str
    options: list[OptionModel]


class SessionState(WithUsage):
    session_id: str
    cwd: str
    phase: Literal["idle", "turn", "compaction", "retry"]
    model: str | None
    credentials: KeySourceName | None = None
    """Where the key for the model comes from; absent: none is used, or it is not known yet."""
    mode: str
    thinking: str
    steering: list[QueuedText]
    follow_up: list[QueuedText]
    pending_tool_calls: list[str]
    pending_writes: list[str]
    approvals: list[OpenApproval]
    context_tokens: int | None = None
    context_window: int | None = None
    title: str | None = None
    unsaved: bool | None = None
    """true: the disk refuses the session's log; it is written as soon as it can be."""


class StateResult(Wire):
    sessions: list[SessionState]


class SnapshotModel(Wire):
    """A session as it stands, for a client that knows nothing of it (any more)."""

    epoch: str
    seq: int
    """Of the last event that is contained."""
    state: SessionState
    messages: list[Json]
    """As in message_end."""
    streaming_message: Json | None = None
    """`{id, role, content}` as far as it has come."""


class EventsResult(Wire):
    """Either the events, or a snapshot when the epoch is not ours or the events are not kept any more."""

    events: list[Json] | None = None
    """Params of agent/event; ended messages and calls without their updates."""
    through_seq: int | None = None
    more: bool | None = None
    snapshot: SnapshotModel | None = None


class EditFeatures(Wire):
    preflight: bool = False
    """The client checks a workspace edit as a whole before it applies any of it. Together with `save` it
    then gets those of files that are not open, and those that make, rename and delete files."""


class ClientFeatures(Wire):
    """What a client declares in `capabilities.experimental.pilothouse` or in
    `initializationOptions.pilothouse`; its presence alone means it wants `agent/event`."""

    approvals: bool = False
    questions: bool = False
    save: bool = False
    diagnostics: bool = False
    edits: EditFeatures = EditFeatures()
    reload: bool = False
    encodings: bool = False
    """It tells what it has read each document as, in its own spelling: notification `agent/encoding` after
    didOpen and whenever that changes."""
    deltas: str | None = None
    """`each`: deltas that came in one network read are not put together."""
    log: Literal["error", "warning", "info"] | None = None
    """The least of the server's own log that comes as `window/logMessage`; absent: nothing of it."""
    settings: Json = {}
