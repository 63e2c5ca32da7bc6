"""What goes to a model provider and what comes back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from pilothouse_agent.kernel.events import DeltaKind, Notice
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.messages import ErrorInfo, ModelMessage, Usage

__all__ = [
    "Delta",
    "Failed",
    "Finished",
    "ImageLimits",
    "ModelLimits",
    "ModelRequest",
    "ProviderStop",
    "Purpose",
    "StreamEvent",
    "ThinkingData",
    "ThinkingLevel",
    "ToolArguments",
    "ToolExtra",
    "ToolSpec",
]

Purpose = Literal["turn", "task", "summary"]
ThinkingLevel = Literal["off", "minimal", "low", "medium", "high"]
ProviderStop = Literal["stop", "toolUse", "length", "refusal", "pause"]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """What the model is told of a tool."""

    name: str
    description: str
    parameters: JsonObject
    """JSON Schema of the arguments, an object."""
    guidance: str = ""
    """Advice on using it, put into the system prompt beside the description."""


@dataclass(frozen=True, slots=True)
class ImageLimits:
    """Of one picture; what every known provider takes, many of them in one request too."""

    side: int = 2_000
    """Pixels of the longer side."""
    size: int = 3_750_000
    """Bytes; base64 makes 5 MB of them."""


@dataclass(frozen=True, slots=True)
class ModelLimits:
    context_window: int | None = None
    max_output: int | None = None
    images: ImageLimits = ImageLimits()


@dataclass(frozen=True, slots=True)
class ModelRequest:
    session_id: str
    purpose: Purpose
    model: str
    """`provider/model`."""
    system: str
    messages: Sequence[ModelMessage]
    """Never changed after it was handed over."""
    tools: tuple[ToolSpec, ...]
    thinking: ThinkingLevel = "off"


class Delta(NamedTuple):
    """New text of one block. A tuple because there are thousands of them."""

    kind: DeltaKind
    block: int
    """Which block of the message; a new index opens a new block, in order of first appearance."""
    text: str
    call_id: str | None = None
    """Only for toolCall; empty or None when the provider gave none."""
    tool_name: str | None = None


@dataclass(frozen=True, slots=True)
class ThinkingData:
    """What must go back to the provider with a thinking block; opens the block if it is new."""

    block: int
    signature: str | None = None
    data: JsonObject | None = None
    origin: str | None = None


@dataclass(frozen=True, slots=True)
class ToolExtra:
    """What must go back to the provider with a tool call."""

    block: int
    extra: JsonObject


class ToolArguments(NamedTuple):
    """All of a call's arguments, in place of what has come of them: some of that was lost or wrong."""

    block: int
    text: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The terminal event of a good answer. `pause` asks for one more request."""

    stop_reason: ProviderStop
    usage: Usage | None = None
    model: str | None = None
    """The model that answered, where it differs from the one that was asked."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The terminal event of a failure, before or after output."""

    error: ErrorInfo
    usage: Usage | None = None


StreamEvent: TypeAlias = Delta | ThinkingData | ToolArguments | ToolExtra | Notice | Finished | Failed
"""A notice is for the user, and no part of the answer."""
