"""Keeping tool output within what a model is sent (kernel.md T10)."""

from __future__ import annotations

from pilothouse_agent.kernel.text_limits import MAX_BYTES, MAX_LINES, Cut, head_of, sendable, tail_of

__all__ = ["MAX_BYTES", "MAX_LINES", "Cut", "cut_text", "head_of", "sendable", "tail_of"]


def cut_text(text: str, *, notice: str, lines: int = MAX_LINES, size: int = MAX_BYTES) -> str:
    """`text`, or its head followed by `notice` (how to get the rest) on a line of its own."""
    cut = head_of(text, lines=lines, size=size)
    if cut.complete:
        return text
    return f"{cut.text}{'' if cut.text.endswith(chr(10)) else chr(10)}{notice}"
