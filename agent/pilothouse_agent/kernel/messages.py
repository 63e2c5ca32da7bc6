"""The transcript's nouns: content blocks, messages, usage and errors. All are immutable values."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Literal, TypeAlias

from pilothouse_agent.kernel.json_types import JsonObject

__all__ = [
    "AssistantBlock",
    "AssistantMessage",
    "BlockPlace",
    "CustomMessage",
    "ErrorInfo",
    "ErrorKind",
    "ImageBlock",
    "Message",
    "MessageStop",
    "ModelMessage",
    "RefusedBlock",
    "Role",
    "TextBlock",
    "ThinkingBlock",
    "ToolCall",
    "ToolResultMessage",
    "Usage",
    "UserBlock",
    "UserMessage",
    "is_blank",
    "text_of",
]

Role = Literal["user", "assistant", "toolResult", "custom"]
MessageStop = Literal["stop", "toolUse", "length", "refusal", "error", "aborted", "interrupted"]
ErrorKind = Literal[
    "contextOverflow",
    "tooLarge",
    "auth",
    "permission",
    "modelNotFound",
    "notFound",
    "rateLimit",
    "quota",
    "overloaded",
    "serverError",
    "timeout",
    "invalidRequest",
    "contentFilter",
    "toolCallInvalid",
    "connectionLost",
    "incompleteStream",
    "badResponse",
    "unknown",
    "maxTurns",
    "loop",
    "guard",
    "internal",
]


@dataclass(frozen=True, slots=True)
class TextBlock:
    text: str


@dataclass(frozen=True, slots=True)
class ImageBlock:
    media_type: str
    data: str
    """Base64."""


@dataclass(frozen=True, slots=True)
class ThinkingBlock:
    text: str
    signature: str | None = None
    data: JsonObject | None = None
    """What the provider wants back unchanged (redacted or encrypted parts, ids); opaque here."""
    origin: str | None = None
    """The wire format that made it; another format must not be sent `signature` or `data`."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    id: str
    name: str
    arguments: JsonObject | None
    """Parsed arguments; None when they could not be parsed, then `arguments_text` has them."""
    arguments_text: str | None = None
    extra: JsonObject | None = None
    """What the provider wants back with the call; opaque here."""


UserBlock: TypeAlias = TextBlock | ImageBlock
AssistantBlock: TypeAlias = TextBlock | ThinkingBlock | ToolCall


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one request or a sum of them. None means the provider did not say."""

    input: int | None = None
    """All prompt tokens, cached ones included."""
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    reasoning: int | None = None
    cost: Decimal | None = None

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            _add(self.input, other.input),
            _add(self.output, other.output),
            _add(self.cache_read, other.cache_read),
            _add(self.cache_write, other.cache_write),
            _add(self.reasoning, other.reasoning),
            other.cost if self.cost is None else self.cost + (other.cost or Decimal(0)),
        )


@dataclass(frozen=True, slots=True)
class RefusedBlock:
    """A content block that the provider does not take, as far as its words tell which."""

    message_id: str | None = None
    """None: some image of the request."""
    block: int | None = None
    """Its index in the message's content; None: some image of it."""


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """Why a request or a run failed: a sentence for people, a kind for programs."""

    kind: ErrorKind
    message: str
    retryable: bool = False
    status: int | None = None
    retry_after: float | None = None
    """Seconds the provider asked us to wait."""
    refused: RefusedBlock | None = None
    """Set when the request can succeed without a block of it."""


@dataclass(frozen=True, slots=True)
class UserMessage:
    id: str
    content: tuple[UserBlock, ...]
    time: datetime
    queue_id: str | None = None
    """Set when it was delivered from the steering or follow-up queue."""


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    id: str
    content: tuple[AssistantBlock, ...]
    time: datetime
    model: str
    stop_reason: MessageStop
    usage: Usage | None = None
    error: ErrorInfo | None = None

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        return tuple(block for block in self.content if isinstance(block, ToolCall))


@dataclass(frozen=True, slots=True)
class ToolResultMessage:
    id: str
    content: tuple[UserBlock, ...]
    time: datetime
    tool_call_id: str
    tool_name: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class BlockPlace:
    message_id: str
    block: int
    """Index in the message's content."""


@dataclass(frozen=True, slots=True)
class CustomMessage:
    """A message that neither user nor model wrote: instructions of the kernel, notes of the application."""

    id: str
    content: tuple[UserBlock, ...]
    time: datetime
    name: str
    """What it is: resume, guard, stopHook, compaction, leftOut, or the application's own word."""
    for_model: bool = False
    """Whether the built-in conversion sends it to the model (as a user message) or leaves it out."""
    left_out: tuple[BlockPlace, ...] = ()
    """Blocks of earlier messages in whose place this message's text stands from here on."""
    as_user: UserMessage | None = field(init=False, repr=False, compare=False)
    """What is sent of it when it is `for_model`: one object, since providers know by that what they have
    already written."""

    def __post_init__(self) -> None:
        sent = UserMessage(self.id, self.content, self.time) if self.for_model else None
        object.__setattr__(self, "as_user", sent)


ModelMessage: TypeAlias = UserMessage | AssistantMessage | ToolResultMessage
Message: TypeAlias = ModelMessage | CustomMessage


def is_blank(content: tuple[UserBlock, ...]) -> bool:
    """Nothing in it, or nothing but blanks."""
    return not any(not isinstance(block, TextBlock) or block.text.strip() for block in content)


def text_of(content: tuple[UserBlock | AssistantBlock, ...]) -> str:
    """The text blocks joined without separator; thinking, images and calls left out."""
    return "".join(block.text for block in content if isinstance(block, TextBlock))


def _add(left: int | None, right: int | None) -> int | None:
    if left is None or right is None:
        return right if left is None else left
    return left + right
