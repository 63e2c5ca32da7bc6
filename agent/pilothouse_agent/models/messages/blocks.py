"""Writes messages as blocks of the Messages API, each message once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

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
from pilothouse_agent.kernel.transcript import estimate_tokens
from pilothouse_agent.models.history.image_refusals import UNSEEN, sent_blocks
from pilothouse_agent.models.history.image_type import image_type
from pilothouse_agent.models.history.legal import digest, legal_arguments, legal_name
from pilothouse_agent.models.history.own_thoughts import maker
from pilothouse_agent.models.history.pieces import Pieces
from pilothouse_agent.models.messages.stream import ORIGIN
from pilothouse_agent.models.wire_json import encode, packed

__all__ = ["AnthropicPiece", "anthropic_pieces", "text_block"]

_LEGAL_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")
_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_THINKING = ("thinking", "redacted_thinking")


class AnthropicPiece(NamedTuple):
    role: str
    plain: tuple[bytes, ...]
    """The blocks of the message as any model may see them."""
    own: tuple[bytes, ...] = ()
    """The blocks with the thinking its own model wants back, if there is any."""
    model: str = ""
    """The model that `own` is for."""
    tools: tuple[str, ...] = ()
    """Tools called, by their names on the wire."""
    tokens: int = 0
    """A rough size."""
    thinks: bool = False
    """Whether `own` opens with thinking."""
    paused: bool = False
    """Whether the model stopped in the middle of its own work, to be asked to go on."""


def anthropic_pieces(*, images: bool) -> Pieces[AnthropicPiece]:
    writer = _Writer(images=images)
    return Pieces(writer.piece, lambda piece: sum(map(len, (*piece.plain, *piece.own))))


def text_block(text: str) -> bytes:
    return packed({"type": "text", "text": text})


def _legal_id(call_id: str) -> str:
    return call_id if _LEGAL_ID.match(call_id) else f"toolu_{digest(call_id)[:24]}"


class _Writer:
    def __init__(self, *, images: bool) -> None:
        self._images = images

    def piece(self, message: ModelMessage) -> AnthropicPiece:
        tokens = estimate_tokens(message)
        match message:
            case UserMessage():
                blocks = self._content(message.content) or [text_block("(empty)")]
                return AnthropicPiece("user", tuple(blocks), tokens=tokens)
            case AssistantMessage():
                return _assistant(message, tokens)
            case ToolResultMessage():
                return AnthropicPiece("user", (self._tool_result(message),), tokens=tokens)

    def _tool_result(self, message: ToolResultMessage) -> bytes:
        content = self._content(message.content) or [text_block("(no output)")]
        head: JsonObject = {"type": "tool_result", "tool_use_id": _legal_id(message.tool_call_id)}
        if message.is_error:
            head["is_error"] = True
        return encode(head)[:-1] + b',"content":[%b]}' % b",".join(content)

    def _content(self, content: tuple[UserBlock, ...]) -> list[bytes]:
        return [
            text_block(block.text) if isinstance(block, TextBlock) else self._image(block)
            for block in sent_blocks(content)
        ]

    def _image(self, image: ImageBlock) -> bytes:
        if not self._images:
            return text_block(UNSEEN)
        kind = image_type(image)
        if kind not in _IMAGES:
            return text_block(f"(an image of the type {kind}, which this model cannot see)")
        source: JsonObject = {"type": "base64", "media_type": kind, "data": image.data}
        return packed({"type": "image", "source": source})


def _assistant(message: AssistantMessage, tokens: int) -> AnthropicPiece:
    plain = [block for block in map(_plain_block, message.content) if block is not None]
    tools = tuple(legal_name(call.name) for call in message.calls)
    base = AnthropicPiece("assistant", tuple(map(packed, plain)), tools=tools, tokens=tokens)
    model = maker(message, _kept(message))
    if model is None:
        return base
    own = [block for block in map(_own_block, message.content) if block is not None]
    # No message may end in thinking, nor be nothing but thinking.
    while own and own[-1]["type"] in _THINKING:
        own.pop()
    return base._replace(
        own=tuple(map(packed, own)),
        model=model,
        thinks=bool(own) and own[0]["type"] in _THINKING,
        paused=bool(own) and not tools and own[-1]["type"] != "text",
    )


def _plain_block(block: AssistantBlock) -> JsonObject | None:
    match block:
        case TextBlock():
            return {"type": "text", "text": block.text} if block.text.strip() else None
        case ToolCall():
            return {
                "type": "tool_use",
                "id": _legal_id(block.id),
                "name": legal_name(block.name),
                "input": legal_arguments(block),
            }
        case ThinkingBlock():
            return None


def _own_block(block: AssistantBlock) -> JsonObject | None:
    if not isinstance(block, ThinkingBlock):
        return _plain_block(block)
    if block.origin != ORIGIN:
        return None
    if block.signature:
        return {"type": "thinking", "thinking": block.text, "signature": block.signature}
    content = block.data.get("block") if block.data else None
    return content if isinstance(content, dict) and isinstance(content.get("type"), str) else None


def _kept(message: AssistantMessage) -> Iterator[JsonObject]:
    """What is for the message's own model only."""
    for block in message.content:
        if isinstance(block, ThinkingBlock) and block.origin == ORIGIN and _own_block(block) is not None:
            yield block.data or {}
