"""What clients are shown of long things: enough to see what it is about, never many times its size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from pilothouse_agent.kernel.tooling import FileDiff, Hunk
from pilothouse_server.wire.codec import encode
from pilothouse_server.wire.json_object import Json

__all__ = ["TEXT_ROOM", "brief", "shortened_arguments", "shortened_diffs", "shortened_text"]


TEXT_ROOM = 16 * 1024
"""Bytes of JSON for the arguments of a call; characters for a text of its own."""
_DIFF_ROOM = 32 * 1024
"""Characters for the hunks of a question, and as many for its old and new texts together."""
_MARK = "…"


def brief(text: str, room: int = 1000) -> str:
    """A title or the scope of an option."""
    return text if len(text) <= room else text[: room - 1] + _MARK


def shortened_text(text: str) -> tuple[str, bool]:
    """The text up to the last line that fits, and whether something was cut."""
    if len(text) <= TEXT_ROOM:
        return text, False
    end = text.rfind("\n", 0, TEXT_ROOM) + 1 or TEXT_ROOM
    return text[:end] + _MARK, True


def shortened_arguments(arguments: Json) -> tuple[dict[str, Any], bool]:
    """The same object with long texts and lists cut, and whether something was."""
    if len(encode(arguments)) <= TEXT_ROOM:
        return dict(arguments), False
    length, count = TEXT_ROOM // 2, 256
    while True:
        cut = _cut(arguments, length, count)
        if len(encode(cut)) <= TEXT_ROOM or length == count == 1:
            return cut, True
        length, count = max(1, length // 2), max(1, count // 2)


def shortened_diffs(diffs: Sequence[FileDiff]) -> tuple[list[FileDiff], bool]:
    """The first hunks, and the beginnings of long texts; and whether something was cut."""
    texts = [text for diff in diffs for text in (diff.old_text, diff.new_text) if text is not None]
    share = _DIFF_ROOM // max(1, len(texts)) if sum(map(len, texts)) > _DIFF_ROOM else None
    room = _DIFF_ROOM
    shown: list[FileDiff] = []
    for diff in diffs:
        hunks = list(_first_hunks(diff.hunks, room))
        room -= sum(len(line) for hunk in hunks for line in hunk.lines)
        shown.append(
            replace(
                diff,
                old_text=_beginning(diff.old_text, share),
                new_text=_beginning(diff.new_text, share),
                hunks=tuple(hunks),
            )
        )
    return shown, shown != list(diffs)


def _cut(value: Any, length: int, count: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= length else value[:length] + _MARK
    if isinstance(value, list):
        return [_cut(item, length, count) for item in cast("list[Any]", value)[:count]]
    if isinstance(value, Mapping):
        fields = list(cast("Json", value).items())[:count]
        return {_cut(name, length, count): _cut(item, length, count) for name, item in fields}
    return value


def _first_hunks(hunks: Sequence[Hunk], room: int) -> Iterator[Hunk]:
    """Whole lines, as many as there is room for; of a line that is too long, its beginning."""
    for hunk in hunks:
        if room <= 0:
            return
        lines: list[str] = []
        for line in hunk.lines:
            if room <= 0:
                break
            lines.append(line if len(line) <= room else line[:room] + _MARK)
            room -= len(line)
        yield hunk if len(lines) == len(hunk.lines) and room >= 0 else replace(hunk, lines=tuple(lines))


def _beginning(text: str | None, room: int | None) -> str | None:
    return text if text is None or room is None or len(text) <= room else text[:room] + _MARK
