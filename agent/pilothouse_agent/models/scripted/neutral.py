"""A model request as plain JSON that belongs to no provider: the scripted model's log and `expect`.

One object: `sessionId`, `purpose`, `model`, `system`, `messages`, `tools`. A message has `role` (user,
assistant, toolResult) and `content` (blocks); an assistant's also `stopReason`, a tool's result
`toolCallId`, `toolName` and `isError`. Blocks: `{type: text, text}`, `{type: image, mediaType, data}`,
`{type: thinking, text, signature?, data?, origin?}` and `{type: toolCall, id, name, arguments, extra?}`
with `argumentsText` in place of `arguments` where these could not be parsed. A tool has `name`,
`description` and `parameters`. Ids and times of messages are left out: no model sees them. Compact,
UTF-8, on one line.
"""

from __future__ import annotations

from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.messages import (
    AssistantBlock,
    AssistantMessage,
    ImageBlock,
    ModelMessage,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolResultMessage,
    UserBlock,
    UserMessage,
)
from pilothouse_agent.kernel.request import ModelRequest
from pilothouse_agent.models.history.pieces import Pieces
from pilothouse_agent.models.wire_json import encode, packed

__all__ = ["NeutralRequests"]


class NeutralRequests:
    def __init__(self) -> None:
        self._pieces = Pieces(lambda message: packed(_message(message)), len)

    def line(self, request: ModelRequest) -> bytes:
        """The request without a line end."""
        head: JsonObject = {
            "sessionId": request.session_id,
            "purpose": request.purpose,
            "model": request.model,
            "system": request.system,
        }
        tools = encode(
            [
                {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
                for tool in request.tools
            ]
        )
        messages = b",".join([self._pieces.of(message) for message in request.messages])
        return b"".join((encode(head)[:-1], b',"messages":[', messages, b'],"tools":', tools, b"}"))


def _message(message: ModelMessage) -> JsonObject:
    content: JsonObject = {"content": [_block(block) for block in message.content]}
    match message:
        case UserMessage():
            return {"role": "user", **content}
        case AssistantMessage():
            return {"role": "assistant", **content, "stopReason": message.stop_reason}
        case ToolResultMessage():
            about: JsonObject = {
                "toolCallId": message.tool_call_id,
                "toolName": message.tool_name,
                "isError": message.is_error,
            }
            return {"role": "toolResult", **content, **about}


def _block(block: UserBlock | AssistantBlock) -> JsonObject:
    match block:
        case TextBlock():
            return {"type": "text", "text": block.text}
        case ImageBlock():
            return {"type": "image", "mediaType": block.media_type, "data": block.data}
        case ThinkingBlock():
            return {"type": "thinking", "text": block.text, **_thinking_data(block)}
        case ToolCall():
            return {"type": "toolCall", "id": block.id, "name": block.name, **_arguments(block)}


def _thinking_data(block: ThinkingBlock) -> JsonObject:
    data: JsonObject = {"signature": block.signature, "data": block.data, "origin": block.origin}
    return {key: value for key, value in data.items() if value is not None}


def _arguments(call: ToolCall) -> JsonObject:
    extra: JsonObject = {"extra": call.extra} if call.extra is not None else {}
    if call.arguments is None:
        return {"argumentsText": call.arguments_text or "", **extra}
    return {"arguments": call.arguments, **extra}
