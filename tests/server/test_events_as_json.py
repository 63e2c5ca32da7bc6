"""What clients are told of each event, word for word."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, ClassVar, get_args

import pytest

from pilothouse_agent.kernel import events as e
from pilothouse_agent.kernel import messages as m
from pilothouse_server.protocol.event_models import event_model
from pilothouse_server.protocol.events import event_to_wire

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
TIME = "2026-05-04T12:00:00.000Z"
USAGE = m.Usage(10, 2, cost=Decimal("0.00010"))
TOLD_USAGE = {"input": 10, "output": 2, "cost": "0.00010"}
BUSY = m.ErrorInfo("overloaded", "busy", status=503, refused=m.RefusedBlock("m1"))
TOLD_BUSY = {"kind": "overloaded", "message": "busy", "retryable": False, "status": 503}
ALLOW = e.Option("allow", "Allow", "allowOnce", "x" * 1001)
QUEUED = e.QueuedItem(
    "q1", "steering", (m.TextBlock("to"), m.ImageBlock("image/png", "AA=="), m.TextBlock("do"))
)
CALL = m.ToolCall("c1", "bash", {"a": [None, {"some_name": 1}]}, extra={"x": 1})
UNREAD = m.ToolCall("c2", "bash", None, '{"a')
THOUGHT = m.ThinkingBlock("Hm", "signature", {"x": 1}, "messages")
NOTE = m.CustomMessage("m1", (), NOON, "guard", True, (m.BlockPlace("m0", 2),))

TOLD: list[tuple[e.Event, dict[str, Any]]] = [
    (
        e.AgentStart("r1", "p/m", ("m1", "m2"), "mine"),
        {"type": "agent_start", "model": "p/m", "input": ["m1", "m2"], "promptId": "mine"},
    ),
    (e.AgentStart("r1", "p/m", ()), {"type": "agent_start", "model": "p/m", "input": []}),
    (e.TurnStart(1), {"type": "turn_start", "turn": 1}),
    (
        e.MessageStart("m1", "assistant"),
        {"type": "message_start", "message": {"id": "m1", "role": "assistant"}},
    ),
    (
        e.MessageUpdate("m1", "text", 0, ""),
        {
            "type": "message_update",
            "messageId": "m1",
            "delta": {"kind": "text", "contentIndex": 0, "text": ""},
        },
    ),
    (
        e.MessageUpdate("m1", "toolCall", 1, "{", "c1", "bash"),
        {
            "type": "message_update",
            "messageId": "m1",
            "delta": {
                "kind": "toolCall",
                "contentIndex": 1,
                "text": "{",
                "toolCallId": "c1",
                "toolName": "bash",
            },
        },
    ),
    (
        e.MessageEnd(m.UserMessage("m1", (m.TextBlock("Hi"), m.ImageBlock("image/png", "AA==")), NOON, "q1")),
        {
            "type": "message_end",
            "message": {
                "role": "user",
                "id": "m1",
                "content": [
                    {"type": "text", "text": "Hi"},
                    {"type": "image", "mediaType": "image/png", "data": "AA=="},
                ],
                "time": TIME,
                "queueId": "q1",
            },
        },
    ),
    (
        e.MessageEnd(
            m.AssistantMessage("m1", (THOUGHT, CALL, UNREAD), NOON, "p/m", "toolUse", USAGE, BUSY),
        ),
        {
            "type": "message_end",
            "message": {
                "role": "assistant",
                "id": "m1",
                "content": [
                    {"type": "thinking", "text": "Hm"},
                    {
                        "type": "toolCall",
                        "id": "c1",
                        "name": "bash",
                        "arguments": {"a": [None, {"some_name": 1}]},
                    },
                    {"type": "toolCall", "id": "c2", "name": "bash", "argumentsText": '{"a'},
                ],
                "time": TIME,
                "model": "p/m",
                "stopReason": "toolUse",
                "usage": TOLD_USAGE,
                "error": TOLD_BUSY,
            },
        },
    ),
    (
        e.MessageEnd(m.ToolResultMessage("m1", (), NOON, "c1", "bash")),
        {
            "type": "message_end",
            "message": {
                "role": "toolResult",
                "id": "m1",
                "content": [],
                "time": TIME,
                "toolCallId": "c1",
                "toolName": "bash",
                "isError": False,
            },
        },
    ),
    (
        e.MessageEnd(NOTE),
        {
            "type": "message_end",
            "message": {
                "role": "custom",
                "id": "m1",
                "content": [],
                "time": TIME,
                "name": "guard",
                "leftOut": [{"messageId": "m0", "block": 2}],
            },
        },
    ),
    (
        e.ToolExecutionStart("c1", "bash", "execute", {}, "x" * 1001, None, (e.Location("/w/a", 3),), "c0"),
        {
            "type": "tool_execution_start",
            "toolCallId": "c1",
            "toolName": "bash",
            "kind": "execute",
            "title": "x" * 999 + "…",
            "arguments": {},
            "locations": [{"path": "/w/a", "line": 3}],
            "parentToolCallId": "c0",
        },
    ),
    (
        e.ToolExecutionStart("c1", "bash", "execute", None, "bash"),
        {
            "type": "tool_execution_start",
            "toolCallId": "c1",
            "toolName": "bash",
            "kind": "execute",
            "title": "bash",
            "argumentsText": "",
        },
    ),
    (
        e.ToolExecutionStart("c1", "bash", "execute", None, "bash", "x" * 16_385),
        {
            "type": "tool_execution_start",
            "toolCallId": "c1",
            "toolName": "bash",
            "kind": "execute",
            "title": "bash",
            "argumentsText": "x" * 16_384 + "…",
            "argumentsCut": True,
        },
    ),
    (
        e.ToolExecutionUpdate("c1", "out"),
        {"type": "tool_execution_update", "toolCallId": "c1", "progress": {"text": "out"}},
    ),
    (
        e.ToolExecutionUpdate("c1", "out", 7),
        {"type": "tool_execution_update", "toolCallId": "c1", "progress": {"text": "out", "dropped": 7}},
    ),
    (
        e.ToolExecutionEnd("c1", "bash", False, "ok", 0, {"exit_code": 0}, (e.Location("/w/a"),)),
        {
            "type": "tool_execution_end",
            "toolCallId": "c1",
            "toolName": "bash",
            "isError": False,
            "outcome": "ok",
            "durationMs": 0,
            "details": {"exit_code": 0},
            "locations": [{"path": "/w/a"}],
        },
    ),
    (e.TurnEnd(1, (), "m1"), {"type": "turn_end", "turn": 1, "toolCallIds": [], "messageId": "m1"}),
    (e.TurnEnd(1, ("c1",)), {"type": "turn_end", "turn": 1, "toolCallIds": ["c1"]}),
    (
        e.AgentEnd("r1", "completed", "", None, (), 0),
        {
            "type": "agent_end",
            "stopReason": "completed",
            "text": "",
            "usage": None,
            "returned": [],
            "durationMs": 0,
        },
    ),
    (
        e.AgentEnd("r1", "error", "Hm", USAGE, (QUEUED,), 7, 2, BUSY),
        {
            "type": "agent_end",
            "stopReason": "error",
            "text": "Hm",
            "usage": TOLD_USAGE,
            "returned": [
                {
                    "queueId": "q1",
                    "kind": "steering",
                    "content": [
                        {"type": "text", "text": "to"},
                        {"type": "image", "mediaType": "image/png", "data": "AA=="},
                        {"type": "text", "text": "do"},
                    ],
                }
            ],
            "durationMs": 7,
            "denied": 2,
            "error": TOLD_BUSY,
        },
    ),
    (
        e.PhaseChange("idle", "turn", "prompt"),
        {"type": "phase_change", "from": "idle", "to": "turn", "reason": "prompt"},
    ),
    (
        e.QueueUpdate((QUEUED,), ()),
        {"type": "queue_update", "steering": [{"queueId": "q1", "text": "todo"}], "followUp": []},
    ),
    (
        e.ApprovalRequested("a1", "c1", "x" * 1001, (ALLOW, e.Option("no", "No", "rejectOnce"))),
        {
            "type": "approval_requested",
            "approvalId": "a1",
            "toolCallId": "c1",
            "title": "x" * 999 + "…",
            "options": [
                {"id": "allow", "label": "Allow", "kind": "allowOnce", "scope": "x" * 999 + "…"},
                {"id": "no", "label": "No", "kind": "rejectOnce"},
            ],
        },
    ),
    (
        e.ApprovalResolved("a1", "c1", "denied", "user", ""),
        {
            "type": "approval_resolved",
            "approvalId": "a1",
            "toolCallId": "c1",
            "decision": "denied",
            "by": "user",
            "reason": "",
        },
    ),
    (
        e.RetryScheduled(1, 3, 500, "busy"),
        {"type": "retry_scheduled", "attempt": 1, "maxAttempts": 3, "delayMs": 500, "reason": "busy"},
    ),
    (e.CompactionStart("manual"), {"type": "compaction_start", "reason": "manual"}),
    (
        e.CompactionEnd("manual", 9, 3, "Short"),
        {
            "type": "compaction_end",
            "reason": "manual",
            "tokensBefore": 9,
            "tokensAfter": 3,
            "summary": "Short",
        },
    ),
    (
        e.FileChanged("/w/a b", "modify", "disk", 1, 0, "c1"),
        {
            "type": "file_changed",
            "path": "/w/a b",
            "uri": "file:///w/a%20b",
            "change": "modify",
            "via": "disk",
            "linesAdded": 1,
            "linesRemoved": 0,
            "toolCallId": "c1",
        },
    ),
    (
        e.TodoUpdate((e.Todo("x", "pending"),)),
        {"type": "todo_update", "todos": [{"content": "x", "status": "pending"}]},
    ),
    (e.SessionUpdate(title="T" * 1001), {"type": "session_update", "title": "T" * 1001}),
    (
        e.Notice("info", "Hello", "greeting"),
        {"type": "notice", "level": "info", "message": "Hello", "code": "greeting"},
    ),
]


@pytest.mark.parametrize(("event", "told"), TOLD, ids=[event.type for event, _ in TOLD])
def test_an_event_is_told_in_these_words(event: e.Event, told: dict[str, Any]) -> None:
    assert event_to_wire(event) == told


def test_every_kind_of_event_is_among_them() -> None:
    assert {type(event) for event, _ in TOLD} == set(get_args(e.Event))


@dataclass(frozen=True, slots=True)
class TideTurned:
    """The water goes the other way."""

    type: ClassVar[str] = "tide_turned"
    water_level: int
    seen_from: e.Location | None = None
    """Nobody may have seen it."""


def test_declaring_an_event_is_all_that_it_takes_to_send_it_and_to_publish_its_schema() -> None:
    ebb: Any = TideTurned(0, e.Location("/w/pier"))
    unseen: Any = TideTurned(3)
    model = event_model(TideTurned)
    schema = model.model_json_schema()
    own = {name: schema["properties"][name] for name in ("type", "waterLevel", "seenFrom")}

    assert event_to_wire(ebb) == {"type": "tide_turned", "waterLevel": 0, "seenFrom": {"path": "/w/pier"}}
    assert event_to_wire(unseen) == {"type": "tide_turned", "waterLevel": 3}
    assert schema["description"] == "The water goes the other way."
    assert own == {
        "type": {"const": "tide_turned", "title": "Type", "type": "string"},
        "waterLevel": {"title": "Waterlevel", "type": "integer"},
        "seenFrom": {"anyOf": [{"$ref": "#/$defs/LocationModel"}, {"type": "null"}], "default": None},
    }
    assert set(schema["required"]) == {"sessionId", "runId", "epoch", "seq", "time", "type", "waterLevel"}
