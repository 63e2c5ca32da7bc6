"""Params of `agent/event` as compact lines, so that a whole run is compared as one list."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

__all__ = ["folded", "line"]

Json: TypeAlias = dict[str, Any]

_ROLES = {"user": "U", "assistant": "A", "toolResult": "R", "custom": "C"}


def folded(events: Iterable[Json]) -> list[str]:
    """One line an event; adjacent updates of one message are one line `MU`.

    AS, PH idle→turn, TS1, MS(U), ME(U,Hi), MS(A), MU, ME(A,stop), XS c1, XU c1, XE c1 ok, ME(R,c1 ok),
    ME(C,resume), TE1, QU [S1] [F1], RS 1/3, AQ c1, AR c1 allowed, FC modify, TU 2, NO code, AE completed
    """
    lines: list[str] = []
    updated: str | None = None
    for event in events:
        message_id = event["messageId"] if event["type"] == "message_update" else None
        if message_id is None or message_id != updated:
            lines.append(line(event))
        updated = message_id
    return lines


def line(event: Json) -> str:
    match event["type"]:
        case "agent_start":
            return "AS"
        case "phase_change":
            return f"PH {event['from']}→{event['to']}"
        case "turn_start":
            return f"TS{event['turn']}"
        case "turn_end":
            return f"TE{event['turn']}"
        case "message_start":
            return f"MS({_ROLES[event['message']['role']]})"
        case "message_update":
            return "MU"
        case "message_end":
            return f"ME({_message(event['message'])})"
        case "agent_end":
            return f"AE {event['stopReason']}"
        case _:
            return _other(event)


def _other(event: Json) -> str:
    match event["type"]:
        case "tool_execution_start":
            return f"XS {event['toolCallId']}"
        case "tool_execution_update":
            return f"XU {event['toolCallId']}"
        case "tool_execution_end":
            return f"XE {event['toolCallId']} {event['outcome']}"
        case "queue_update":
            return f"QU {_queue(event['steering'])} {_queue(event['followUp'])}"
        case "retry_scheduled":
            return f"RS {event['attempt']}/{event['maxAttempts']}"
        case "approval_requested":
            return f"AQ {event['toolCallId']}"
        case "approval_resolved":
            return f"AR {event['toolCallId']} {event['decision']}"
        case "file_changed":
            return f"FC {event['change']}"
        case "todo_update":
            return f"TU {len(event['todos'])}"
        case "notice":
            return f"NO {event['code']}"
        case other:
            raise AssertionError(f"an event without a line: {other}")


def _message(message: Json) -> str:
    match message["role"]:
        case "user":
            return f"U,{message['content'][0]['text']}"
        case "assistant":
            return f"A,{message['stopReason']}"
        case "toolResult":
            return f"R,{message['toolCallId']} {'error' if message['isError'] else 'ok'}"
        case _:
            return f"C,{message['name']}"


def _queue(items: list[Json]) -> str:
    return f"[{','.join(item['text'] for item in items)}]"
