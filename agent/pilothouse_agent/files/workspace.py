"""The folders the agent works in, and how the model's paths are understood in them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pilothouse_agent.kernel.tooling import ToolError

__all__ = ["Workspace"]


class Workspace:
    """One or more folders; the first is the working folder. Paths are strings, absolute and real."""

    def __init__(self, folders: Sequence[str | Path]) -> None:
        self.folders = tuple(os.path.realpath(folder) for folder in folders)

    @property
    def cwd(self) -> str:
        return self.folders[0]

    def resolve(self, path: str) -> str:
        """The absolute path meant by the model; symlinks are kept, `..` is folded.

        A relative path is looked for in every folder, also behind the folder's own name. Raises
        `ToolError` when it exists in several, listing them, or is not a path of this system.
        """
        path = _plain(path)
        if os.path.isabs(path):
            return os.path.normpath(path)
        found = [candidate for candidate in self._candidates(path) if os.path.lexists(candidate)]
        if len(found) > 1:
            listed = ", ".join(found)
            raise ToolError(f"The path {path!r} exists in several folders: {listed}. Give the absolute path.")
        return found[0] if found else os.path.normpath(os.path.join(self.cwd, path))

    def real(self, path: str) -> str:
        """`resolve` with all symlinks followed, also a dangling one to where it would create a file."""
        return os.path.realpath(self.resolve(path))

    def contains(self, real_path: str) -> bool:
        return any(_below(real_path, folder) for folder in self.folders)

    def display(self, path: str) -> str:
        """How a path is shown to the model: short, and accepted back by `resolve` as printed."""
        for folder in self.folders:
            if _below(path, folder):
                short = os.path.relpath(path, folder)
                if len(self.folders) == 1 or self._means(short, path):
                    return short
        return path

    def _candidates(self, path: str) -> list[str]:
        head, _, rest = path.partition("/")
        direct = [os.path.normpath(os.path.join(folder, path)) for folder in self.folders]
        named = [
            os.path.normpath(os.path.join(folder, rest))
            for folder in self.folders
            if len(self.folders) > 1 and os.path.basename(folder) == head
        ]
        return list(dict.fromkeys(direct + named))

    def _means(self, short: str, path: str) -> bool:
        try:
            return self.resolve(short) == path
        except ToolError:
            return False


def _plain(path: str) -> str:
    if not path:
        raise ToolError("The path is empty. Give a path relative to the working folder, or an absolute one.")
    if "\0" in path:
        raise ToolError("The path holds a NUL character, which no file name can have.")
    if path.startswith("file:"):
        return unquote(urlsplit(path).path)
    if "\\" in path and os.sep == "/" and not os.path.lexists(path):
        raise ToolError(f"The path {path!r} has backslashes. Use forward slashes.")
    return os.path.expanduser(path) if path.startswith("~") else path


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)
