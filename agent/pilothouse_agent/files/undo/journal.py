"""What a session's runs did to files, kept so that it can be undone, also by a later process."""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from pilothouse_agent.files.undo.journal_lines import Entry, Line, LineReader, LineWriter

__all__ = ["ChangeJournal", "Entry", "RunChanges"]

logger = logging.getLogger(__name__)

_LIMIT = 64 * 1024 * 1024
_JOURNALS = 200


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
        self._writer = LineWriter()
        self._size = 0
        """Bytes that the file had after our last line."""

    @property
    def exists(self) -> bool:
        return self._path.is_file()

    def append(self, entry: Entry) -> None:
        """Safe from an end of the process when it returns, and as safe as the change from one of the
        machine: what only the editor holds would be lost with it. Raises `OSError`."""
        with self._lock:
            self._make_room()
            data = _encoded(self._writer.line(entry))
            if self._size + len(data) > self._limit:
                self._shorten(len(data))
                data = _encoded(self._writer.line(entry))
            try:
                self._write(data, sync=entry.change.via == "disk")
            except OSError:
                self._writer.forget()
                raise

    def mark_undone(self, run_id: str) -> None:
        """From now on it is not the last run any more. Raises `OSError`."""
        with self._lock:
            self._make_room()
            self._write(_encoded({"undone": run_id}), sync=True)

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
        reader = LineReader()
        read = [(line["run"], reader.entry(line)) for line in lines if "run" in line]
        own = [entry for run, entry in read if run == run_id]
        entries = tuple(entry for entry in own if entry is not None)
        dropped = any(line.get("dropped") == run_id for line in lines)
        if not own and not dropped:
            return None
        return RunChanges(run_id, entries, complete=not dropped and len(entries) == len(own))

    def _make_room(self) -> None:
        """A place for the file; and lines that count on others only where these are the last."""
        try:
            size = self._path.stat().st_size
        except FileNotFoundError:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._let_go_of_old_files()
            size = 0
        if size != self._size:
            self._writer.forget()
            self._size = size

    def _write(self, data: bytes, *, sync: bool) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        with open(os.open(self._path, flags, 0o600), "rb+", buffering=0) as file:
            end = file.seek(0, os.SEEK_END)
            if end and os.pread(file.fileno(), 1, end - 1) != b"\n":
                # A process was ended in the middle of its line; ours must not become a part of it.
                data = b"\n" + data
            view = memoryview(data)
            while view:
                view = view[file.write(view) :]
            if sync:
                os.fsync(file.fileno())
            self._size = file.tell()

    def _lines(self) -> list[Line]:
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return []
        return [line for raw in data.split(b"\n") if (line := _decoded(raw)) is not None]

    def _shorten(self, coming: int) -> None:
        """Let old changes go, whole runs first, until half of the room is free."""
        lines = self._lines()
        room = max(self._limit // 2 - coming, 0)
        while True:
            writer = LineWriter()
            kept = _kept(lines, room, writer)
            # What is left holds whole texts for those it counted on, which may be more than there was.
            if room == 0 or sum(map(len, kept)) + coming <= self._limit:
                break
            room //= 2
        self._replace(kept)
        self._writer = writer

    def _replace(self, lines: Iterable[bytes]) -> None:
        new = self._path.with_suffix(".new")
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())
            size = file.tell()
        new.replace(self._path)
        self._size = size

    def _let_go_of_old_files(self) -> None:
        found = sorted(self._path.parent.glob("*.jsonl"), key=lambda path: path.stat().st_mtime)
        for path in found[: max(len(found) + 1 - self._journals, 0)]:
            path.unlink(missing_ok=True)


def _kept(lines: Sequence[Line], room: int, writer: LineWriter) -> list[bytes]:
    """The newest lines that took no more than `room` bytes, without the runs that are cut by that; of
    the last run what there is, with a mark. Written anew."""
    first = len(lines)
    while first and (size := len(_encoded(lines[first - 1]))) <= room:
        first -= 1
        room -= size
    cut = {line.get("run", line.get("dropped")) for line in lines[:first]}
    last = next((line["run"] for line in reversed(lines) if "run" in line), None)
    kept = [_encoded({"dropped": last})] if last in cut else []
    reader = LineReader()
    for number, line in enumerate(lines):
        entry = reader.entry(line) if "run" in line else None
        if number >= first and line.get("run") not in cut - {last}:
            kept.append(_encoded(line if entry is None else writer.line(entry)))
    return kept


def _encoded(line: Line) -> bytes:
    # Escaped to ASCII, which can hold half characters too, as texts of editors and file names may.
    return json.dumps(line, separators=(",", ":")).encode("ascii") + b"\n"


def _decoded(raw: bytes) -> Line | None:
    if not raw:
        return None
    try:
        line: object = json.loads(raw)
    except ValueError:
        logger.warning("A line of the change journal is damaged; it is left out")
        return None
    return cast("Line", line) if isinstance(line, dict) else None
