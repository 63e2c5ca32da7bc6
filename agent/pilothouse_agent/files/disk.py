"""Files on disk as bytes: read with care, changed as a whole or not at all. Blocks: call in a thread."""

from __future__ import annotations

import errno
import os
import stat
import threading
from dataclasses import dataclass

from pilothouse_agent.files.draft import ANONYMOUS, open_draft, sweep
from pilothouse_agent.kernel.tooling import ToolError

__all__ = ["MAX_SIZE", "Abandoned", "Disk", "Gate", "Loaded", "Overtaken", "Unreadable"]

MAX_SIZE = 16 * 1024 * 1024
"""Bytes; a larger file is not opened as text."""


class Overtaken(Exception):
    """The file is not the one that was loaded any more."""


class Abandoned(Exception):
    """Whoever waited for this change has given it up; it was not made."""


class Unreadable(ToolError):
    """A device, a pipe, a socket, or far too large."""


class Gate:
    """Passed by only one: the thread just before it makes its change, or the one who stops waiting.

    Keeps a write that was given up for lost from being made over newer ones.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def pass_or_abandon(self) -> None:
        if not self.close():
            raise Abandoned

    def close(self) -> bool:
        """Whether nobody has passed; from now on nobody does."""
        return self._lock.acquire(blocking=False)


@dataclass(frozen=True, slots=True)
class Loaded:
    data: bytes
    status: os.stat_result


class Disk:
    """All raise `OSError`; paths are absolute and real. What changes a file passes the gate first."""

    def __init__(self, *, anonymous: bool = ANONYMOUS) -> None:
        """`anonymous`: write new texts into files without a name where the file system has these."""
        self._anonymous = anonymous
        self._swept: set[str] = set()

    def load(self, path: str) -> Loaded:
        """A regular file; links are not followed. Raises `Unreadable` for other kinds, without opening."""
        _check_readable(os.lstat(path), path)
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
        descriptor = os.open(path, flags)
        with open(descriptor, "rb", buffering=0) as file:
            status = os.fstat(descriptor)
            _check_readable(status, path)
            data = bytearray()
            while chunk := file.read(1024 * 1024):
                data += chunk
                _check_size(len(data))
        return Loaded(bytes(data), status)

    def is_still(self, path: str, status: os.stat_result | None) -> bool:
        """Whether the file of `status` is there, or with None nothing. Raises nothing."""
        try:
            now = os.lstat(path)
        except FileNotFoundError:
            return status is None
        except OSError:
            return False
        return status is not None and _version(now) == _version(status)

    def create(self, path: str, data: bytes, gate: Gate, *, mode: int | None = None) -> None:
        """Make a file and its folders. Raises `FileExistsError` for anything already there, links too.

        Without `mode` it gets the one that new files get.
        """
        folder = os.path.dirname(path)
        _make_folder(folder)
        self._sweep(folder)
        with open_draft(folder, data, like=None, anonymous=self._anonymous) as draft:
            gate.pass_or_abandon()
            draft.publish(path)
            if mode is not None:
                os.chmod(path, mode)

    def replace(self, path: str, data: bytes, loaded: Loaded, gate: Gate) -> None:
        """Put `data` in the place of what was loaded. Raises `Overtaken`."""
        _check_same(path, loaded.status)
        if not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, "it is read-only", path)
        folder = os.path.dirname(path)
        self._sweep(folder)
        with open_draft(folder, data, like=path, anonymous=self._anonymous) as draft:
            _check_same(path, loaded.status)
            gate.pass_or_abandon()
            draft.replace(path)

    def remove(self, path: str, status: os.stat_result, gate: Gate) -> None:
        """Remove a file or link, if it is still the one of `status`. Raises `Overtaken`."""
        _check_same(path, status)
        gate.pass_or_abandon()
        os.unlink(path)

    def move(self, path: str, new_path: str, gate: Gate) -> None:
        """Rename a file or link. Raises `FileExistsError` for anything already there, links too."""
        _make_folder(os.path.dirname(new_path))
        gate.pass_or_abandon()
        try:
            os.link(path, new_path, follow_symlinks=False)
        except FileExistsError:
            raise
        except OSError:
            # No hard links here, or not of this file: then a moment stays between look and rename.
            if os.path.lexists(new_path):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), new_path) from None
            os.rename(path, new_path)
        else:
            _unlink_or_undo(path, new_path)

    def _sweep(self, folder: str) -> None:
        if folder not in self._swept:
            self._swept.add(folder)
            sweep(folder)


def _make_folder(folder: str) -> None:
    try:
        os.makedirs(folder, exist_ok=True)
    except FileExistsError:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), folder) from None


def _unlink_or_undo(path: str, new_path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        os.unlink(new_path)
        raise


def _check_readable(status: os.stat_result, path: str) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if stat.S_ISLNK(status.st_mode):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
    if not stat.S_ISREG(status.st_mode):
        raise Unreadable("is a device, a pipe or a socket, not a file that can be read to its end.")
    _check_size(status.st_size)


def _check_size(size: int) -> None:
    if size > MAX_SIZE:
        raise Unreadable(
            f"has {size:,} bytes; files over {MAX_SIZE:,} are not opened as a whole. "
            "Use grep to find a place in it, or bash with sed or tail for a part."
        )


def _check_same(path: str, status: os.stat_result) -> None:
    try:
        now = os.lstat(path)
    except FileNotFoundError:
        raise Overtaken from None
    if _version(now) != _version(status):
        raise Overtaken


def _version(status: os.stat_result) -> tuple[int, int, int, int, int]:
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
