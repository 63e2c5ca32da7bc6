"""A log as it is read: its records by id, and the path that leads to where the conversation stands."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from pilothouse_agent.session.log.records import BadHeader, Header, Record, object_in

__all__ = ["LogTree", "read_end", "read_log", "tree_of"]


@dataclass(slots=True)
class LogTree:
    header: Header
    records: dict[str, Record] = field(default_factory=dict[str, Record])
    """In order of the file."""
    damaged: int = 0
    """Lines in the middle that nobody can read. What hung on them hangs on what stands before them."""
    mended: set[str] = field(default_factory=set[str])
    """Records that hung on such a line."""
    torn: int = 0
    """Bytes at the end that are no whole line."""

    @property
    def head(self) -> str | None:
        """Where the next record hangs: the last one."""
        return next(reversed(self.records), None)

    def take(self, line: bytes) -> bool:
        """Add a record; False for what is none, or one that is there already."""
        value = object_in(line)
        record = None if value is None else Record.of(value)
        if record is None or record.id in self.records:
            return False
        if record.parent is not None and record.parent not in self.records:
            record = replace(record, parent=self.head)
            self.mended.add(record.id)
        self.records[record.id] = record
        return True

    def path(self, to: str | None = None) -> list[Record]:
        """The records that lead to one, by default to the head; oldest first. Raises `KeyError`."""
        way: list[Record] = []
        at = to if to is not None else self.head
        while at is not None:
            record = self.records[at]
            way.append(record)
            at = record.parent
        way.reverse()
        return way


def read_log(path: Path) -> LogTree:
    """Blocks. Raises `OSError`, and `BadHeader` for what is no log."""
    with path.open("rb") as file:
        return tree_of(file)


def tree_of(lines: Iterable[bytes]) -> LogTree:
    """`lines` with their ends, of which the last one may lack."""
    rest = iter(lines)
    first = next(rest, b"")
    if not first:
        raise BadHeader("The log is empty: its process ended before the first line was written.")
    if not first.endswith(b"\n"):
        raise BadHeader("The log has no whole line: its process ended while the first one was written.")
    tree = LogTree(Header.of(object_in(first)))
    bad = b""
    for line in rest:
        if bad:
            tree.damaged += 1
        bad = b"" if line.endswith(b"\n") and tree.take(line) else line
    # A last line that is no whole record is not damage but the end of a process.
    if bad.endswith(b"\n") and object_in(bad) is not None:
        tree.damaged += 1
    else:
        tree.torn = len(bad)
    return tree


def read_end(path: Path, size: int) -> bytes:
    """The last `size` bytes of a file. Blocks. Raises `OSError`."""
    with path.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(end - size, 0))
        return file.read()
