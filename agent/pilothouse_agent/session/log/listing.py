"""A list of sessions out of the beginning and the end of each log (J10). Blocks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from heapq import nlargest
from pathlib import Path

from pilothouse_agent.kernel.json_types import JsonObject, JsonValue
from pilothouse_agent.kernel.messages import Usage, UserMessage, text_of
from pilothouse_agent.session.log.folder import LogFolder
from pilothouse_agent.session.log.log_file import is_locked
from pilothouse_agent.session.log.message_json import message_of, usage_of
from pilothouse_agent.session.log.records import BadHeader, Header, object_in
from pilothouse_agent.session.log.scribe import title_of

__all__ = ["Listed", "Page", "list_sessions", "listed"]

_BEGINNING = 4 * 1024
_MORE = 256 * 1024
"""Bytes of the beginning for a first prompt that a session without a finished run has."""
_END = 8 * 1024
_LONG_END = 256 * 1024


@dataclass(frozen=True, slots=True)
class Listed:
    path: Path
    session_id: str
    cwd: str
    title: str
    prompt: str
    """The beginning of the first one."""
    created: str
    updated: str
    """ISO 8601, UTC."""
    model: str | None
    messages: int
    usage: Usage | None
    hidden: bool
    """It belongs to a task of another session."""

    @property
    def locked(self) -> bool:
        """Some process writes it now. Looks at the disk."""
        try:
            return is_locked(self.path)
        except OSError:
            return False


@dataclass(frozen=True, slots=True)
class Page:
    sessions: tuple[Listed, ...]
    cursor: str | None
    """Where the next page begins; None behind the last one."""


def list_sessions(
    folder: LogFolder, *, cwd: str | None = None, query: str = "", limit: int = 50, cursor: str | None = None
) -> Page:
    """Newest first. `query` is looked for in titles and first prompts, whatever its case.

    Raises ValueError for a cursor that is none of ours.
    """
    before = _position(cursor)
    keyed = ((stat.st_mtime_ns, path.name, path) for path, stat in folder.logs(cwd))
    left = [entry for entry in keyed if before is None or entry[:2] < before]
    found: list[Listed] = []
    wanted = query.casefold()
    last: str | None = None
    for changed, name, path in _newest(left, limit):
        entry = listed(path, changed)
        if entry is None or entry.hidden or not _fits(entry, wanted):
            continue
        if len(found) == limit:
            return Page(tuple(found), last)
        found.append(entry)
        last = f"{changed}-{name}"
    return Page(tuple(found), None)


def listed(path: Path, changed_ns: int) -> Listed | None:
    """None for what is no log."""
    try:
        with path.open("rb") as file:
            beginning = file.read(_BEGINNING)
            size = os.fstat(file.fileno()).st_size
            header = Header.of(object_in(beginning.split(b"\n", 1)[0]))
            summary = _summary_in(_end(file.fileno(), size, _END))
            if summary is None and size > _END:
                summary = _summary_in(_end(file.fileno(), size, _LONG_END))
            if summary is None:
                summary = _first_words(os.pread(file.fileno(), _MORE, 0))
    except (OSError, BadHeader):
        return None
    return _of(path, header, summary, changed_ns)


def _end(descriptor: int, size: int, most: int) -> bytes:
    return os.pread(descriptor, most, max(size - most, 0))


def _of(path: Path, header: Header, summary: JsonObject, changed_ns: int) -> Listed:
    changed = datetime.fromtimestamp(changed_ns / 1e9, UTC).isoformat(timespec="milliseconds")
    messages, model = summary.get("messages"), summary.get("model")
    return Listed(
        path,
        header.session_id,
        header.cwd,
        str(summary.get("title") or ""),
        str(summary.get("prompt") or ""),
        header.created,
        changed.removesuffix("+00:00") + "Z",
        model if isinstance(model, str) else None,
        messages if isinstance(messages, int) else 0,
        usage_of(summary.get("usage")),
        hidden=header.parent is not None and header.parent.task,
    )


def _summary_in(data: bytes) -> JsonObject | None:
    """The last one that an end of a run left, with a title that is newer than it."""
    title: JsonValue = None
    for line in reversed(data.split(b"\n")):
        # Most lines are messages, which need not be read.
        if b'"type":"title"' in line and title is None:
            title = (object_in(line) or {}).get("title")
        elif b'"summary":{' in line and b'"type":"run"' in line:
            summary = (object_in(line) or {}).get("summary")
            if isinstance(summary, dict):
                return summary if title is None else {**summary, "title": title}
    return None


def _first_words(data: bytes) -> JsonObject:
    """What the beginning of a log tells of a session none of whose runs has ended."""
    summary: JsonObject = {}
    count = 0
    for line in data.split(b"\n"):
        match object_in(line):
            case {"type": "message", "message": value}:
                count += 1
                message = message_of(value)
                if isinstance(message, UserMessage) and "prompt" not in summary:
                    words = text_of(message.content)
                    summary |= {"prompt": words[:200], "title": title_of(words)}
            case {"type": "model", "model": str(model)}:
                summary["model"] = model
            case {"type": "title", "title": str(title)}:
                summary["title"] = title
            case _:
                continue
    return {**summary, "messages": count}


def _newest(entries: list[tuple[int, str, Path]], limit: int) -> Iterator[tuple[int, str, Path]]:
    """In order, without sorting all of them where few are wanted."""
    first = nlargest(limit + 1, entries)
    yield from first
    if len(first) < len(entries):
        yield from sorted(entries, reverse=True)[len(first) :]


def _fits(entry: Listed, wanted: str) -> bool:
    return wanted in entry.title.casefold() or wanted in entry.prompt.casefold()


def _position(cursor: str | None) -> tuple[int, str] | None:
    if cursor is None:
        return None
    changed, _, name = cursor.partition("-")
    if not changed.isdecimal() or not name:
        raise ValueError("the cursor is not one that a list of sessions gave")
    return int(changed), name
