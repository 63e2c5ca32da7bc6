"""One spelling for each file, also where a file system takes several for the same: with other letters, or
composed in another way. Blocks: call in a thread.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pilothouse_agent.files.file_key import file_key

__all__ = ["DISK", "Disk", "as_on_disk", "line_key", "own_path", "real_path"]

_NAMES = 100
"""Names of a folder that are tried, to find out whether it folds."""


@dataclass(frozen=True, slots=True)
class Disk:
    """The looks at it that are needed."""

    status: Callable[[str], os.stat_result] = os.lstat
    names: Callable[[str], Sequence[str]] = os.listdir


DISK = Disk()


def real_path(path: str, disk: Disk = DISK) -> str:
    """With all links followed, and spelled as on disk."""
    return as_on_disk(os.path.realpath(path), disk)


def own_path(path: str, disk: Disk = DISK) -> str:
    """The same of a link itself: only its folder's are followed."""
    folder, name = os.path.split(os.path.normpath(path))
    return as_on_disk(os.path.join(os.path.realpath(folder), name), disk)


def as_on_disk(path: str, disk: Disk = DISK) -> str:
    """`path` is absolute. What is not there yet stays as it is."""
    spelled = os.sep
    for name in filter(None, path.split(os.sep)):
        spelled = os.path.join(spelled, _name_of(spelled, name, disk))
    return spelled


def line_key(path: str, disk: Disk = DISK) -> str:
    """Equal for all spellings of a path, also of a file that is not there yet. `path` is real."""
    folder, missing = path, list[str]()
    while folder != os.sep and not _is_there(folder, disk):
        folder, name = os.path.split(folder)
        missing.insert(0, name)
    if missing:
        return os.path.join(folder, *_folded(missing)) if _folds(folder, disk) else path
    above, name = os.path.split(path)
    return os.path.join(above, *_folded([name])) if _is_folded(above, name, disk) else path


def _folded(names: Sequence[str]) -> list[str]:
    return [file_key(name, fold_case=True) for name in names]


def _is_there(path: str, disk: Disk) -> bool:
    try:
        disk.status(path)
    except (OSError, ValueError):
        return False
    return True


def _name_of(folder: str, name: str, disk: Disk) -> str:
    if not _is_folded(folder, name, disk):
        return name
    try:
        names = disk.names(folder)
        if name in names:
            return name
        status = disk.status(os.path.join(folder, name))
        alike = file_key(name, fold_case=True)
        # Usually it is the one that folds alike; what else a file system folds, only it knows.
        for entry in sorted(names, key=lambda entry: file_key(entry, fold_case=True) != alike):
            if os.path.samestat(disk.status(os.path.join(folder, entry)), status):
                return entry
    except OSError:
        pass
    return name


def _is_folded(folder: str, name: str, disk: Disk) -> bool:
    """Whether another spelling of a name that is there leads to the same file."""
    for other in _other_spellings(name):
        try:
            status = disk.status(os.path.join(folder, other))
            if os.path.samestat(status, disk.status(os.path.join(folder, name))):
                return True
        except (OSError, ValueError):
            continue
    return False


def _folds(folder: str, disk: Disk) -> bool:
    """Whether a folder would take a new name for the same in another spelling."""
    try:
        for name in disk.names(folder)[:_NAMES]:
            if any(_other_spellings(name)):
                return _is_folded(folder, name, disk)
        above, name = os.path.split(folder)
        same_disk = disk.status(above).st_dev == disk.status(folder).st_dev
        return bool(name) and same_disk and _is_folded(above, name, disk)
    except OSError:
        return False


def _other_spellings(name: str) -> Iterator[str]:
    swapped = "".join(char.swapcase() if char.isascii() else char for char in name)
    if swapped != name:
        yield swapped
    if not name.isascii():
        for form in ("NFC", "NFD"):
            composed = unicodedata.normalize(form, name)
            if composed != name:
                yield composed
