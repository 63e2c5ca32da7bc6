"""How a call ended, whatever became of it, and the texts the model is told: the one place that makes them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from types import UnionType
from typing import cast

from pilothouse_agent.kernel.events import FileChanged, Location, Outcome, TodoUpdate
from pilothouse_agent.kernel.json_types import is_json
from pilothouse_agent.kernel.messages import TextBlock, UserBlock
from pilothouse_agent.kernel.text_limits import MAX_BYTES, MAX_LINES, head_of, sendable
from pilothouse_agent.kernel.tooling import Effect, ToolResult

__all__ = ["CallEnd", "aborted", "blocked", "denied", "failed", "finished", "refused"]

_NOTE_LINES = 60
_NOTE_BYTES = 6_000
"""What a tool that keeps to the limits may add to say so."""


@dataclass(frozen=True, slots=True)
class CallEnd:
    outcome: Outcome
    result: ToolResult

    def with_notice(self, notice: str) -> CallEnd:
        content: tuple[UserBlock, ...] = (*self.result.content, TextBlock(notice))
        return CallEnd(self.outcome, ToolResult(content, self.result.is_error))

    def within(self, *, lines: int = MAX_LINES, size: int = MAX_BYTES) -> CallEnd:
        """As it may be told: its texts together within both limits, `size` in bytes of UTF-8 (T10)."""
        texts = [block.text for block in self.result.content if isinstance(block, TextBlock)]
        if _fits(texts, lines + _NOTE_LINES, size + _NOTE_BYTES):
            return self
        content = tuple(_cut(self.result.content, lines, size))
        return replace(self, result=replace(self.result, content=content))


def finished(result: object) -> CallEnd:
    """What a body gave, made sendable; an error when it is no result at all."""
    if not isinstance(result, ToolResult) or not _is_content(result.content) or not _is_told(result):
        return failed("The tool gave no result. This is a fault of the tool, not of the call.")
    content = tuple(_sendable(block) for block in result.content)
    return CallEnd("error" if result.is_error else "ok", replace(result, content=content))


def failed(text: str, effects: tuple[Effect, ...] = ()) -> CallEnd:
    return _error("error", text, effects)


def blocked(reason: str) -> CallEnd:
    return _error("blocked", f"Blocked: {reason}")


def refused(reason: str) -> CallEnd:
    """With a reason that says by whom."""
    return _error("denied", reason)


def denied(reason: str | None) -> CallEnd:
    """By the answer to a question."""
    return _error("denied", f"Denied: {reason}" if reason else "Denied by the user.")


def aborted(text: str = "Aborted: the call did not run.", effects: tuple[Effect, ...] = ()) -> CallEnd:
    return _error("aborted", text, effects)


def _error(outcome: Outcome, text: str, effects: tuple[Effect, ...] = ()) -> CallEnd:
    return CallEnd(outcome, ToolResult((TextBlock(sendable(text)),), is_error=True, effects=effects))


def _is_content(content: object) -> bool:
    if not isinstance(content, tuple):
        return False
    blocks = cast("tuple[object, ...]", content)
    return all(isinstance(block, UserBlock) and _is_whole(block) for block in blocks)


def _is_told(result: ToolResult) -> bool:
    """Whether what is told beside the content is what events can carry."""
    details, locations, effects = _beside_content(result)
    return (
        (details is None or (isinstance(details, dict) and is_json(cast("object", details))))
        and _all_are(locations, Location)
        and _all_are(effects, FileChanged | TodoUpdate)
    )


def _beside_content(result: ToolResult) -> tuple[object, object, object]:
    return result.details, result.locations, result.effects


def _all_are(values: object, kind: type | UnionType) -> bool:
    if not isinstance(values, tuple):
        return False
    return all(isinstance(value, kind) for value in cast("tuple[object, ...]", values))


def _is_whole(block: UserBlock) -> bool:
    return not isinstance(block, TextBlock) or isinstance(cast("object", block.text), str)


def _sendable(block: UserBlock) -> UserBlock:
    if not isinstance(block, TextBlock) or block.text.isascii():
        return block
    text = sendable(block.text)
    return block if text == block.text else TextBlock(text)


def _fits(texts: Iterable[str], lines: int, size: int) -> bool:
    texts = list(texts)
    if sum(map(len, texts)) * 4 > size and sum(len(text.encode()) for text in texts) > size:
        return False
    return sum(text.count("\n") for text in texts) <= lines


def _cut(content: Iterable[UserBlock], lines: int, size: int) -> Iterable[UserBlock]:
    """The texts' head, with a notice where it ends; what is not text stays."""
    left_lines, left_size, left_out = lines, size, 0
    for block in content:
        if not isinstance(block, TextBlock):
            yield block
            continue
        cut = head_of(block.text, lines=left_lines, size=left_size)
        left_lines, left_size = left_lines - cut.lines, left_size - len(cut.text.encode())
        if cut.text:
            yield TextBlock(cut.text)
        if not cut.complete:
            left_lines = left_size = 0
            left_out += len(block.text.encode()) - len(cut.text.encode())
    text = f"[Cut at {lines} lines or {size} bytes; {left_out} bytes are left out. Ask for less at a time.]"
    yield TextBlock(f"\n{text}")
