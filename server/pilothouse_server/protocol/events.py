"""Kernel events as they go out: by their declarations, or in a shape of their own where the wire differs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol

from pilothouse_agent.files.uris import path_to_uri
from pilothouse_agent.kernel import events as e
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.messages import Role, text_of
from pilothouse_server.protocol.kernel_values import Shape, WireObject, to_wire
from pilothouse_server.protocol.shortened import brief, shortened_arguments, shortened_text

__all__ = ["SHAPES", "QueuedText", "event_to_wire"]


def event_to_wire(event: e.Event) -> WireObject:
    """The params of the notification but for session, run, epoch, seq and time."""
    shape = SHAPES.get(type(event))
    return {"type": event.type, **to_wire(event if shape is None else shape.of(event))}


class MessageHead(Shape):
    id: str
    role: Role


class MessageStart(Shape):
    """A message begins; an assistant message with its first delta, or with its end when there is none."""

    message: MessageHead

    @classmethod
    def of(cls, event: e.MessageStart) -> MessageStart:
        return cls(message=MessageHead(id=event.message_id, role=event.role))


class DeltaModel(Shape):
    kind: e.DeltaKind
    content_index: int
    text: str
    """New text only."""
    tool_call_id: str | None = None
    tool_name: str | None = None


class MessageUpdate(Shape):
    """New text of the assistant message."""

    message_id: str
    delta: DeltaModel

    @classmethod
    def of(cls, event: e.MessageUpdate) -> MessageUpdate:
        delta = DeltaModel(
            kind=event.kind,
            content_index=event.content_index,
            text=event.text,
            tool_call_id=event.tool_call_id,
            tool_name=None if event.tool_call_id is None else event.tool_name,
        )
        return cls(message_id=event.message_id, delta=delta)


class ToolExecutionStart(Shape):
    """A call is being prepared; a question may follow."""

    tool_call_id: str
    tool_name: str
    kind: e.ToolKind
    title: str
    arguments: JsonObject | None = None
    arguments_text: str | None = None
    """Instead of `arguments` when they could not be parsed."""
    arguments_cut: bool = False
    """They are longer than 16 KiB and shortened here; `message_end` has them whole."""
    locations: tuple[e.Location, ...] = ()
    parent_tool_call_id: str | None = None

    @classmethod
    def of(cls, event: e.ToolExecutionStart) -> ToolExecutionStart:
        if event.arguments is None:
            arguments = None
            text, cut = shortened_text(event.arguments_text or "")
        else:
            text = None
            arguments, cut = shortened_arguments(event.arguments)
        return cls(
            tool_call_id=event.tool_call_id,
            tool_name=event.tool_name,
            kind=event.kind,
            title=brief(event.title),
            arguments=arguments,
            arguments_text=text,
            arguments_cut=cut,
            locations=event.locations,
            parent_tool_call_id=event.parent_tool_call_id,
        )


class ProgressModel(Shape):
    text: str
    dropped: int = 0
    """Bytes left out before `text`."""


class ToolExecutionUpdate(Shape):
    """New output of a running call."""

    tool_call_id: str
    progress: ProgressModel

    @classmethod
    def of(cls, event: e.ToolExecutionUpdate) -> ToolExecutionUpdate:
        return cls(
            tool_call_id=event.tool_call_id, progress=ProgressModel(text=event.text, dropped=event.dropped)
        )


class QueuedText(Shape):
    queue_id: str
    text: str

    @classmethod
    def of(cls, item: e.QueuedItem) -> QueuedText:
        return cls(queue_id=item.queue_id, text=text_of(item.content))


class QueueUpdate(Shape):
    """What is still queued."""

    steering: tuple[QueuedText, ...]
    follow_up: tuple[QueuedText, ...]

    @classmethod
    def of(cls, event: e.QueueUpdate) -> QueueUpdate:
        return cls(
            steering=tuple(map(QueuedText.of, event.steering)),
            follow_up=tuple(map(QueuedText.of, event.follow_up)),
        )


class FileChanged(Shape):
    """A file was changed by a call."""

    path: str
    """Absolute."""
    uri: str
    change: e.FileChangeKind
    via: Literal["editor", "disk"]
    lines_added: int
    lines_removed: int
    tool_call_id: str

    @classmethod
    def of(cls, event: e.FileChanged) -> FileChanged:
        return cls(
            path=event.path,
            uri=path_to_uri(event.path),
            change=event.change,
            via=event.via,
            lines_added=event.lines_added,
            lines_removed=event.lines_removed,
            tool_call_id=event.tool_call_id,
        )


class _OfEvent(Protocol):
    @classmethod
    def of(cls, event: Any, /) -> Shape: ...


SHAPES: Mapping[type, type[_OfEvent]] = {
    e.MessageStart: MessageStart,
    e.MessageUpdate: MessageUpdate,
    e.ToolExecutionStart: ToolExecutionStart,
    e.ToolExecutionUpdate: ToolExecutionUpdate,
    e.QueueUpdate: QueueUpdate,
    e.FileChanged: FileChanged,
}
"""Those that go out instead of an event; the docstrings are the protocol's."""
