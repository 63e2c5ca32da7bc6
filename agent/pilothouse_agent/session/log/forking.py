"""A new log with the conversation of another one up to some place, whole in itself (J9). Blocks."""

from __future__ import annotations

from collections.abc import Sequence

from pilothouse_agent.session.log.folder import LogFolder
from pilothouse_agent.session.log.log_file import LogFile
from pilothouse_agent.session.log.records import Header, Parent, Record, line_of, now
from pilothouse_agent.session.log.tree import LogTree

__all__ = ["fork", "path_before"]


def fork(folder: LogFolder, tree: LogTree, session_id: str, *, to: str | None = None) -> None:
    """Write it under a new id; `to`: the last record that it has, by default the head.

    Raises `OSError`, and `KeyError` for a record that is not there.
    """
    path = tree.path(to)
    source = tree.header
    header = Header(
        session_id,
        source.cwd,
        source.folders,
        now(),
        Parent(source.session_id, path[-1].id if path else None),
    )
    log = LogFile.create(folder.new(source.cwd, session_id), header)
    try:
        log.append(b"".join(line_of(record.to_json()) for record in path), sync=True)
    finally:
        log.close()


def path_before(path: Sequence[Record], message_id: str) -> list[Record]:
    """What stands before a message. Raises `KeyError` where the conversation does not have it."""
    for place, record in enumerate(path):
        if record.type == "message" and record.id == message_id:
            return list(path[:place])
    raise KeyError(message_id)
