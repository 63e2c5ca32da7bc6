"""Files on disk as bytes: read with care, changed as a whole or not at all. Blocks: call in a thread."""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import FileIO

from pilothouse_agent.files.draft import ANONYMOUS, open_draft, sweep
from pilothouse_agent.kernel.tooling import ToolError

__all__ = ["MAX_SIZE", "Abandoned", "Disk", "Gate", "Irreplaceable", "Loaded", "Overtaken", "Unreadable"]

_NO_PLACE_BESIDE = frozenset({errno.EBUSY, errno.EXDEV, errno.EACCES, errno.EPERM, errno.EROFS})
"""What the system says of a file that may be written in a place where no other may be made or renamed."""

MAX_SIZE = 16 * 1024 * 1024
"""Bytes; a larger file is not opened as text."""


class Overtaken(Exception):
    """The file is not the one that was loaded any more."""


class Irreplaceable(Exception):
    """The file may be written, but nothing can be put in its place that would be the same file to others:
    it has other names too, an owner or attributes that a copy would lose, or is a mount of its own. Nothing
    was done; `overwrite` it.
    """


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
        self._passed = False
        self._closed = False

    def pass_or_abandon(self) -> None:
        with self._lock:
            if self._closed:
                raise Abandoned
            self._passed = True

    def come_back(self) -> None:
        """Whoever passed has changed nothing, and may pass again."""
        with self._lock:
            self._passed = False

    def close(self) -> bool:
        """Whether nobody has passed; from now on nobody does."""
        with self._lock:
            self._closed = True
            return not self._passed


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
        with self.open(path) as file:
            status = os.fstat(file.fileno())
            _check_size(status.st_size)
            data = bytearray()
            while chunk := file.read(1024 * 1024):
                data += chunk
                _check_size(len(data))
        return Loaded(bytes(data), status)

    @contextmanager
    def open(self, path: str) -> Generator[FileIO]:
        """The same to be read in parts, of any size."""
        _check_readable(os.lstat(path), path)
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
        with open(os.open(path, flags), "rb", buffering=0) as file:
            _check_readable(os.fstat(file.fileno()), path)
            yield file

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
        """Put `data` in the place of what was loaded. Raises `Overtaken` and `Irreplaceable`."""
        _check_same(path, loaded.status)
        if not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, "it is read-only", path)
        if loaded.status.st_nlink > 1:
            raise Irreplaceable
        folder = os.path.dirname(path)
        try:
            self._sweep(folder)
            with open_draft(folder, data, like=path, anonymous=self._anonymous) as draft:
                _check_same(path, loaded.status)
                gate.pass_or_abandon()
                draft.replace(path)
        except OSError as error:
            if error.errno not in _NO_PLACE_BESIDE:
                raise
            gate.come_back()
            raise Irreplaceable from error

    def overwrite(self, path: str, data: bytes, loaded: Loaded, gate: Gate) -> None:
        """Write `data` over what was loaded, where it stands. Raises `Overtaken`.

        Not safe from an end of the machine: have the old text kept first. When it fails half-way, the old
        bytes are put back.
        """
        flags = os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
        with open(os.open(path, flags), "wb", buffering=0) as file:
            _check_same(path, loaded.status)
            if not os.path.samestat(os.fstat(file.fileno()), loaded.status):
                raise Overtaken
            gate.pass_or_abandon()
            try:
                _fill(file, data)
            except OSError:
                _put_back(file, loaded.data)
                raise
            if os.fstat(file.fileno()).st_mode != loaded.status.st_mode:
                os.fchmod(file.fileno(), stat.S_IMODE(loaded.status.st_mode))

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


def _fill(file: FileIO, data: bytes) -> None:
    if len(data) > os.fstat(file.fileno()).st_size and hasattr(os, "posix_fallocate"):
        # Where the file system can tell, room runs out before anything is overwritten.
        with suppress(OSError):
            os.posix_fallocate(file.fileno(), 0, len(data))
    file.seek(0)
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]
    file.truncate()
    os.fsync(file.fileno())


def _put_back(file: FileIO, data: bytes) -> None:
    try:
        _fill(file, data)
    except OSError as error:
        raise Unreadable(
            f"was only partly written, and its old text could not be put back ({error.strerror}). That "
            "is kept among the changes of this run: read the file, and ask the user whether to undo the run."
        ) from None


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


def _check_size(size: int) -> None:
    if size > MAX_SIZE:
        raise Unreadable(
            f"has {size:,} bytes; files over {MAX_SIZE:,} are not opened as a whole. "
            "Use grep to find a place in it, read_file for parts, and bash (sed) to change it."
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
