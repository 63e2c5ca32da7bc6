"""Writes messages as items of a Responses request, each message once, and lists them one after another."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from pilothouse_agent.kernel.json_types import JsonObject, JsonValue
from pilothouse_agent.kernel.messages import (
    AssistantBlock,
    AssistantMessage,
    ImageBlock,
    ModelMessage,
    RefusedBlock,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolResultMessage,
    UserBlock,
    UserMessage,
)
from pilothouse_agent.kernel.transcript import estimate_tokens
from pilothouse_agent.models.history.image_refusals import UNSEEN, WirePlace, refused_block, sent_blocks
from pilothouse_agent.models.history.image_type import image_type
from pilothouse_agent.models.history.legal import digest, legal_arguments, legal_name
from pilothouse_agent.models.history.own_thoughts import Back, maker
from pilothouse_agent.models.history.pieces import Pieces
from pilothouse_agent.models.history.sight import PiecesOf
from pilothouse_agent.models.responses.stream import ORIGIN
from pilothouse_agent.models.wire_json import encode, packed

__all__ = ["ResponsesPiece", "ResponsesTurns", "responses_pieces"]

_LEGAL_ID = re.compile(r"[!-~]{1,64}\Z")
_CONTINUE = encode({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go on."}]})


class ResponsesPiece(NamedTuple):
    plain: bytes
    """The items of the message as any model may see them, joined with commas; empty when there are none."""
    own: bytes = b""
    """The items with the thinking its own model wants back, if there is any."""
    model: str = ""
    """The model that `own` is for."""
    answers: bool = False
    """Whether it ends with the model's own words."""
    items: int = 1
    """How many there are in `plain`."""
    own_items: int = 0


class ResponsesTurns:
    """Of one history for one model, written message by message."""

    def __init__(self, pieces: PiecesOf[ResponsesPiece], back: Back) -> None:
        self.tokens = 0
        """A rough size."""
        self._pieces = pieces
        self._back = back
        self._items: list[bytes] = []
        self._made_of: list[tuple[ModelMessage, int]] = []
        """Messages, and how many items each is here."""
        self._answers = False
        """Whether they end with the model's own words."""

    def add(self, message: ModelMessage) -> None:
        piece = self._pieces.of(message)
        self.tokens += estimate_tokens(message)
        is_own = bool(piece.own) and self._back.wants(message, piece.model)
        wire = piece.own if is_own else piece.plain
        if wire:
            self._items.append(wire)
            self._made_of.append((message, piece.own_items if is_own else piece.items))
            self._answers = piece.answers

    def refused(self, place: WirePlace) -> RefusedBlock:
        """The image at a place in the items."""
        index = place.message
        for message, items in self._made_of:
            if 0 <= index < items and not isinstance(message, AssistantMessage):
                part = place.parts[0] if place.parts else None
                return refused_block([message], sent_blocks(message.content), part)
            index -= items
        return RefusedBlock()

    def all(self) -> list[bytes]:
        return [*self._items, _CONTINUE] if self._answers or not self._items else self._items


def responses_pieces(*, images: bool) -> Pieces[ResponsesPiece]:
    writer = _Writer(images=images)
    return Pieces(writer.piece, lambda piece: len(piece.plain) + len(piece.own))


class _Writer:
    def __init__(self, *, images: bool) -> None:
        self._images = images

    def piece(self, message: ModelMessage) -> ResponsesPiece:
        match message:
            case UserMessage():
                content: JsonValue = [*self._content(message.content)] or [_text("(empty)")]
                return ResponsesPiece(packed({"type": "message", "role": "user", "content": content}))
            case AssistantMessage():
                return _assistant(message)
            case ToolResultMessage():
                return ResponsesPiece(packed(self._tool_result(message)))

    def _tool_result(self, message: ToolResultMessage) -> JsonObject:
        """Plain text where it can be, since not every server takes lists."""
        content = self._content(message.content)
        images = any(part["type"] == "input_image" for part in content)
        text = "\n".join(str(part["text"]) for part in content if part["type"] == "input_text")
        output: JsonValue = [*content] if images else text or "(no output)"
        return {"type": "function_call_output", "call_id": _legal_id(message.tool_call_id), "output": output}

    def _content(self, content: tuple[UserBlock, ...]) -> list[JsonObject]:
        return [
            _text(block.text) if isinstance(block, TextBlock) else self._image(block)
            for block in sent_blocks(content)
        ]

    def _image(self, image: ImageBlock) -> JsonObject:
        if not self._images:
            return _text(UNSEEN)
        url = f"data:{image_type(image)};base64,{image.data}"
        return {"type": "input_image", "image_url": url, "detail": "auto"}


def _assistant(message: AssistantMessage) -> ResponsesPiece:
    plain = [item for item in map(_plain_item, message.content) if item is not None]
    if not plain:
        return ResponsesPiece(b"")
    answers = not message.calls
    model = maker(message, _kept(message))
    if model is None:
        return ResponsesPiece(_joined(plain), answers=answers, items=len(plain))
    own = [item for item in map(_own_item, message.content) if item is not None]
    # Thinking must be followed by what it led to.
    while own[-1]["type"] == "reasoning":
        own.pop()
    # A call by its id is looked for with the thinking it came from; without that it goes as a new one.
    if all(item["type"] != "reasoning" for item in own):
        for item in own:
            item.pop("id", None)
    return ResponsesPiece(_joined(plain), _joined(own), model, answers, len(plain), len(own))


def _plain_item(block: AssistantBlock) -> JsonObject | None:
    match block:
        case TextBlock():
            message: JsonObject = {"type": "message", "role": "assistant", "content": block.text}
            return message if block.text.strip() else None
        case ToolCall():
            arguments = encode(_arguments(block)).decode()
            return {
                "type": "function_call",
                "call_id": _legal_id(block.id),
                "name": legal_name(block.name),
                "arguments": arguments,
            }
        case ThinkingBlock():
            return None


def _own_item(block: AssistantBlock) -> JsonObject | None:
    if isinstance(block, ThinkingBlock):
        return _sealed(block)
    item = _plain_item(block)
    if item is None or not isinstance(block, ToolCall):
        return item
    made = _made(block)
    identity = made.get("id")
    if isinstance(identity, str) and identity.startswith("fc"):
        item["id"] = identity
    if namespace := made.get("namespace"):
        item["namespace"] = namespace
    return item


def _sealed(block: ThinkingBlock) -> JsonObject | None:
    item = block.data.get("item") if block.data and block.origin == ORIGIN else None
    if not isinstance(item, dict) or not item.get("encrypted_content"):
        return None
    return {"summary": [], **item, "type": "reasoning"}


def _arguments(call: ToolCall) -> JsonObject:
    """A call with free text goes back as a call of a function: no other was offered."""
    if _made(call).get("type") != "custom_tool_call":
        return legal_arguments(call)
    text = call.arguments_text
    return {"input": encode(call.arguments).decode() if text is None else text}


def _made(call: ToolCall) -> JsonObject:
    """The item that the call was made of, if this format made it."""
    item = call.extra.get("item") if call.extra else None
    return item if isinstance(item, dict) else {}


def _kept(message: AssistantMessage) -> Iterator[JsonObject]:
    """What is for the message's own model only."""
    for block in message.content:
        if isinstance(block, ThinkingBlock) and block.origin == ORIGIN and block.data is not None:
            yield block.data
        elif isinstance(block, ToolCall) and block.extra is not None and _made(block):
            yield block.extra


def _joined(items: list[JsonObject]) -> bytes:
    return b",".join(map(packed, items))


def _text(text: str) -> JsonObject:
    return {"type": "input_text", "text": text}


def _legal_id(call_id: str) -> str:
    return call_id if _LEGAL_ID.match(call_id) else f"call_{digest(call_id)[:24]}"
