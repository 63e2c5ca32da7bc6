"""File systems that a test answers for, or does not, over the kernel's own FUSE protocol."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import struct
import threading
import unicodedata
from collections.abc import Generator
from pathlib import Path

import pytest

__all__ = ["dead_mount", "folding_mount"]

_DETACH = 2
_libc = ctypes.CDLL(None, use_errno=True)


@contextlib.contextmanager
def dead_mount(place: Path) -> Generator[None]:
    """Whatever looks at `place` hangs until the end of the block. Skips where nothing may be mounted."""
    with _mounted(place):
        yield


@contextlib.contextmanager
def folding_mount(place: Path, backing: Path) -> Generator[None]:
    """The files of `backing`, found by names in any case and in any composition of letters."""
    with _mounted(place) as device:
        server = _Folding(device, backing)
        thread = threading.Thread(target=server.serve, daemon=True)
        thread.start()
        try:
            yield
        finally:
            _libc.umount2(os.fsencode(place), _DETACH)
            thread.join(5)


@contextlib.contextmanager
def _mounted(place: Path) -> Generator[int]:
    try:
        device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        pytest.skip("there is no FUSE here")
    options = f"fd={device},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()}".encode()
    try:
        if _libc.mount(b"test", os.fsencode(place), b"fuse", 0, options):
            pytest.skip("nothing may be mounted here")
        try:
            yield device
        finally:
            _libc.umount2(os.fsencode(place), _DETACH)
    finally:
        os.close(device)


_IN = struct.Struct("<IIQQIIII")
_OUT = struct.Struct("<IiQ")


class _Folding:
    """Answers each request from the backing folder. Nodes are numbered by path, never forgotten."""

    def __init__(self, device: int, backing: Path) -> None:
        self._device = device
        self._paths = {1: str(backing)}
        self._nodes = {str(backing): 1}

    def serve(self) -> None:
        while True:
            try:
                request = os.read(self._device, 1 << 18)
            except OSError:
                return
            _, code, unique, node, *_ = _IN.unpack_from(request)
            if code in (2, 42):  # FORGET and BATCH_FORGET have no answer
                continue
            try:
                answer, error = self._answer(code, node, request[_IN.size :]), 0
            except OSError as problem:
                answer, error = b"", -(problem.errno or errno.EIO)
            with contextlib.suppress(OSError):
                os.write(self._device, _OUT.pack(_OUT.size + len(answer), error, unique) + answer)

    def _answer(self, code: int, node: int, body: bytes) -> bytes:
        path = self._paths.get(node, "")
        match code:
            case 26:  # INIT
                return struct.pack("<IIIIHHIIHHI28x", 7, 31, 65536, 0, 12, 10, 1 << 17, 1, 0, 0, 0)
            case 1:  # LOOKUP
                return self._entry(self._found(path, body[:-1]))
            case 3:  # GETATTR
                return struct.pack("<QII", 0, 0, 0) + _attributes(path, node)
            case 4:  # SETATTR
                valid, _, _, size, *_ = struct.unpack_from("<IIQQ", body)
                if valid & 1:
                    os.chmod(path, struct.unpack_from("<I", body, 68)[0] & 0o7777)
                if valid & 8:
                    os.truncate(path, size)
                return struct.pack("<QII", 0, 0, 0) + _attributes(path, node)
            case 9:  # MKDIR
                os.mkdir(self._found(path, body[8:-1]))
                return self._entry(self._found(path, body[8:-1]))
            case 10 | 11:  # UNLINK, RMDIR
                (os.unlink if code == 10 else os.rmdir)(self._found(path, body[:-1]))
                return b""
            case 12 | 45:  # RENAME, RENAME2
                start = 8 if code == 12 else 16
                old, new, _ = body[start:].split(b"\0")
                folder = self._paths[struct.unpack_from("<Q", body)[0]]
                os.replace(self._found(path, old), self._found(folder, new))
                return b""
            case 35:  # CREATE
                made = self._found(path, body[16:-1])
                os.close(os.open(made, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o644))
                return self._entry(made) + struct.pack("<QII", 0, 0, 0)
            case 14 | 27:  # OPEN, OPENDIR
                return struct.pack("<QII", 0, 0, 0)
            case 15:  # READ
                _, offset, size = struct.unpack_from("<QQI", body)
                with open(path, "rb") as file:
                    return os.pread(file.fileno(), size, offset)
            case 16:  # WRITE
                _, offset, size = struct.unpack_from("<QQI", body)
                with open(path, "r+b") as file:
                    os.pwrite(file.fileno(), body[40 : 40 + size], offset)
                return struct.pack("<II", size, 0)
            case 28:  # READDIR
                _, offset, size = struct.unpack_from("<QQI", body)
                return _listing(path, offset, size)
            case 18 | 20 | 25 | 29 | 30 | 34:  # RELEASE, FSYNC, FLUSH, RELEASEDIR, FSYNCDIR, ACCESS
                return b""
            case _:
                raise OSError(errno.ENOSYS, "")

    def _found(self, folder: str, name: bytes) -> str:
        given = os.fsdecode(name)
        alike = [entry for entry in os.listdir(folder) if _fold(entry) == _fold(given)]
        return os.path.join(folder, alike[0] if alike else given)

    def _entry(self, path: str) -> bytes:
        os.lstat(path)
        node = self._nodes.setdefault(path, len(self._nodes) + 1)
        self._paths[node] = path
        return struct.pack("<QQQQII", node, 0, 0, 0, 0, 0) + _attributes(path, node)


def _fold(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def _attributes(path: str, node: int) -> bytes:
    status = os.lstat(path)
    moments = (status.st_atime_ns, status.st_mtime_ns, status.st_ctime_ns)
    times = [moment // 1_000_000_000 for moment in moments]
    parts = [moment % 1_000_000_000 for moment in moments]
    numbers = (status.st_mode, 1, status.st_uid, status.st_gid, 0, 4096, 0)
    return struct.pack("<6Q10I", node, status.st_size, 1, *times, *parts, *numbers)


def _listing(path: str, offset: int, size: int) -> bytes:
    listed = b""
    for number, name in enumerate(sorted(os.listdir(path))[offset:], offset + 1):
        encoded = os.fsencode(name)
        entry = struct.pack("<QQII", number, number, len(encoded), 0) + encoded
        entry += b"\0" * (-len(entry) % 8)
        if len(listed) + len(entry) > size:
            break
        listed += entry
    return listed
