"""Kernel events as they go out: the type-specific fields of `agent/event` (interfaces.md, Events)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, TypeAlias, TypeVar

from pilothouse_agent.files.uris import path_to_uri
from pilothouse_agent.kernel import events as e
from pilothouse_agent.kernel import messages as m
from pilothouse_server.protocol.shortened import brief, shortened_arguments, shortened_text

__all__ = [
    "clock_time",
    "content_to_wire",
    "error_to_wire",
    "event_to_wire",
    "returned_to_wire",
    "timestamp",
    "usage_to_wire",
]

WireDict: TypeAlias = dict[str, Any]
E = TypeVar("E")


def event_to_wire(event: e.Event) -> WireDict:
    """The params of the notification but for session, run, epoch, seq and time."""
    if isinstance(event, e.MessageUpdate):
        return _message_update(event)
    return {"type": event.type, **_ENCODERS[type(event)](event)}


def timestamp(time: datetime) -> str:
    """ISO 8601, UTC, milliseconds."""
    if time.tzinfo is not UTC:
        time = time.astimezone(UTC)
    return time.isoformat(timespec="milliseconds")[: -len("+00:00")] + "Z"


def clock_time(seconds: float) -> str:
    """The same of a Unix time; quick where many fall into one millisecond."""
    return _clock_time(int(seconds * 1000))


@lru_cache(maxsize=1)
def _clock_time(milliseconds: int) -> str:
    seconds, rest = divmod(milliseconds, 1000)
    return timestamp(datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest * 1000))


def content_to_wire(content: Sequence[m.UserBlock | m.AssistantBlock]) -> list[WireDict]:
    return [_block(block) for block in content]


def usage_to_wire(usage: m.Usage) -> WireDict:
    cost = None if usage.cost is None else format(usage.cost, "f")
    return _present(
        input=usage.input,
        output=usage.output,
        cacheRead=usage.cache_read,
        cacheWrite=usage.cache_write,
        reasoning=usage.reasoning,
        cost=cost,
    )


def error_to_wire(error: m.ErrorInfo) -> WireDict:
    return _present(
        kind=error.kind,
        message=error.message,
        retryable=error.retryable,
        status=error.status,
        retryAfter=error.retry_after,
    )


def returned_to_wire(items: Sequence[e.QueuedItem]) -> list[WireDict]:
    return [
        {"queueId": item.queue_id, "kind": item.kind, "content": content_to_wire(item.content)}
        for item in items
    ]


def _message_update(event: e.MessageUpdate) -> WireDict:
    delta: WireDict = {"kind": event.kind, "contentIndex": event.content_index}
    if event.tool_call_id is not None:
        delta["toolCallId"] = event.tool_call_id
        if event.tool_name is not None:
            delta["toolName"] = event.tool_name
    delta["text"] = event.text
    return {"type": "message_update", "messageId": event.message_id, "delta": delta}


def _agent_start(event: e.AgentStart) -> WireDict:
    return _present(model=event.model, input=list(event.input), promptId=event.prompt_id)


def _turn_start(event: e.TurnStart) -> WireDict:
    return {"turn": event.turn}


def _message_start(event: e.MessageStart) -> WireDict:
    return {"message": {"id": event.message_id, "role": event.role}}


def _message_end(event: e.MessageEnd) -> WireDict:
    return {"message": message_to_wire(event.message)}


def message_to_wire(message: m.Message) -> WireDict:
    common: WireDict = {
        "id": message.id,
        "role": _role(message),
        "content": content_to_wire(message.content),
        "time": timestamp(message.time),
    }
    match message:
        case m.UserMessage():
            return common | _present(queueId=message.queue_id)
        case m.AssistantMessage():
            return common | _present(
                model=message.model,
                stopReason=message.stop_reason,
                usage=None if message.usage is None else usage_to_wire(message.usage),
                error=None if message.error is None else error_to_wire(message.error),
            )
        case m.ToolResultMessage():
            return common | {
                "toolCallId": message.tool_call_id,
                "toolName": message.tool_name,
                "isError": message.is_error,
            }
        case m.CustomMessage():
            left_out = [{"messageId": place.message_id, "block": place.block} for place in message.left_out]
            return common | _present(name=message.name, leftOut=left_out or None)


def _role(message: m.Message) -> m.Role:
    match message:
        case m.UserMessage():
            return "user"
        case m.AssistantMessage():
            return "assistant"
        case m.ToolResultMessage():
            return "toolResult"
        case m.CustomMessage():
            return "custom"


def _tool_start(event: e.ToolExecutionStart) -> WireDict:
    if event.arguments is not None:
        shown, cut = shortened_arguments(event.arguments)
        arguments: WireDict = {"arguments": shown}
    else:
        text, cut = shortened_text(event.arguments_text or "")
        arguments = {"argumentsText": text}
    return {
        "toolCallId": event.tool_call_id,
        "toolName": event.tool_name,
        "kind": event.kind,
        **arguments,
        **({"argumentsCut": True} if cut else {}),
        "title": brief(event.title),
        **_locations(event.locations),
        **_present(parentToolCallId=event.parent_tool_call_id),
    }


def _tool_update(event: e.ToolExecutionUpdate) -> WireDict:
    return {
        "toolCallId": event.tool_call_id,
        "progress": _present(text=event.text, dropped=event.dropped or None),
    }


def _tool_end(event: e.ToolExecutionEnd) -> WireDict:
    return {
        "toolCallId": event.tool_call_id,
        "toolName": event.tool_name,
        "isError": event.is_error,
        "outcome": event.outcome,
        **_present(details=event.details),
        **_locations(event.locations),
        "durationMs": event.duration_ms,
    }


def _turn_end(event: e.TurnEnd) -> WireDict:
    return _present(turn=event.turn, messageId=event.message_id, toolCallIds=list(event.tool_call_ids))


def _agent_end(event: e.AgentEnd) -> WireDict:
    usage = None if event.usage is None else usage_to_wire(event.usage)
    return {"usage": usage} | _present(
        stopReason=event.stop_reason,
        text=event.text,
        returned=returned_to_wire(event.returned),
        error=None if event.error is None else error_to_wire(event.error),
        denied=event.denied or None,
        durationMs=event.duration_ms,
    )


def _phase_change(event: e.PhaseChange) -> WireDict:
    return {"from": event.source, "to": event.target, "reason": event.reason}


def _queue_update(event: e.QueueUpdate) -> WireDict:
    return {"steering": queued_to_wire(event.steering), "followUp": queued_to_wire(event.follow_up)}


def queued_to_wire(items: Sequence[e.QueuedItem]) -> list[WireDict]:
    return [{"queueId": item.queue_id, "text": m.text_of(item.content)} for item in items]


def _approval_requested(event: e.ApprovalRequested) -> WireDict:
    return {
        "approvalId": event.approval_id,
        "toolCallId": event.tool_call_id,
        "title": brief(event.title),
        "options": options_to_wire(event.options),
    }


def options_to_wire(options: Sequence[e.Option]) -> list[WireDict]:
    return [
        _present(
            id=option.id, label=option.label, kind=option.kind, scope=option.scope and brief(option.scope)
        )
        for option in options
    ]


def _approval_resolved(event: e.ApprovalResolved) -> WireDict:
    return _present(
        approvalId=event.approval_id,
        toolCallId=event.tool_call_id,
        decision=event.decision,
        by=event.by,
        reason=event.reason,
    )


def _retry_scheduled(event: e.RetryScheduled) -> WireDict:
    return {
        "attempt": event.attempt,
        "maxAttempts": event.max_attempts,
        "delayMs": event.delay_ms,
        "reason": event.reason,
    }


def _compaction_start(event: e.CompactionStart) -> WireDict:
    return {"reason": event.reason}


def _compaction_end(event: e.CompactionEnd) -> WireDict:
    return _present(
        reason=event.reason,
        summary=event.summary,
        tokensBefore=event.tokens_before,
        tokensAfter=event.tokens_after,
        error=None if event.error is None else error_to_wire(event.error),
    )


def _file_changed(event: e.FileChanged) -> WireDict:
    return {
        "path": event.path,
        "uri": path_to_uri(event.path),
        "change": event.change,
        "via": event.via,
        "linesAdded": event.lines_added,
        "linesRemoved": event.lines_removed,
        "toolCallId": event.tool_call_id,
    }


def _todo_update(event: e.TodoUpdate) -> WireDict:
    return {"todos": [{"content": todo.content, "status": todo.status} for todo in event.todos]}


def _session_update(event: e.SessionUpdate) -> WireDict:
    return _present(title=event.title, model=event.model, mode=event.mode, thinking=event.thinking)


def _notice(event: e.Notice) -> WireDict:
    return {"level": event.level, "message": event.message, "code": event.code}


def _block(block: m.UserBlock | m.AssistantBlock) -> WireDict:
    match block:
        case m.TextBlock():
            return {"type": "text", "text": block.text}
        case m.ImageBlock():
            return {"type": "image", "mediaType": block.media_type, "data": block.data}
        case m.ThinkingBlock():
            return {"type": "thinking", "text": block.text}
        case m.ToolCall():
            call: WireDict = {"type": "toolCall", "id": block.id, "name": block.name}
            if block.arguments is None:
                return call | {"argumentsText": block.arguments_text or ""}
            return call | {"arguments": block.arguments}


def _locations(locations: Sequence[e.Location]) -> WireDict:
    if not locations:
        return {}
    return {"locations": [_present(path=location.path, line=location.line) for location in locations]}


def _present(**fields: Any) -> WireDict:
    return {name: value for name, value in fields.items() if value is not None}


_ENCODERS: dict[type[Any], Callable[[Any], WireDict]] = {
    e.AgentStart: _agent_start,
    e.TurnStart: _turn_start,
    e.MessageStart: _message_start,
    e.MessageEnd: _message_end,
    e.ToolExecutionStart: _tool_start,
    e.ToolExecutionUpdate: _tool_update,
    e.ToolExecutionEnd: _tool_end,
    e.TurnEnd: _turn_end,
    e.AgentEnd: _agent_end,
    e.PhaseChange: _phase_change,
    e.QueueUpdate: _queue_update,
    e.ApprovalRequested: _approval_requested,
    e.ApprovalResolved: _approval_resolved,
    e.RetryScheduled: _retry_scheduled,
    e.CompactionStart: _compaction_start,
    e.CompactionEnd: _compaction_end,
    e.FileChanged: _file_changed,
    e.TodoUpdate: _todo_update,
    e.SessionUpdate: _session_update,
    e.Notice: _notice,
}
