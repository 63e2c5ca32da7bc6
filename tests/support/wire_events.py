"""Params of `agent/event` and a prompt's result, as the server sends them."""

from __future__ import annotations

from typing import Any, TypeAlias

__all__ = ["BEGIN", "START", "TURN", "begins", "ends", "failed", "message", "phase", "result", "said"]

Json: TypeAlias = dict[str, Any]


def said(text: str) -> Json:
    return {
        "type": "message_update",
        "messageId": "m",
        "delta": {"kind": "text", "contentIndex": 0, "text": text},
    }


def message(role: str, text: str = "", *, calls: int = 0, **fields: Any) -> Json:
    content: list[Json] = [{"type": "text", "text": text}] if text else []
    content += [{"type": "toolCall", "id": f"c{n}", "name": "echo", "arguments": {}} for n in range(calls)]
    if role == "assistant":
        fields = {"stopReason": "toolUse" if calls else "stop", **fields}
    return {"type": "message_end", "message": {"id": "m", "role": role, "content": content, **fields}}


def begins(call_id: str, title: str, kind: str = "read") -> Json:
    return {
        "type": "tool_execution_start",
        "toolCallId": call_id,
        "toolName": "echo",
        "kind": kind,
        "arguments": {},
        "title": title,
    }


def ends(call_id: str, outcome: str = "ok", *, ms: int = 12, **fields: Any) -> Json:
    return {
        "type": "tool_execution_end",
        "toolCallId": call_id,
        "toolName": "echo",
        "isError": outcome != "ok",
        "outcome": outcome,
        "durationMs": ms,
        **fields,
    }


def failed(call_id: str, text: str) -> Json:
    return message("toolResult", text, toolCallId=call_id, toolName="echo", isError=True)


def phase(source: str, target: str, reason: str) -> Json:
    return {"type": "phase_change", "from": source, "to": target, "reason": reason}


START: Json = {"type": "agent_start", "model": "scripted//tmp/x/play.json", "input": ["m1"]}
TURN: Json = {"type": "turn_start", "turn": 1}
BEGIN: Json = {"type": "message_start", "message": {"id": "m", "role": "assistant"}}


def result(stop: str, **fields: Any) -> Json:
    return {"sessionId": "s", "runId": "r", "stopReason": stop, "text": "Done.", "returned": [], **fields}
