"""What a session's runs did to files, kept so that it can be undone, also by a later process."""

from __future__ import annotations

import base64
import json
import logging
import os
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, cast

from pilothouse_agent.files.recorder import Remains
from pilothouse_agent.kernel.ports import FileChange

__all__ = ["ChangeJournal", "Entry", "RunChanges"]

logger = logging.getLogger(__name__)

_LIMIT = 64 * 1024 * 1024
_JOURNALS = 200


@dataclass(frozen=True, slots=True)
class Entry:
    """One change of one file."""

    run_id: str
    call_id: str
    change: FileChange
    remains: Remains | None = None


@dataclass(frozen=True, slots=True)
class RunChanges:
    run_id: str
    entries: tuple[Entry, ...]
    """Oldest first."""
    complete: bool = True
    """Nothing of it was let go for lack of room, and nothing was unreadable."""


class ChangeJournal:
    """One file of JSON Lines a session, written only at a change. Blocks: call in a thread."""

    def __init__(self, path: Path, *, limit: int = _LIMIT, journals: int = _JOURNALS) -> None:
        """`limit` is in bytes: above it old runs are let go. So are old files of the folder above
        `journals`."""
        self._path = path
        self._limit = limit
        self._journals = journals
        self._lock = threading.Lock()

    @property
    def exists(self) -> bool:
        return self._path.is_file()

    def append(self, entry: Entry) -> None:
        """Safe on disk when it returns. Raises `OSError`."""
        self._put(_line(entry))

    def mark_undone(self, run_id: str) -> None:
        """From now on it is not the last run any more. Raises `OSError`."""
        self._put({"undone": run_id})

    def run(self, run_id: str | None = None) -> RunChanges | None:
        """The changes of a run; without an id those of the last one that is not undone. None: nothing."""
        with self._lock:
            lines = self._lines()
        undone = {line.get("undone") for line in lines}
        if run_id is None:
            left = [line["run"] for line in lines if "run" in line and line["run"] not in undone]
            if not left:
                return None
            run_id = cast("str", left[-1])
        own = [line for line in lines if line.get("run") == run_id]
        entries = [entry for line in own if (entry := _entry(line)) is not None]
        dropped = any(line.get("dropped") == run_id for line in lines)
        if not own and not dropped:
            return None
        return RunChanges(run_id, tuple(entries), complete=not dropped and len(entries) == len(own))

    def _put(self, line: dict[str, Any]) -> None:
        data = _encoded(line)
        with self._lock:
            if not self._path.exists():
                self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._let_go_of_old_files()
            elif self._path.stat().st_size + len(data) > self._limit:
                self._shorten(len(data))
            self._write(data)

    def _write(self, data: bytes) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        with open(os.open(self._path, flags, 0o600), "rb+", buffering=0) as file:
            end = file.seek(0, os.SEEK_END)
            if end and os.pread(file.fileno(), 1, end - 1) != b"\n":
                # A process was ended in the middle of its line; ours must not become a part of it.
                data = b"\n" + data
            view = memoryview(data)
            while view:
                view = view[file.write(view) :]
            os.fsync(file.fileno())

    def _lines(self) -> list[dict[str, Any]]:
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return []
        return [line for raw in data.split(b"\n") if (line := _decoded(raw)) is not None]

    def _shorten(self, coming: int) -> None:
        """Let old changes go, whole runs first, until half of the room is free."""
        lines = self._lines()
        sizes = [len(_encoded(line)) for line in lines]
        room = max(self._limit // 2 - coming, 0)
        first = len(lines)
        while first and sizes[first - 1] <= room:
            first -= 1
            room -= sizes[first]
        cut = {line["run"] for line in lines[:first] if "run" in line}
        last = next((line["run"] for line in reversed(lines) if "run" in line), None)
        kept = [line for line in lines[first:] if line.get("run") not in cut - {last}]
        marks = [{"dropped": last}] if last in cut else []
        self._replace([*marks, *kept])

    def _replace(self, lines: Iterable[dict[str, Any]]) -> None:
        new = self._path.with_suffix(".new")
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.writelines(map(_encoded, lines))
            file.flush()
            os.fsync(file.fileno())
        new.replace(self._path)

    def _let_go_of_old_files(self) -> None:
        found = sorted(self._path.parent.glob("*.jsonl"), key=lambda path: path.stat().st_mtime)
        for path in found[: max(len(found) + 1 - self._journals, 0)]:
            path.unlink(missing_ok=True)


def _line(entry: Entry) -> dict[str, Any]:
    change, remains = entry.change, entry.remains
    fields: dict[str, Any] = {
        "run": entry.run_id,
        "call": entry.call_id,
        "kind": change.kind,
        "via": change.via,
        "path": change.path,
        "source": change.source,
        "before": change.before,
        "after": change.after,
        "beforeHash": _hash(change.before),
        "afterHash": _hash(change.after),
    }
    if remains is not None:
        fields["data"] = base64.b64encode(remains.data).decode("ascii")
        fields["mode"] = remains.mode
    return {name: value for name, value in fields.items() if value is not None}


def _entry(line: dict[str, Any]) -> Entry | None:
    """None when it was damaged."""
    try:
        before, after = line.get("before"), line.get("after")
        if (_hash(before), _hash(after)) != (line.get("beforeHash"), line.get("afterHash")):
            return None
        change = FileChange(line["path"], line["kind"], line["via"], before, after, line.get("source"))
        data = line.get("data")
        remains = None if data is None else Remains(base64.b64decode(data), line["mode"])
        return Entry(line["run"], line["call"], change, remains)
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _encoded(line: dict[str, Any]) -> bytes:
    # Escaped to ASCII, which can hold half characters too, as texts of editors and file names may.
    return json.dumps(line, separators=(",", ":")).encode("ascii") + b"\n"


def _decoded(raw: bytes) -> dict[str, Any] | None:
    if not raw:
        return None
    try:
        line: object = json.loads(raw)
    except ValueError:
        logger.warning("A line of the change journal is damaged; it is left out")
        return None
    return cast("dict[str, Any]", line) if isinstance(line, dict) else None


def _hash(text: str | None) -> str | None:
    if text is None:
        return None
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
