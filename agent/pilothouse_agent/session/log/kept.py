"""The log of one session as whoever makes the session gets it: new, or gone on with. Blocks."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.session.log.folder import LogFolder
from pilothouse_agent.session.log.log_file import LogFile
from pilothouse_agent.session.log.message_json import message_to_json
from pilothouse_agent.session.log.records import Header, Record, now
from pilothouse_agent.session.log.restore import Restored, restored
from pilothouse_agent.session.log.tree import LogTree

__all__ = ["KeptLog", "new_log", "resumed_log"]


@dataclass(frozen=True, slots=True)
class KeptLog:
    header: Header
    make: Callable[[], LogFile]
    """Called by the log's writer when there is something to write. Raises `OSError`."""
    restored: Restored = field(default_factory=Restored)
    opening: tuple[JsonObject, ...] = ()
    """What is to be written in front of anything else."""
    notes: tuple[str, ...] = ()
    """What the user is to know of it, in sentences."""
    opened: LogFile | None = None
    """Of one that is gone on with; whoever does not make a session of it closes this."""


def new_log(folder: LogFolder, session_id: str, places: Sequence[str]) -> KeptLog:
    """`places`: the folders of the session, the first of which it works in. The file is made when something
    is said in it."""
    header = Header(session_id, places[0], tuple(places), now())
    path = folder.new(places[0], session_id)
    return KeptLog(header, lambda: LogFile.create(path, header), opening=(_writer(),))


def resumed_log(folder: LogFolder, session_id: str) -> KeptLog:
    """Opens it, which holds its lock until the log is closed.

    Raises `KeyError` for a session that is not there, `SessionLocked`, `BadHeader` and `OSError`.
    """
    path = folder.find(session_id)
    if path is None:
        raise KeyError(session_id)
    with _without_collecting():
        try:
            log, tree = LogFile.open(path)
        except FileNotFoundError:
            raise KeyError(session_id) from None
        way = tree.path()
        tree.records.clear()
        state = restored(_drained(way))
    return KeptLog(tree.header, lambda: log, state, (_writer(), *_mending(state)), _notes(tree, state), log)


@contextmanager
def _without_collecting() -> Generator[None]:
    """What is made is no garbage, and looking through it time and again costs as much as making it."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _drained(records: list[Record]) -> Iterator[Record]:
    """Each is let go when it has been taken, so that a long log is not held twice."""
    records.reverse()
    while records:
        yield records.pop()


def _writer() -> JsonObject:
    """Who writes from here on, for those who find the log locked."""
    return {"type": "custom", "name": "writer", "data": {"pid": os.getpid()}}


def _mending(state: Restored) -> list[JsonObject]:
    return [
        {"type": "message", "recordId": result.id, "message": message_to_json(result)}
        for result in state.interrupted
    ]


def _notes(tree: LogTree, state: Restored) -> tuple[str, ...]:
    notes: list[str] = []
    if tree.torn:
        notes.append("The end of the session's log was torn; it is set aside in a file beside it (.torn).")
    if tree.damaged:
        lines = "line" if tree.damaged == 1 else "lines"
        notes.append(f"{tree.damaged} {lines} of the session's log cannot be read and are left out.")
    if state.interrupted:
        calls = "call" if len(state.interrupted) == 1 else "calls"
        notes.append(f"{len(state.interrupted)} {calls} did not finish when the session was last open.")
    return tuple(notes)
