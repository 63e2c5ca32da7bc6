"""Writes messages as lines of a chat request, each message once."""

from __future__ import annotations

import re

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
from pilothouse_agent.models.chat_completions.dialect import ChatDialect
from pilothouse_agent.models.chat_completions.lines import ChatPiece
from pilothouse_agent.models.chat_completions.stream import ORIGIN
from pilothouse_agent.models.history.image_refusals import UNSEEN, sent_blocks
from pilothouse_agent.models.history.image_type import image_type
from pilothouse_agent.models.history.legal import digest, legal_arguments, legal_name
from pilothouse_agent.models.history.own_thoughts import maker
from pilothouse_agent.models.history.pieces import Pieces
from pilothouse_agent.models.wire_json import encode, packed

__all__ = ["chat_pieces", "says"]


_LONGEST_ID = 40
_NINE = 62**9
_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_NINE_LETTERS = re.compile(r"[a-zA-Z0-9]{9}\Z")
_UNSIGNED: JsonObject = {"google": {"thought_signature": "skip_thought_signature_validator"}}


def chat_pieces(dialect: ChatDialect, *, images: bool) -> Pieces[ChatPiece]:
    writer = _Writer(dialect, images=images)
    return Pieces(writer.piece, lambda piece: len(piece.plain) + len(piece.own) + len(piece.images))


class _Writer:
    def __init__(self, dialect: ChatDialect, *, images: bool) -> None:
        self._dialect = dialect
        self._images = images

    def piece(self, message: ModelMessage) -> ChatPiece:
        match message:
            case UserMessage():
                return ChatPiece(packed({"role": "user", "content": self._user_content(message.content)}))
            case AssistantMessage():
                return self._assistant(message)
            case ToolResultMessage():
                return self._tool_result(message)

    def _user_content(self, content: tuple[UserBlock, ...]) -> JsonValue:
        """A plain string where it can be one: some templates know nothing else."""
        if self._images and any(isinstance(block, ImageBlock) for block in content):
            return [_part(block) for block in sent_blocks(content)]
        return self._lines(content) or "(empty)"

    def _assistant(self, message: AssistantMessage) -> ChatPiece:
        if not says(message):
            return ChatPiece(b"")
        text, calls = text_of(message.content), message.calls
        wire: JsonObject = {"role": "assistant", "content": text if text.strip() else None}
        if self._dialect.reasoning_back == "always":
            wire["reasoning_content"] = _thoughts(message)
        if calls:
            wire["tool_calls"] = [self._call(call) for call in calls]
        model, signed, thoughts = maker(message, _kept(message)), self._signed(wire), _thoughts(message)
        if model is None:
            return ChatPiece(packed(wire), signed=signed, thoughts=thoughts)
        own = {**wire, **self._thinking(message)}
        if calls:
            own["tool_calls"] = [{**self._call(call), **_extra(call)} for call in calls]
        return ChatPiece(packed(wire), packed(own), model, signed=signed, thoughts=thoughts)

    def _signed(self, wire: JsonObject) -> bytes:
        """With the words that Google has for calls of other models in the place of a signature."""
        calls = wire.get("tool_calls")
        if (
            self._dialect.tool_schema == "full"
            or not isinstance(calls, list)
            or not isinstance(calls[0], dict)
        ):
            return b""
        return packed({**wire, "tool_calls": [{**calls[0], "extra_content": _UNSIGNED}, *calls[1:]]})

    def _thinking(self, message: AssistantMessage) -> JsonObject:
        """Only what the server has shown it takes: its details unchanged, or the field beside calls."""
        fields: JsonObject = {}
        if self._dialect.reasoning_back != "as it came":
            return fields
        for data in (block.data for block in _own_blocks(message) if block.data):
            if details := data.get("reasoning_details"):
                fields["reasoning_details"] = details
            elif data.get("field") == "reasoning_content" and message.calls:
                fields["reasoning_content"] = _thoughts(message)
        return fields

    def _call(self, call: ToolCall) -> JsonObject:
        arguments = encode(legal_arguments(call)).decode()
        function: JsonObject = {"name": legal_name(call.name), "arguments": arguments}
        return {"id": self._id(call.id), "type": "function", "function": function}

    def _tool_result(self, message: ToolResultMessage) -> ChatPiece:
        images = [block for block in message.content if isinstance(block, ImageBlock) and self._images]
        text = self._lines(message.content) or ("(image, see below)" if images else "(no output)")
        wire = packed({"role": "tool", "tool_call_id": self._id(message.tool_call_id), "content": text})
        return ChatPiece(wire, images=b",".join(packed(_part(image)) for image in images))

    def _lines(self, content: tuple[UserBlock, ...]) -> str:
        texts = (
            UNSEEN if isinstance(block, ImageBlock) else block.text
            for block in content
            if isinstance(block, TextBlock) or not self._images
        )
        return "\n".join(text for text in texts if text.strip())

    def _id(self, call_id: str) -> str:
        if self._dialect.nine_letter_ids:
            return call_id if _NINE_LETTERS.match(call_id) else _nine_letters(call_id)
        return call_id if 0 < len(call_id) <= _LONGEST_ID else f"call_{digest(call_id)[:24]}"


def says(message: ModelMessage) -> bool:
    """Whether anything of it is to be sent."""
    return not isinstance(message, AssistantMessage) or bool(
        message.calls or text_of(message.content).strip()
    )


def _own_blocks(message: AssistantMessage) -> list[ThinkingBlock]:
    return [block for block in message.content if isinstance(block, ThinkingBlock) and block.origin == ORIGIN]


def _kept(message: AssistantMessage) -> list[JsonObject]:
    """What is for the message's own model only."""
    datas = [block.data for block in _own_blocks(message) if block.data]
    return datas + [call.extra for call in message.calls if call.extra and "extra_content" in call.extra]


def _thoughts(message: AssistantMessage) -> str:
    return "".join(block.text for block in message.content if isinstance(block, ThinkingBlock))


def _extra(call: ToolCall) -> JsonObject:
    extra = call.extra.get("extra_content") if call.extra else None
    return {"extra_content": extra} if extra else {}


def _part(block: UserBlock) -> JsonObject:
    if isinstance(block, TextBlock):
        return {"type": "text", "text": block.text}
    return {"type": "image_url", "image_url": {"url": f"data:{image_type(block)};base64,{block.data}"}}


def _nine_letters(call_id: str) -> str:
    number = int(digest(call_id), 16) % _NINE
    letters: list[str] = []
    for _ in range(9):
        number, place = divmod(number, 62)
        letters.append(_LETTERS[place])
    return "".join(letters)
