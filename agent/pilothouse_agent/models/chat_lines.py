"""The messages of a chat request as JSON, one after another, with what strict servers want between them."""

from __future__ import annotations

import re
from typing import NamedTuple

from pilothouse_agent.kernel.messages import (
    ImageBlock,
    ModelMessage,
    RefusedBlock,
    ToolResultMessage,
    UserMessage,
)
from pilothouse_agent.kernel.transcript import estimate_tokens
from pilothouse_agent.models.chat_dialect import ChatDialect
from pilothouse_agent.models.image_refusals import WirePlace, refused_block, sent_blocks
from pilothouse_agent.models.sight import PiecesOf
from pilothouse_agent.models.wire_json import encode

__all__ = ["ChatLines", "ChatPiece"]

_BEGIN = encode({"role": "user", "content": "(The conversation begins with your answer.)"})
_CONTINUE = encode({"role": "user", "content": "Go on."})
_NOTED = encode({"role": "assistant", "content": "Noted."})
_SIGNED = re.compile(r"\bgemini-(?:[3-9]|\d\d)")
"""Models that refuse calls without a signature."""


class ChatPiece(NamedTuple):
    plain: bytes
    """The message as any model may see it; empty when nothing of it is to be sent."""
    own: bytes = b""
    """The message with what its own model wants back, if there is any."""
    model: str = ""
    """The model that `own` is for."""
    images: bytes = b""
    """Parts of a tool result that only a user message may carry, joined with commas."""
    signed: bytes = b""
    """`plain` for models that refuse calls without a signature, where it has calls."""


class ChatLines:
    """Of one history for one model, written message by message."""

    def __init__(self, dialect: ChatDialect, pieces: PiecesOf[ChatPiece], model: str) -> None:
        self.tokens = 0
        """A rough size."""
        self._dialect = dialect
        self._pieces = pieces
        self._model = model
        self._signs = _SIGNED.search(model) is not None
        self._lines: list[bytes] = []
        self._made_of: list[tuple[ModelMessage, ...]] = []
        """The messages that each line was made of."""
        self._last = ""
        """The role of the last line."""
        self._images: list[bytes] = []
        """Of the tool results that the lines end with."""
        self._seen: list[ModelMessage] = []
        """These tool results."""

    def all(self) -> list[bytes]:
        """The lines of a whole request but for the system message."""
        return [*self._lines, *self._ending()]

    def add(self, message: ModelMessage) -> None:
        piece = self._pieces.of(message)
        self.tokens += estimate_tokens(message)
        if isinstance(message, ToolResultMessage):
            if piece.images:
                self._images.append(piece.images)
                self._seen.append(message)
            self._add("tool", piece.plain, message)
            return
        if self._images:
            self._add("user", _image_message(self._images), *self._seen)
            self._images, self._seen = [], []
        wire = piece.signed if piece.signed and self._signs else piece.plain
        if piece.own and piece.model == self._model:
            wire = piece.own
        if wire:
            self._add("user" if isinstance(message, UserMessage) else "assistant", wire, message)

    def refused(self, place: WirePlace) -> RefusedBlock:
        """The image at a place in the lines."""
        made_of = [*self._made_of, *([tuple(self._seen)] if self._seen else [])]
        messages = made_of[place.message] if 0 <= place.message < len(made_of) else ()
        users = [message.content for message in messages if isinstance(message, UserMessage)]
        results = [message.content for message in messages if isinstance(message, ToolResultMessage)]
        sent = [block for content in users for block in sent_blocks(content)]
        sent += [block for content in results for block in content if isinstance(block, ImageBlock)]
        return refused_block(messages, sent, place.parts[0] if place.parts else None)

    def _add(self, role: str, line: bytes, *made_of: ModelMessage) -> None:
        before = self._before(role)
        self._lines += [*before, line]
        self._made_of += [*[()] * len(before), made_of]
        self._last = role

    def _before(self, role: str) -> list[bytes]:
        if role == "assistant" and not self._last:
            return [_BEGIN]
        return [_NOTED] if role == "user" and self._needs_answer() else []

    def _needs_answer(self) -> bool:
        if self._last == "tool":
            return not self._dialect.user_after_tool
        return self._last == "user" and self._dialect.alternating

    def _ending(self) -> list[bytes]:
        """What this request needs behind the history, and the next one will not."""
        if self._images:
            return [*self._before("user"), _image_message(self._images)]
        return [_CONTINUE] if self._last in ("assistant", "") else []


def _image_message(images: list[bytes]) -> bytes:
    return b'{"role":"user","content":[' + b",".join(images) + b"]}"
