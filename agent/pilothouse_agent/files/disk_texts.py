"""Texts on disk: found, decoded, changed and encoded again. Blocks: call in a thread."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeAlias

from pilothouse_agent.files.codec import NotText, decode, encode
from pilothouse_agent.files.declared import Declared
from pilothouse_agent.files.disk import Disk, Gate, Irreplaceable, Loaded, Overtaken, Unreadable
from pilothouse_agent.files.explain import file_errors
from pilothouse_agent.files.parts import read_part
from pilothouse_agent.files.recorder import Remains
from pilothouse_agent.files.spelling import real_path
from pilothouse_agent.kernel.ports import FilePart, FileText, TextChange
from pilothouse_agent.kernel.tooling import ToolError

__all__ = ["Check", "DiskTexts", "InPlaceOnly", "Rewriting"]

Check: TypeAlias = Callable[[str, str | None], object]
"""Given the path of what is to be deleted and its text, None for what is not text; raises to spare it."""

_TRIES = 10
"""How often a change starts anew because somebody else changed the file meanwhile."""


@dataclass(frozen=True, slots=True)
class Rewriting:
    """A change of one file's text that is worked out and not made."""

    before: FileText | None
    """None: there is no such file."""
    after: FileText
    data: bytes
    """The whole file, as it is to be."""
    loaded: Loaded | None


class InPlaceOnly(Exception):
    """The file can only be written where it stands; nothing was done. Keep the old text, then `overwrite`."""

    def __init__(self, plan: Rewriting) -> None:
        super().__init__()
        self.plan = plan


class DiskTexts:
    """Paths are absolute and real, but for a link that is itself moved or deleted. All raise `ToolError`."""

    def __init__(
        self, disk: Disk, show: Callable[[str], str], declared: Callable[[str], Declared | None]
    ) -> None:
        """`declared` tells what is said of a file's encoding."""
        self._disk = disk
        self._show = show
        self._declared = declared

    def open(self, path: str) -> FileText:
        return self._open(path)[0]

    def part(self, path: str, offset: int, size: int) -> FilePart | None:
        """None: it is to be read as a whole."""
        return read_part(path, offset, size, disk=self._disk, show=self._show, declared=self._declared(path))

    def find(self, path: str) -> FileText | None:
        """None: there is no such file."""
        found = self._find(path)
        return found[0] if found else None

    def rewrite(self, path: str, change: TextChange, gate: Gate, *, create: bool) -> Rewriting:
        """Make `change`, which is asked again when the file changed meanwhile. Raises `InPlaceOnly`."""
        for _ in range(_TRIES):
            plan = self.plan(path, change, create=create)
            if (plan.loaded and plan.loaded.data == plan.data) or self._put(path, plan, gate):
                return plan
        raise self._restless(path)

    def overwrite(self, path: str, plan: Rewriting, gate: Gate) -> None:
        """Make a planned change in place. Raises `Overtaken`."""
        assert plan.loaded is not None
        with file_errors(path, self._show):
            self._disk.overwrite(path, plan.data, plan.loaded, gate)

    def plan(self, path: str, change: TextChange, *, create: bool) -> Rewriting:
        found = self._find(path) if create else self._open(path)
        before, loaded = found or (None, None)
        wanted = change(before)
        after, data = encode(wanted, before, path, shown=self._show(path), declared=self._declared(path))
        return Rewriting(before, after, data, loaded)

    def is_still(self, path: str, status: os.stat_result | None) -> bool:
        """Whether the path still leads just there, to the file of `status`, or with None to nothing."""
        folder = os.path.dirname(path)
        return real_path(folder) == folder and self._disk.is_still(path, status)

    def move(self, path: str, new_path: str, gate: Gate) -> str | None:
        """The text that was moved; None for a link and for what is not text."""
        text = self.look_before_move(path, new_path)[1]
        with file_errors(new_path, self._show):
            self._disk.move(path, new_path, gate)
        return text

    def look_before_move(self, path: str, new_path: str) -> tuple[os.stat_result, str | None]:
        """What is to be moved, with its text as `move` gives it. Refuses what can be no move at all."""
        shown, new_shown = self._show(path), self._show(new_path)
        if real_path(path) == real_path(new_path):
            raise ToolError(f"{shown} and {new_shown} are the same file. Nothing was moved.")
        if os.path.isdir(new_path):
            inside = self._show(os.path.join(new_path, os.path.basename(path)))
            raise ToolError(f"{new_shown} is a directory. Give the whole new name, such as {inside}.")
        return self._look(path)

    def delete(self, path: str, gate: Gate, check: Check) -> tuple[str | None, Remains | None]:
        """The text that was deleted, None for a link and for what is not text; and the file itself."""
        for _ in range(_TRIES):
            status, text, remains = self.look_before_delete(path, check)
            with suppress(Overtaken), file_errors(path, self._show):
                self._disk.remove(path, status, gate)
                return text, remains
        raise self._restless(path)

    def look_before_delete(
        self, path: str, check: Check
    ) -> tuple[os.stat_result, str | None, Remains | None]:
        """What is to be deleted, with what `delete` gives."""
        status, text = self._look(path)
        check(path, text)
        return status, text, self._remains(path, status)

    def is_as(self, path: str, remains: Remains) -> bool:
        """Whether there is a file that holds just these bytes."""
        with suppress(OSError, Unreadable):
            return self._disk.load(path).data == remains.data
        return False

    def bring_back(self, path: str, remains: Remains, gate: Gate) -> str | None:
        """Make a deleted file anew, never over another; its text."""
        with file_errors(path, self._show):
            self._disk.create(path, remains.data, gate, mode=remains.mode)
        return self._look(path)[1]

    def _open(self, path: str) -> tuple[FileText, Loaded]:
        with file_errors(path, self._show):
            loaded = self._disk.load(path)
        return decode(loaded.data, path, shown=self._show(path), declared=self._declared(path)), loaded

    def _find(self, path: str) -> tuple[FileText, Loaded] | None:
        return self._open(path) if os.path.lexists(path) else None

    def _put(self, path: str, plan: Rewriting, gate: Gate) -> bool:
        """False when somebody else was there first."""
        with file_errors(path, self._show):
            try:
                if plan.loaded:
                    self._disk.replace(path, plan.data, plan.loaded, gate)
                else:
                    self._disk.create(path, plan.data, gate)
            except Overtaken:
                return False
            except Irreplaceable:
                raise InPlaceOnly(plan) from None
            except FileExistsError:
                raise ToolError(
                    f"{self._show(path)} exists already: it was made just now by somebody else, and was left "
                    "as it is. Read it with read_file first."
                ) from None
        return True

    def _look(self, path: str) -> tuple[os.stat_result, str | None]:
        """What a move or a delete is about: a file with its text, or a link."""
        with file_errors(path, self._show):
            status = os.lstat(path)
            if stat.S_ISDIR(status.st_mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
            if stat.S_ISLNK(status.st_mode):
                return status, None
            if not stat.S_ISREG(status.st_mode):
                raise Unreadable("is a device, a pipe or a socket, not a file.")
        with suppress(NotText, Unreadable):
            return status, self.open(path).text
        return status, None

    def _remains(self, path: str, status: os.stat_result) -> Remains | None:
        with suppress(OSError, Unreadable):
            return Remains(self._disk.load(path).data, stat.S_IMODE(status.st_mode))
        return None

    def _restless(self, path: str) -> ToolError:
        return ToolError(f"{self._show(path)} is being changed by others all the time. Nothing was done.")
