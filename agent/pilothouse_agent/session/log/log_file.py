"""The file of a log: appended to by one process at a time, never rewritten in place. All of it blocks."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path

from pilothouse_agent.session.log.records import BadHeader, Header, line_of, object_in
from pilothouse_agent.session.log.tree import LogTree, read_end, read_log

__all__ = ["LogFile", "SessionLocked", "delete_log", "is_locked"]

_TAIL = 64 * 1024
_WAIT = 0.2
"""Seconds for somebody who only looks whether the log is locked."""


class SessionLocked(Exception):
    """Another process, or another session of this one, writes the log."""

    def __init__(self, holder: str) -> None:
        """`holder`: who it is, as far as the log says."""
        super().__init__(f"The session is open in another process ({holder}); close it there, or fork it.")
        self.holder = holder


class LogFile:
    """Holds the lock until it is closed; the lock ends with the process in any case."""

    def __init__(self, path: Path, descriptor: int, size: int) -> None:
        self.path = path
        self._descriptor = descriptor
        self._size = size
        """Bytes that are whole lines of ours."""

    @staticmethod
    def create(path: Path, header: Header) -> LogFile:
        """Raises `OSError`, also where the file is there."""
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            _take_lock(descriptor)
            log = LogFile(path, descriptor, 0)
            log.append(line_of(header.to_json()))
        except BaseException:
            os.close(descriptor)
            path.unlink(missing_ok=True)
            raise
        return log

    @staticmethod
    def open(path: Path) -> tuple[LogFile, LogTree]:
        """To go on with it, and what stands in it; a torn end is set aside.

        Raises `SessionLocked`, `BadHeader` and `OSError`.
        """
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
        try:
            _lock(descriptor, path)
            tree = read_log(path)
            if tree.header.newer:
                version = tree.header.version
                raise BadHeader(
                    f"The log was written by a newer release (version {version}); it can be read and forked, "
                    "not continued. Update pilothouse to go on with it."
                )
            size = os.fstat(descriptor).st_size
            whole = size - tree.torn
            if tree.torn:
                _set_aside(path, os.pread(descriptor, tree.torn, whole))
                os.ftruncate(descriptor, whole)
        except BaseException:
            os.close(descriptor)
            raise
        return LogFile(path, descriptor, whole), tree

    def append(self, lines: bytes, *, sync: bool = False) -> None:
        """All of it or nothing. Where the folder was taken away, it and all that stood in the file are made
        again first; a file that somebody has put in its place is never touched. Raises `OSError`."""
        self._stand()
        try:
            view = memoryview(lines)
            while view:
                view = view[os.write(self._descriptor, view) :]
        except OSError:
            os.ftruncate(self._descriptor, self._size)
            raise
        self._size += len(lines)
        if sync:
            self.sync()

    def sync(self) -> None:
        """See to it that what was appended outlives the machine. Raises `OSError`."""
        os.fsync(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)

    def _stand(self) -> None:
        """See to it that what we write to is what has the name."""
        try:
            there = self.path.stat()
        except FileNotFoundError:
            there = None
        own = os.fstat(self._descriptor)
        if there is not None and (there.st_dev, there.st_ino) == (own.st_dev, own.st_ino):
            return
        if there is not None:
            raise FileExistsError(errno.EEXIST, "another file has taken the place of the log", str(self.path))
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        new = os.open(self.path, flags, 0o600)
        try:
            _take_lock(new)
            _copy(self._descriptor, new, self._size)
        except BaseException:
            os.close(new)
            self.path.unlink(missing_ok=True)
            raise
        os.close(self._descriptor)
        self._descriptor = new


def is_locked(path: Path) -> bool:
    """Whether somebody writes the log now. Raises `OSError`."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _take_lock(descriptor, shared=True)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def delete_log(path: Path | None, *others: Path | None) -> None:
    """Delete a log that nobody writes, what was torn off it, and `others`. What is not there is gone already.

    Raises `SessionLocked` and `OSError`.
    """
    if path is not None and path.exists() and is_locked(path):
        raise SessionLocked(_holder(path))
    for each in (path, path and path.with_name(f"{path.name}.torn"), *others):
        if each is not None:
            each.unlink(missing_ok=True)


def _take_lock(descriptor: int, *, shared: bool = False) -> None:
    """Of the open file, so that it ends with the process. Raises `BlockingIOError` where somebody has it."""
    import fcntl

    fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)


def _lock(descriptor: int, path: Path) -> None:
    until = time.monotonic() + _WAIT
    while True:
        try:
            _take_lock(descriptor)
        except BlockingIOError:
            if time.monotonic() > until:
                raise SessionLocked(_holder(path)) from None
            time.sleep(0.01)
        else:
            return


def _holder(path: Path) -> str:
    """The last one that noted itself as the log's writer."""
    lines = read_end(path, _TAIL).split(b"\n")
    for source in (lines, path.read_bytes().split(b"\n")):
        for line in reversed(source):
            match object_in(line):
                case {"type": "custom", "name": "writer", "data": {"pid": int(pid)}}:
                    return f"process {pid}"
                case _:
                    continue
    return "which one is not known"


def _set_aside(path: Path, torn: bytes) -> None:
    descriptor = os.open(
        path.with_name(f"{path.name}.torn"), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600
    )
    with open(descriptor, "wb") as file:
        file.write(torn + b"\n")


def _copy(source: int, target: int, size: int) -> None:
    place = 0
    while place < size and (data := os.pread(source, min(1 << 20, size - place), place)):
        view = memoryview(data)
        while view:
            view = view[os.write(target, view) :]
        place += len(data)
