"""Blocks that a provider refused: which they are, and the transcript without them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pilothouse_agent.kernel.messages import (
    AssistantMessage,
    BlockPlace,
    CustomMessage,
    ImageBlock,
    Message,
    RefusedBlock,
    TextBlock,
    UserBlock,
    text_of,
)

__all__ = ["places_of", "refusal_note", "without_blocks"]

_ONE_BY_ONE = 3
"""Refusals in a row after which all images are left out together."""
_REASON_SIZE = 300
_FINISHED = ("stop", "toolUse", "length", "refusal")


def places_of(messages: Sequence[Message], refused: RefusedBlock, *, attempt: int) -> tuple[BlockPlace, ...]:
    """The blocks to leave out at the refusal number `attempt` in a row (from 1); none: nothing can be.

    Where the provider does not say which image it was: those no answer has been given to yet, else all.
    """
    if attempt > _ONE_BY_ONE:
        return _images(messages)
    if refused.message_id is None:
        return _images(messages[_unanswered(messages) :]) or _images(messages)
    named = [message for message in messages if message.id == refused.message_id]
    if refused.block is None:
        return _images(named)
    place = BlockPlace(refused.message_id, refused.block)
    return tuple(place for message in named if place.block < len(_blocks(message)))


def refusal_note(reason: str) -> str:
    """What stands in the place of a refused block."""
    if len(reason) > _REASON_SIZE:
        reason = f"{reason[:_REASON_SIZE]}…"
    return f"[Left out, because the provider of the model refused it: {reason}]"


def without_blocks(messages: Sequence[Message], record: CustomMessage) -> list[Message]:
    """The messages with the record's text in each place that it leaves out."""
    places, note = frozenset(record.left_out), TextBlock(text_of(record.content))
    found = {place.message_id for place in places}
    return [_without(message, places, note) if message.id in found else message for message in messages]


def _without(message: Message, places: frozenset[BlockPlace], note: TextBlock) -> Message:
    if isinstance(message, AssistantMessage):
        return message
    blocks = enumerate(message.content)
    content = tuple(note if BlockPlace(message.id, place) in places else block for place, block in blocks)
    return replace(message, content=content)


def _unanswered(messages: Sequence[Message]) -> int:
    """Where the messages begin that no finished answer follows."""
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if isinstance(message, AssistantMessage) and message.stop_reason in _FINISHED:
            return index + 1
    return 0


def _images(messages: Sequence[Message]) -> tuple[BlockPlace, ...]:
    return tuple(
        BlockPlace(message.id, place)
        for message in messages
        for place, block in enumerate(_blocks(message))
        if isinstance(block, ImageBlock)
    )


def _blocks(message: Message) -> tuple[UserBlock, ...]:
    return () if isinstance(message, AssistantMessage) else message.content
