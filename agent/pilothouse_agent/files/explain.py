"""Why a path cannot be opened, in words that help with the next try. Looks at the disk: call in a thread."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from difflib import get_close_matches

from pilothouse_agent.files.disk import Unreadable
from pilothouse_agent.files.near_names import looks_alike, telling_name
from pilothouse_agent.kernel.tooling import ToolError

__all__ = ["explain_directory", "explain_missing", "file_errors"]

_NAMES = 2_000
_LISTED = 40


@contextmanager
def file_errors(path: str, show: Callable[[str], str]) -> Generator[None]:
    """Turns what the system says about `path` into a `ToolError`."""
    try:
        yield
    except Unreadable as error:
        raise Unreadable(f"{show(path)} {error}") from None
    except FileNotFoundError:
        raise ToolError(explain_missing(path, show)) from None
    except IsADirectoryError:
        raise ToolError(explain_directory(path, show)) from None
    except NotADirectoryError:
        raise ToolError(f"A part of {show(path)} is a file, not a folder. Check the path.") from None
    except FileExistsError:
        raise ToolError(f"{show(path)} exists already and was left as it is.") from None
    except PermissionError as error:
        raise ToolError(f"Not permitted for {show(path)}: {error.strerror}. It was left as it is.") from None
    except OSError as error:
        raise ToolError(f"The system refused {show(path)}: {_reason(error)}") from None


def explain_missing(path: str, show: Callable[[str], str]) -> str:
    folder, name = os.path.split(path)
    if not os.path.isdir(folder):
        while not os.path.isdir(folder):
            folder = os.path.dirname(folder)
        return f"{show(path)} does not exist, nor does its folder; {show(folder)} does."
    names = _names(folder)
    like = {entry.casefold(): entry for entry in names}
    close = get_close_matches(name.casefold(), like, n=3)
    if not close:
        return f"{show(path)} does not exist. Use glob_file to find it."
    listed = ", ".join(_told(show(os.path.join(folder, like[entry])), like[entry], name) for entry in close)
    return f"{show(path)} does not exist. Did you mean {listed}?"


def _told(shown: str, entry: str, wanted: str) -> str:
    """With escapes where it would look just like what was asked for."""
    return telling_name(shown) if looks_alike(entry.removesuffix("/"), wanted) else shown


def explain_directory(path: str, show: Callable[[str], str]) -> str:
    names = sorted(_names(path))
    listed = ", ".join(names[:_LISTED]) or "nothing"
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f"{show(path)} is a directory; name a file. It holds: {listed}{more}."


def _names(folder: str) -> list[str]:
    names: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                names.append(entry.name + "/" * entry.is_dir())
                if len(names) == _NAMES:
                    break
    except OSError:
        pass
    return names


def _reason(error: OSError) -> str:
    reasons = {
        errno.EXDEV: "it lies on another file system. Use bash (mv) to move it there.",
        errno.ENOSPC: "the disk is full. Nothing was written.",
        errno.EROFS: "the file system is read-only. Nothing was written.",
        errno.ELOOP: "it is a symbolic link that goes round in a circle, or was put there just now.",
        errno.ENAMETOOLONG: "the name is too long.",
    }
    return reasons.get(error.errno or 0, f"{error.strerror or error}.")
