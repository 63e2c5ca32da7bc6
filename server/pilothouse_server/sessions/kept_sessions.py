"""The logs of sessions, as requests ask for them: what goes wrong becomes a fault. All of it blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pilothouse_agent.kernel.parts import random_id
from pilothouse_agent.session.log import export, forking
from pilothouse_agent.session.log.folder import LogFolder
from pilothouse_agent.session.log.kept import KeptLog, new_log, resumed_log
from pilothouse_agent.session.log.listing import Page, list_sessions
from pilothouse_agent.session.log.log_file import LogFile, SessionLocked, delete_log
from pilothouse_agent.session.log.records import BadHeader, Record, line_of, now
from pilothouse_agent.session.log.tree import LogTree, read_log
from pilothouse_agent.settings.places import changes_file, sessions_folder
from pilothouse_server.protocol import models as protocol
from pilothouse_server.protocol.faults import fault, invalid
from pilothouse_server.transport.rpc import RequestFault
from pilothouse_server.wire.faults import REQUEST_FAILED

__all__ = ["KeptSessions"]


class KeptSessions:
    """All methods raise faults: `unknownSession`, `sessionLocked`, and for a disk that refuses."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    @property
    def folder(self) -> LogFolder:
        return LogFolder(sessions_folder(self._environment))

    def new(self, session_id: str, places: Sequence[str]) -> KeptLog:
        return new_log(self.folder, session_id, places)

    def resume(self, session_id: str) -> KeptLog:
        """It is locked until its log is closed."""
        try:
            return resumed_log(self.folder, session_id)
        except KeyError:
            raise _unknown(session_id) from None
        except (SessionLocked, BadHeader, OSError) as error:
            raise _refused(error) from None

    def page(self, *, cwd: str | None, query: str, limit: int, cursor: str | None) -> Page:
        try:
            return list_sessions(self.folder, cwd=cwd, query=query, limit=limit, cursor=cursor)
        except ValueError as error:
            raise invalid("cursor", str(error)) from None

    def fork(self, session_id: str, new_id: str, message_id: str | None) -> None:
        tree = self.read(session_id)
        try:
            forking.fork(self.folder, tree, new_id, to=message_id)
        except KeyError:
            raise invalid("messageId", f"the session has no message {message_id!r}") from None
        except OSError as error:
            raise _refused(error) from None

    def rename(self, session_id: str, title: str) -> None:
        """One that is not open in this process."""
        try:
            log, tree = LogFile.open(self._path(session_id))
        except FileNotFoundError:
            raise _unknown(session_id) from None
        except (SessionLocked, BadHeader, OSError) as error:
            raise _refused(error) from None
        try:
            record = Record(random_id("entry"), tree.head, now(), "title", {"title": title})
            log.append(line_of(record.to_json()), sync=True)
        except OSError as error:
            raise _refused(error) from None
        finally:
            log.close()

    def delete(self, session_id: str) -> None:
        """With its journal of changes; one that is not there is deleted already."""
        try:
            delete_log(self.folder.find(session_id), self._changes(session_id))
        except (SessionLocked, OSError) as error:
            raise _refused(error) from None

    def export(self, session_id: str, form: str) -> str:
        tree = self.read(session_id)
        write = export.as_markdown if form == "markdown" else export.as_json
        return write(tree.header, tree.path())

    def read(self, session_id: str) -> LogTree:
        """As it is on disk now, whoever writes it."""
        try:
            return read_log(self._path(session_id))
        except FileNotFoundError:
            raise _unknown(session_id) from None
        except (BadHeader, OSError) as error:
            raise _refused(error) from None

    def _path(self, session_id: str) -> Path:
        path = self.folder.find(session_id)
        if path is None:
            raise _unknown(session_id)
        return path

    def _changes(self, session_id: str) -> Path | None:
        try:
            return changes_file(self._environment, session_id)
        except ValueError:
            return None


def _unknown(session_id: str) -> RequestFault:
    return fault(
        protocol.UNKNOWN_SESSION, f"There is no session {session_id!r}; session/list has those there are."
    )


def _refused(error: Exception) -> RequestFault:
    if isinstance(error, SessionLocked):
        return fault(protocol.SESSION_LOCKED, str(error))
    text = f"The log of the session cannot be used: {getattr(error, 'strerror', None) or error}"
    return RequestFault(REQUEST_FAILED, text)
