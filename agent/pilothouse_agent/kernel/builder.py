"""An assistant message while it is being streamed."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Literal, cast

from pilothouse_agent.kernel.arguments import complete_arguments, parse_arguments
from pilothouse_agent.kernel.events import DeltaKind, MessageUpdate
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.messages import AssistantBlock, TextBlock, ThinkingBlock, ToolCall
from pilothouse_agent.kernel.request import Delta, ThinkingData, ToolArguments, ToolExtra

__all__ = ["MessageBuilder"]


class _Block:
    __slots__ = ("call_id", "data", "extra", "index", "kind", "name", "origin", "parts", "signature")

    def __init__(self, kind: DeltaKind, index: int) -> None:
        self.kind: DeltaKind = kind
        self.index = index
        self.parts: list[str] = []
        self.call_id: str | None = None
        self.name = ""
        self.signature: str | None = None
        self.data: JsonObject | None = None
        self.origin: str | None = None
        self.extra: JsonObject | None = None


class MessageBuilder:
    """Collects the deltas of one answer. Call ids are made unique at their first delta (T6)."""

    def __init__(self, message_id: str, *, taken: Container[str], new_id: Callable[[], str]) -> None:
        self.message_id = message_id
        self.visible = False
        """Whether any update came out of it (L6)."""
        self._taken = taken
        self._new_id = new_id
        self._own_ids: set[str] = set()
        self._blocks: dict[int, _Block] = {}

    @property
    def text_visible(self) -> bool:
        return any(block.kind == "text" and any(block.parts) for block in self._blocks.values())

    def add(self, delta: Delta) -> MessageUpdate | None:
        """The update to publish, or None when the delta brings nothing new. Raises TypeError for nonsense."""
        if not isinstance(cast("object", delta.text), str):
            raise TypeError(f"a delta has {type(delta.text).__name__} for its text")
        block = self._blocks.get(delta.block)
        if block is None:
            if not delta.text and delta.kind != "toolCall":
                return None
            call_id = self._final_id(delta.call_id) if delta.kind == "toolCall" else None
            block = self._open(delta.block, delta.kind)
            block.call_id = call_id
        elif not delta.text and (block.name or not delta.tool_name):
            return None
        block.parts.append(delta.text)
        self.visible = True
        if block.kind != "toolCall":
            return MessageUpdate(self.message_id, block.kind, block.index, delta.text)
        if delta.tool_name and not block.name:
            block.name = delta.tool_name
        return MessageUpdate(
            self.message_id, "toolCall", block.index, delta.text, block.call_id, block.name or None
        )

    def add_data(self, item: ThinkingData | ToolArguments | ToolExtra) -> None:
        if isinstance(item, ToolArguments):
            if item.block in self._blocks:
                self._blocks[item.block].parts = [item.text]
            return
        if isinstance(item, ToolExtra):
            if item.block in self._blocks:
                self._blocks[item.block].extra = item.extra
            return
        block = self._blocks.get(item.block) or self._open(item.block, "thinking")
        block.signature = item.signature if item.signature is not None else block.signature
        block.data = item.data if item.data is not None else block.data
        block.origin = item.origin if item.origin is not None else block.origin

    def content(self, ending: Literal["finished", "broken"]) -> tuple[AssistantBlock, ...]:
        """The blocks as they are to be stored; a broken answer keeps only finished calls (L3)."""
        built = (self._build(block, ending) for block in self._blocks.values())
        return tuple(block for block in built if block is not None)

    def _open(self, key: int, kind: DeltaKind) -> _Block:
        block = self._blocks[key] = _Block(kind, len(self._blocks))
        return block

    def _final_id(self, call_id: str | None) -> str:
        while not call_id or call_id in self._taken or call_id in self._own_ids:
            call_id = self._new_id()
        self._own_ids.add(call_id)
        return call_id

    def _build(self, block: _Block, ending: Literal["finished", "broken"]) -> AssistantBlock | None:
        text = "".join(block.parts)
        if block.kind == "text":
            return TextBlock(text) if text else None
        if block.kind == "thinking":
            return ThinkingBlock(text, block.signature, block.data, block.origin)
        assert block.call_id is not None
        if ending == "broken":
            arguments = complete_arguments(text)
            if arguments is None or not block.name:
                return None
        else:
            arguments = parse_arguments(text)
        unparsed = text if arguments is None else None
        return ToolCall(block.call_id, block.name, arguments, unparsed, block.extra)
