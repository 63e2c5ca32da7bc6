"""Turns events into compact lines, so that a whole run is compared as one list."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from pilothouse_agent.kernel.events import (
    AgentEnd,
    AgentStart,
    ApprovalRequested,
    ApprovalResolved,
    CompactionEnd,
    CompactionStart,
    Event,
    FileChanged,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    Notice,
    PhaseChange,
    QueuedItem,
    QueueUpdate,
    RetryScheduled,
    Role,
    SessionUpdate,
    TodoUpdate,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
    TurnEnd,
    TurnStart,
)
from pilothouse_agent.kernel.messages import (
    AssistantMessage,
    CustomMessage,
    Message,
    ToolResultMessage,
    UserMessage,
    text_of,
)

__all__ = ["Recorder"]

E = TypeVar("E")

_ROLES: dict[Role, str] = {"user": "U", "assistant": "A", "toolResult": "R", "custom": "C"}


class Recorder:
    """A listener. `lines` has one line an event:

    AS, PH idle→turn, TS1, MS(U), ME(U,Hi), MS(A), MU:text, MU~thinking, MU c1:{"a":1}, ME(A,stop),
    XS c1, XU c1:text, XE c1 ok, ME(R,c1 ok), ME(C,resume), TE1, QU [S1,S2] [F1], RS 1/3 2000,
    CS threshold, CE threshold ok, AQ c1, AR c1 allowed, FC modify /a, TU 2, SU, NO code, AE completed
    """

    def __init__(self) -> None:
        self.events: list[Event] = []

    def __call__(self, event: Event) -> None:
        self.events.append(event)

    @property
    def lines(self) -> list[str]:
        return [line(event) for event in self.events]

    @property
    def turns(self) -> list[str]:
        """The lines without agent, phase and message starts and updates: what happened, in short."""
        dull = (AgentStart, PhaseChange, MessageStart, MessageUpdate)
        return [line(event) for event in self.events if not isinstance(event, dull)]

    @property
    def phases(self) -> list[tuple[str, str, str]]:
        return [(event.source, event.target, event.reason) for event in self.of(PhaseChange)]

    def of(self, kind: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def last(self) -> Event:
        return self.events[-1]

    def clear(self) -> None:
        self.events.clear()

    @staticmethod
    def message(message: Message) -> str:
        text = text_of(message.content)
        match message:
            case UserMessage():
                return f"U:{text}"
            case AssistantMessage():
                calls = "".join(f" [{call.id}]" for call in message.calls)
                broken = message.stop_reason in ("error", "aborted", "interrupted")
                return f"A:{text}{calls}{f' ({message.stop_reason})' if broken else ''}"
            case ToolResultMessage():
                return f"R {message.tool_call_id}:{text}{'!' if message.is_error else ''}"
            case CustomMessage():
                return f"C {message.name}:{text}"


def line(event: Event) -> str:
    match event:
        case AgentStart():
            return "AS"
        case PhaseChange():
            return f"PH {event.source}→{event.target}"
        case TurnStart():
            return f"TS{event.turn}"
        case TurnEnd():
            return f"TE{event.turn}"
        case MessageStart():
            return f"MS({_ROLES[event.role]})"
        case MessageUpdate():
            return _update(event)
        case MessageEnd():
            return f"ME({_end(event.message)})"
        case AgentEnd():
            return f"AE {event.stop_reason}"
        case ToolExecutionStart():
            return f"XS {event.tool_call_id}"
        case ToolExecutionUpdate():
            return f"XU {event.tool_call_id}:{event.text}"
        case ToolExecutionEnd():
            return f"XE {event.tool_call_id} {event.outcome}"
        case _:
            return _other(event)


def _other(event: Event) -> str:
    match event:
        case QueueUpdate():
            return f"QU {_queue(event.steering)} {_queue(event.follow_up)}"
        case RetryScheduled():
            return f"RS {event.attempt}/{event.max_attempts} {event.delay_ms}"
        case CompactionStart():
            return f"CS {event.reason}"
        case CompactionEnd():
            return f"CE {event.reason} {'ok' if event.error is None else 'failed'}"
        case ApprovalRequested():
            return f"AQ {event.tool_call_id}"
        case ApprovalResolved():
            return f"AR {event.tool_call_id} {event.decision}"
        case FileChanged():
            return f"FC {event.change} {event.path}"
        case TodoUpdate():
            return f"TU {len(event.todos)}"
        case SessionUpdate():
            return "SU"
        case Notice():
            return f"NO {event.code}"
        case _:
            raise AssertionError(f"an event without a line: {event}")


def _update(event: MessageUpdate) -> str:
    match event.kind:
        case "text":
            return f"MU:{event.text}"
        case "thinking":
            return f"MU~{event.text}"
        case "toolCall":
            return f"MU {event.tool_call_id}:{event.text}"


def _end(message: Message) -> str:
    match message:
        case UserMessage():
            return f"U,{text_of(message.content)}"
        case AssistantMessage():
            return f"A,{message.stop_reason}"
        case ToolResultMessage():
            return f"R,{message.tool_call_id} {'error' if message.is_error else 'ok'}"
        case CustomMessage():
            return f"C,{message.name}"


def _queue(items: Iterable[QueuedItem]) -> str:
    return f"[{','.join(text_of(item.content) for item in items)}]"
