"""The messages of a chat request as JSON, one after another, with what strict servers want between them."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, TypeAlias

from pilothouse_agent.kernel.messages import (
    AssistantMessage,
    ImageBlock,
    ModelMessage,
    RefusedBlock,
    ToolResultMessage,
    UserMessage,
)
from pilothouse_agent.kernel.transcript import estimate_tokens
from pilothouse_agent.models.chat_completions.cache_marks import marked, turn_ends
from pilothouse_agent.models.chat_completions.dialect import ChatDialect
from pilothouse_agent.models.history.image_refusals import WirePlace, refused_block, sent_blocks
from pilothouse_agent.models.history.own_thoughts import Back
from pilothouse_agent.models.history.sight import PiecesOf
from pilothouse_agent.models.wire_json import encode

__all__ = ["ChatLines", "ChatPiece", "Reasoning"]

Reasoning: TypeAlias = Literal["as written", "wanted", "unwanted"]
"""Whether `reasoning_content` stands beside every answer, whoever gave it, or beside none."""

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
    thoughts: str = ""
    """What the model thought, whoever it was."""


class ChatLines:
    """Of one history for one model, written message by message."""

    def __init__(
        self, dialect: ChatDialect, pieces: PiecesOf[ChatPiece], back: Back, reasoning: Reasoning
    ) -> None:
        self.tokens = 0
        """A rough size."""
        self._dialect = dialect
        self._pieces = pieces
        self._back = back
        self._reasoning: Reasoning = reasoning
        self._signs = _SIGNED.search(back.model) is not None
        self._lines: list[bytes] = []
        self._made_of: list[tuple[ModelMessage, ...]] = []
        """The messages that each line was made of."""
        self._roles: list[str] = []
        self._images: list[bytes] = []
        """Of the tool results that the lines end with."""
        self._seen: list[ModelMessage] = []
        """These tool results."""

    def all(self, *, marks: bool = False) -> list[bytes]:
        """The lines of a whole request but for the system message, with marks for the prompt cache or not."""
        ending = self._ending()
        lines = [*self._lines, *ending]
        if marks:
            for index in turn_ends([*self._roles, *["user"] * len(ending)]):
                lines[index] = marked(lines[index])
        return lines

    @property
    def _last(self) -> str:
        """The role of the last line."""
        return self._roles[-1] if self._roles else ""

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
        if wire := self._wire(piece, message):
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

    def _wire(self, piece: ChatPiece, message: ModelMessage) -> bytes:
        wire = piece.signed if piece.signed and self._signs else piece.plain
        if piece.own and self._back.wants(message, piece.model) and self._reasoning != "unwanted":
            wire = piece.own
        if self._reasoning == "wanted" and isinstance(message, AssistantMessage) and wire:
            return with_reasoning(wire, piece.thoughts)
        return wire

    def _add(self, role: str, line: bytes, *made_of: ModelMessage) -> None:
        if role == "assistant" and not self._last:
            self._put("user", _BEGIN)
        elif role == "user" and self._needs_answer():
            self._put("assistant", _NOTED)
        self._put(role, line, *made_of)

    def _put(self, role: str, line: bytes, *made_of: ModelMessage) -> None:
        self._lines.append(line)
        self._made_of.append(made_of)
        self._roles.append(role)

    def _needs_answer(self) -> bool:
        if self._last == "tool":
            return not self._dialect.user_after_tool
        return self._last == "user" and self._dialect.alternating

    def _ending(self) -> list[bytes]:
        """What this request needs behind the history, and the next one will not."""
        if self._images:
            before = [_NOTED] if self._needs_answer() else []
            return [*before, _image_message(self._images)]
        return [_CONTINUE] if self._last in ("assistant", "") else []


def with_reasoning(line: bytes, thoughts: str) -> bytes:
    """An answer with its thinking beside it; a blank where there was none, since nothing does not count."""
    if b'"reasoning_content":' in line:
        return line.replace(b'"reasoning_content":""', b'"reasoning_content":" "')
    return b'%b,"reasoning_content":%b}' % (line[:-1], encode(thoughts or " "))


def _image_message(images: list[bytes]) -> bytes:
    return b'{"role":"user","content":[' + b",".join(images) + b"]}"
