"""A file that has its bytes before it has its name. Blocks: call in a thread."""

from __future__ import annotations

import errno
import os
import secrets
import stat
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress

__all__ = ["ANONYMOUS", "Draft", "open_draft", "sweep"]

ANONYMOUS = hasattr(os, "O_TMPFILE") and os.path.isdir("/proc/self/fd")
"""Whether drafts can do without a name, so that nothing is left behind by a process that is killed."""

_PREFIX, _SUFFIX = ".pilothouse-", ".draft"
_ABANDONED_AFTER = 600.0
"""Seconds; a draft that old has no writer any more."""
_NOT_HERE = (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL)


class Draft:
    """Give it its name by `publish` or `replace`, once."""

    def __init__(self, folder: str, descriptor: int, name: str | None) -> None:
        self._folder = folder
        self._descriptor = descriptor
        self._name = name

    def publish(self, path: str) -> None:
        """Raises `FileExistsError` for anything already there, links too."""
        try:
            self._link(path)
        except OSError:
            if self._name is None:
                raise
            # Perhaps there are no hard links here: take the name with an empty file, exclusively too.
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC))
            try:
                os.replace(self._name, path)
            except OSError:
                os.unlink(path)
                raise

    def replace(self, path: str) -> None:
        if self._name is None:
            name = _new_name(self._folder)
            self._link(name)
            self._name = name
        os.replace(self._name, path)

    def discard(self) -> None:
        if self._name is not None:
            with suppress(FileNotFoundError):
                os.unlink(self._name)

    def _link(self, path: str) -> None:
        if self._name is not None:
            os.link(self._name, path)
            return
        # Naming a folder descriptor is what makes the call follow the link of /proc to the open file.
        folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.link(f"/proc/self/fd/{self._descriptor}", os.path.basename(path), dst_dir_fd=folder)
        finally:
            os.close(folder)


@contextmanager
def open_draft(folder: str, data: bytes, *, like: str | None, anonymous: bool) -> Generator[Draft]:
    """A draft holding `data`, safe on disk, with mode, owner and attributes of `like`; cleaned up after."""
    mode = 0o600 if like else 0o666
    descriptor, name = _open(folder, mode, anonymous=anonymous)
    draft = Draft(folder, descriptor, name)
    try:
        with open(descriptor, "wb", buffering=0, closefd=False) as file:
            view = memoryview(data)
            while view:
                view = view[file.write(view) :]
        if like:
            _take_over(descriptor, like)
        os.fsync(descriptor)
        yield draft
    finally:
        draft.discard()
        os.close(descriptor)


def sweep(folder: str) -> None:
    """Remove named drafts that a killed process left in `folder`."""
    limit = time.time() - _ABANDONED_AFTER
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(_PREFIX) and entry.name.endswith(_SUFFIX):
                with suppress(OSError):
                    if entry.stat(follow_symlinks=False).st_mtime < limit:
                        os.unlink(entry.path)


def _open(folder: str, mode: int, *, anonymous: bool) -> tuple[int, str | None]:
    if anonymous:
        try:
            return os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, mode), None
        except OSError as error:
            if error.errno not in _NOT_HERE:
                raise
    name = _new_name(folder)
    return os.open(name, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, mode), name


def _new_name(folder: str) -> str:
    return os.path.join(folder, f"{_PREFIX}{secrets.token_hex(8)}{_SUFFIX}")


def _take_over(descriptor: int, path: str) -> None:
    """Owner first: changing it clears mode bits. Raises `PermissionError` for what we may not keep."""
    status, ours = os.stat(path), os.fstat(descriptor)
    if (status.st_uid, status.st_gid) != (ours.st_uid, ours.st_gid):
        os.fchown(descriptor, status.st_uid, status.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(status.st_mode))
    for name in _attributes(path):
        _take_over_attribute(descriptor, path, name)


def _attributes(path: str) -> list[str]:
    """None on systems, and on file systems, that have no attributes."""
    if not hasattr(os, "listxattr"):
        return []
    try:
        return os.listxattr(path)
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.ENOSYS):
            raise
        return []


def _take_over_attribute(descriptor: int, path: str, name: str) -> None:
    value = os.getxattr(path, name)
    with suppress(OSError):
        if os.getxattr(descriptor, name) == value:
            return
    os.setxattr(descriptor, name, value)
