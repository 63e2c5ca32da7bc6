"""What hooks are given: copies, so that nothing they do to them changes the transcript."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pilothouse_agent.kernel.json_types import copy_object
from pilothouse_agent.kernel.messages import (
    AssistantBlock,
    AssistantMessage,
    Message,
    ThinkingBlock,
    ToolCall,
)

__all__ = ["HandedOut", "copy_call"]


class HandedOut:
    """Copies of messages, taken back as the originals where they are still the same.

    Providers know a message by its identity, so one that was not changed must come back as itself.
    """

    def __init__(self, messages: Iterable[Message]) -> None:
        originals = list(messages)
        self.copies = [_copied(message) for message in originals]
        # The copies are kept, since a freed one would hand its identity to another.
        pairs = zip(self.copies, originals, strict=True)
        self._originals = {id(copy): (copy, original) for copy, original in pairs}

    def taken_back(self, message: Message) -> Message:
        _, original = self._originals.get(id(message), (message, message))
        return original if original == message else message


def copy_call(call: ToolCall) -> ToolCall:
    if call.arguments is None and call.extra is None:
        return call
    return replace(
        call,
        arguments=None if call.arguments is None else copy_object(call.arguments),
        extra=None if call.extra is None else copy_object(call.extra),
    )


def _copied(message: Message) -> Message:
    if not isinstance(message, AssistantMessage):
        return message
    content = tuple(_copied_block(block) for block in message.content)
    changed = any(copy is not block for copy, block in zip(content, message.content, strict=True))
    return replace(message, content=content) if changed else message


def _copied_block(block: AssistantBlock) -> AssistantBlock:
    if isinstance(block, ToolCall):
        return copy_call(block)
    if isinstance(block, ThinkingBlock) and block.data is not None:
        return replace(block, data=copy_object(block.data))
    return block
