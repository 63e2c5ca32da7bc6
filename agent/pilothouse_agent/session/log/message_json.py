"""Messages as JSON and back, whole: also what only their provider understands."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import cast, get_args

from pilothouse_agent.kernel.events import QueuedItem
from pilothouse_agent.kernel.json_types import JsonObject, JsonValue
from pilothouse_agent.kernel.messages import (
    AssistantBlock,
    AssistantMessage,
    BlockPlace,
    CustomMessage,
    ErrorInfo,
    ErrorKind,
    ImageBlock,
    Message,
    MessageStop,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserBlock,
    UserMessage,
)

__all__ = [
    "content_to_json",
    "error_to_json",
    "message_of",
    "message_to_json",
    "queued_of",
    "queued_to_json",
    "usage_of",
    "usage_to_json",
]

_STOPS = get_args(MessageStop)
_KINDS = get_args(ErrorKind)


def message_to_json(message: Message) -> JsonObject:
    value: JsonObject = {
        "id": message.id,
        "role": "user",
        "content": content_to_json(message.content),
        "time": message.time.astimezone(UTC).isoformat(),
    }
    match message:
        case UserMessage():
            _add(value, queueId=message.queue_id)
        case AssistantMessage():
            value["role"] = "assistant"
            value["model"] = message.model
            value["stopReason"] = message.stop_reason
            if message.usage is not None:
                value["usage"] = usage_to_json(message.usage)
            if message.error is not None:
                value["error"] = error_to_json(message.error)
        case ToolResultMessage():
            value["role"] = "toolResult"
            value["toolCallId"] = message.tool_call_id
            value["toolName"] = message.tool_name
            value["isError"] = message.is_error
        case CustomMessage():
            value["role"] = "custom"
            value["name"] = message.name
            value["forModel"] = message.for_model
            if message.left_out:
                value["leftOut"] = [
                    {"messageId": place.message_id, "block": place.block} for place in message.left_out
                ]
    return value


def message_of(value: JsonValue | None) -> Message | None:
    """None for what is no message that this release understands."""
    try:
        return _message(_object(value))
    except (KeyError, TypeError, ValueError):
        return None


def content_to_json(content: Iterable[UserBlock | AssistantBlock]) -> list[JsonValue]:
    return [_block_to_json(block) for block in content]


def usage_to_json(usage: Usage) -> JsonObject:
    value: JsonObject = {}
    _add(
        value,
        input=usage.input,
        output=usage.output,
        cacheRead=usage.cache_read,
        cacheWrite=usage.cache_write,
        reasoning=usage.reasoning,
        cost=None if usage.cost is None else format(usage.cost, "f"),
    )
    return value


def usage_of(value: JsonValue | None) -> Usage | None:
    if not isinstance(value, dict):
        return None
    try:
        cost = None if value.get("cost") is None else Decimal(str(value["cost"]))
    except InvalidOperation:
        cost = None
    return Usage(
        _count(value.get("input")),
        _count(value.get("output")),
        _count(value.get("cacheRead")),
        _count(value.get("cacheWrite")),
        _count(value.get("reasoning")),
        cost,
    )


def error_to_json(error: ErrorInfo) -> JsonObject:
    value: JsonObject = {"kind": error.kind, "message": error.message, "retryable": error.retryable}
    _add(value, status=error.status, retryAfter=error.retry_after)
    return value


def queued_to_json(item: QueuedItem) -> JsonObject:
    return {"queueId": item.queue_id, "kind": item.kind, "content": content_to_json(item.content)}


def queued_of(value: JsonValue) -> QueuedItem | None:
    match value:
        case {"queueId": str(queue_id), "kind": ("steering" | "followUp") as kind, "content": list(content)}:
            try:
                return QueuedItem(queue_id, kind, _user_content(content))
            except (KeyError, TypeError, ValueError):
                return None
        case _:
            return None


def _block_to_json(block: UserBlock | AssistantBlock) -> JsonObject:
    match block:
        case TextBlock():
            return {"type": "text", "text": block.text}
        case ImageBlock():
            return {"type": "image", "mediaType": block.media_type, "data": block.data}
        case ThinkingBlock():
            value: JsonObject = {"type": "thinking", "text": block.text}
            _add(value, signature=block.signature, data=block.data, origin=block.origin)
            return value
        case ToolCall():
            value = {"type": "toolCall", "id": block.id, "name": block.name}
            _add(value, arguments=block.arguments, argumentsText=block.arguments_text, extra=block.extra)
            return value


def _message(value: JsonObject) -> Message:
    message_id, time = _text(value["id"]), datetime.fromisoformat(_text(value["time"]))
    content = _list(value["content"])
    match value["role"]:
        case "user":
            return UserMessage(message_id, _user_content(content), time, _text_or_none(value.get("queueId")))
        case "assistant":
            stop = value["stopReason"]
            return AssistantMessage(
                message_id,
                tuple(_assistant_block(_object(block)) for block in content),
                time,
                _text(value["model"]),
                cast("MessageStop", stop if stop in _STOPS else "stop"),
                usage_of(value.get("usage")),
                _error(value.get("error")),
            )
        case "toolResult":
            name, is_error = _text(value["toolName"]), value.get("isError") is True
            call_id = _text(value["toolCallId"])
            return ToolResultMessage(message_id, _user_content(content), time, call_id, name, is_error)
        case "custom":
            left_out = tuple(_place(_object(place)) for place in _list(value.get("leftOut") or []))
            for_model = value.get("forModel") is True
            name = _text(value["name"])
            return CustomMessage(message_id, _user_content(content), time, name, for_model, left_out)
        case role:
            raise ValueError(f"no role of ours: {role!r}")


def _user_content(content: list[JsonValue]) -> tuple[UserBlock, ...]:
    return tuple(_user_block(_object(block)) for block in content)


def _user_block(value: JsonObject) -> UserBlock:
    if value["type"] == "image":
        return ImageBlock(_text(value["mediaType"]), _text(value["data"]))
    return TextBlock(_text(value["text"]))


def _assistant_block(value: JsonObject) -> AssistantBlock:
    match value["type"]:
        case "thinking":
            data = value.get("data")
            return ThinkingBlock(
                _text(value["text"]),
                _text_or_none(value.get("signature")),
                data if isinstance(data, dict) else None,
                _text_or_none(value.get("origin")),
            )
        case "toolCall":
            arguments, extra = value.get("arguments"), value.get("extra")
            return ToolCall(
                _text(value["id"]),
                _text(value["name"]),
                arguments if isinstance(arguments, dict) else None,
                _text_or_none(value.get("argumentsText")),
                extra if isinstance(extra, dict) else None,
            )
        case _:
            return TextBlock(_text(value["text"]))


def _place(value: JsonObject) -> BlockPlace:
    block = value["block"]
    if not isinstance(block, int):
        raise TypeError("a block's index is a number")
    return BlockPlace(_text(value["messageId"]), block)


def _error(value: JsonValue | None) -> ErrorInfo | None:
    if not isinstance(value, dict):
        return None
    kind, status, retry_after = value.get("kind"), value.get("status"), value.get("retryAfter")
    return ErrorInfo(
        cast("ErrorKind", kind if kind in _KINDS else "unknown"),
        str(value.get("message", "")),
        value.get("retryable") is True,
        status if isinstance(status, int) else None,
        float(retry_after) if isinstance(retry_after, int | float) else None,
    )


def _add(value: JsonObject, **fields: JsonValue | None) -> None:
    value.update((name, field) for name, field in fields.items() if field is not None)


def _object(value: JsonValue | None) -> JsonObject:
    if not isinstance(value, dict):
        raise TypeError("not an object")
    return value


def _list(value: JsonValue) -> list[JsonValue]:
    if not isinstance(value, list):
        raise TypeError("not a list")
    return value


def _text(value: JsonValue) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value


def _text_or_none(value: JsonValue | None) -> str | None:
    return value if isinstance(value, str) else None


def _count(value: JsonValue | None) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
