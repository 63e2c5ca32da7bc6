"""Writes the body of a Chat Completions request out of pieces that are made once for each message."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import NamedTuple

from pilothouse_agent.kernel.json_types import JsonObject, JsonValue
from pilothouse_agent.kernel.messages import (
    AssistantMessage,
    ImageBlock,
    ModelMessage,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolResultMessage,
    UserBlock,
    UserMessage,
    text_of,
)
from pilothouse_agent.kernel.request import ModelRequest, ToolSpec
from pilothouse_agent.models.chat_stream import ORIGIN
from pilothouse_agent.models.pieces import Pieces
from pilothouse_agent.models.wire_json import decode, encode

__all__ = ["ChatRequests"]

_LEGAL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")
_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST_ID = 40


class _Piece(NamedTuple):
    plain: bytes
    """The message as any model may see it; empty when nothing of it is to be sent."""
    own: bytes = b""
    """The message with the thinking its own model wants back, if there is any."""
    model: str = ""
    """The model that `own` is for."""
    images: bytes = b""
    """Parts of a tool result that only a user message may carry, joined with commas."""


class ChatRequests:
    """One for each provider object; keeps what it has written."""

    def __init__(self) -> None:
        self._pieces = Pieces(_piece, lambda piece: len(piece.plain) + len(piece.own) + len(piece.images))
        self._system: tuple[str, bytes] = ("", b"")
        self._names: tuple[tuple[ToolSpec, ...], Mapping[str, str]] = ((), {})
        self._tools: tuple[tuple[ToolSpec, ...], bytes] = ((), b"")

    def names(self, tools: tuple[ToolSpec, ...]) -> Mapping[str, str]:
        """From the names on the wire to the tools' own, where these are not legal there."""
        if self._names[0] is not tools:
            wire = {_legal_name(tool.name): tool.name for tool in tools}
            self._names = (tools, {legal: own for legal, own in wire.items() if legal != own})
        return self._names[1]

    def body(self, request: ModelRequest, *, model: str, with_usage: bool) -> bytes:
        """`model` is the name on the wire; `with_usage` asks for a last chunk that tells the usage."""
        options: JsonObject = {"stream": True}
        if with_usage:
            options["stream_options"] = {"include_usage": True}
        if request.thinking != "off":
            options["reasoning_effort"] = request.thinking
        tools = self._tools_json(request.tools)
        return b"".join(
            (
                b'{"model":',
                encode(model),
                b',"messages":[',
                b",".join(self._messages(request)),
                b"]",
                b',"tools":' + tools if tools else b"",
                b",",
                encode(options)[1:],
            )
        )

    def _messages(self, request: ModelRequest) -> list[bytes]:
        written = [self._system_message(request.system)] if request.system else []
        images: list[bytes] = []
        piece_of = self._pieces.of
        for message in request.messages:
            piece = piece_of(message)
            if images and not isinstance(message, ToolResultMessage):
                written.append(_image_message(images))
                images = []
            if piece.images:
                images.append(piece.images)
            wire = piece.own if piece.own and piece.model == request.model else piece.plain
            if wire:
                written.append(wire)
        return [*written, _image_message(images)] if images else written

    def _system_message(self, text: str) -> bytes:
        if self._system[0] is not text:
            self._system = (text, encode({"role": "system", "content": text}))
        return self._system[1]

    def _tools_json(self, tools: tuple[ToolSpec, ...]) -> bytes:
        if self._tools[0] is not tools:
            self._tools = (tools, encode([_tool(tool) for tool in tools]) if tools else b"")
        return self._tools[1]


def _piece(message: ModelMessage) -> _Piece:
    match message:
        case UserMessage():
            return _Piece(encode({"role": "user", "content": _user_content(message.content)}))
        case AssistantMessage():
            return _assistant(message)
        case ToolResultMessage():
            return _tool_result(message)


def _user_content(content: tuple[UserBlock, ...]) -> JsonValue:
    """A plain string where it can be one: some templates know nothing else."""
    if any(isinstance(block, ImageBlock) for block in content):
        return [_part(block) for block in content]
    return _lines(content) or "(empty)"


def _assistant(message: AssistantMessage) -> _Piece:
    text, calls = text_of(message.content), message.calls
    if not calls and not text.strip():
        return _Piece(b"")
    wire: JsonObject = {"role": "assistant", "content": text or None}
    if calls:
        wire["tool_calls"] = [_call(call) for call in calls]
    plain = encode(wire)
    thinking = _thinking(message)
    return _Piece(plain, encode({**wire, **thinking}), message.model) if thinking else _Piece(plain)


def _thinking(message: AssistantMessage) -> JsonObject:
    """Only what the server has shown it takes: its details unchanged, or the field beside calls."""
    own = [block for block in message.content if isinstance(block, ThinkingBlock) and block.origin == ORIGIN]
    fields: JsonObject = {}
    for data in (block.data for block in own if block.data):
        if details := data.get("reasoning_details"):
            fields["reasoning_details"] = details
        elif data.get("field") == "reasoning_content" and message.calls:
            fields["reasoning_content"] = "".join(
                block.text for block in message.content if isinstance(block, ThinkingBlock)
            )
    return fields


def _call(call: ToolCall) -> JsonObject:
    function: JsonObject = {"name": _legal_name(call.name), "arguments": _arguments(call)}
    wire: JsonObject = {"id": _legal_id(call.id), "type": "function", "function": function}
    extra = call.extra.get("extra_content") if call.extra else None
    return {**wire, "extra_content": extra} if extra else wire


def _arguments(call: ToolCall) -> str:
    """Servers parse the history: what is not the JSON of an object would fail for ever."""
    arguments: JsonValue = call.arguments
    try:
        if arguments is None:
            arguments = decode((call.arguments_text or "").encode("utf-8", "replace"))
        return encode(arguments).decode() if isinstance(arguments, dict) else "{}"
    except ValueError:
        return "{}"


def _tool_result(message: ToolResultMessage) -> _Piece:
    images = [block for block in message.content if isinstance(block, ImageBlock)]
    text = _lines(message.content) or ("(image, see below)" if images else "(no output)")
    wire = encode({"role": "tool", "tool_call_id": _legal_id(message.tool_call_id), "content": text})
    return _Piece(wire, images=b",".join(encode(_part(image)) for image in images))


def _image_message(images: list[bytes]) -> bytes:
    return b'{"role":"user","content":[' + b",".join(images) + b"]}"


def _part(block: UserBlock) -> JsonObject:
    if isinstance(block, TextBlock):
        return {"type": "text", "text": block.text}
    return {"type": "image_url", "image_url": {"url": f"data:{block.media_type};base64,{block.data}"}}


def _lines(content: tuple[UserBlock, ...]) -> str:
    return "\n".join(block.text for block in content if isinstance(block, TextBlock) and block.text)


def _tool(tool: ToolSpec) -> JsonObject:
    parameters: JsonObject = {"type": "object", "properties": {}, **tool.parameters}
    function: JsonObject = {
        "name": _legal_name(tool.name),
        "description": tool.description,
        "parameters": parameters,
    }
    return {"type": "function", "function": function}


def _legal_name(name: str) -> str:
    """The same for the same name always, and different for different ones."""
    if _LEGAL_NAME.match(name):
        return name
    return f"{_ILLEGAL.sub('_', name)[:55]}_{_digest(name)[:8]}"


def _legal_id(call_id: str) -> str:
    return call_id if 0 < len(call_id) <= _LONGEST_ID else f"call_{_digest(call_id)[:24]}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
