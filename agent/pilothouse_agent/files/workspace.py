"""The folders the agent works in, and how the model's paths are understood in them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePath

from pilothouse_agent.files.spelling import real_path
from pilothouse_agent.files.uris import uri_to_path
from pilothouse_agent.kernel.foreign_documents import uri_for_path
from pilothouse_agent.kernel.tooling import ToolError

__all__ = ["Workspace"]


class Workspace:
    """The working folder and those that are open. Paths are strings, absolute and real.

    Its methods look at the disk, briefly; where that may hang, call them in a thread.
    """

    def __init__(self, folders: Sequence[str | Path]) -> None:
        """The first one is the working folder, which never changes."""
        self._given = self.looked_up(folders)
        self.cwd = next(iter(self._given))
        self.foreign: Callable[[str], str | None] = lambda _: None
        """The path that stands for an open document that is no file, by its URI; None for all else."""

    @staticmethod
    def looked_up(folders: Sequence[str | Path]) -> dict[str, str]:
        """Real paths of folders, and how they were given."""
        return {real_path(str(folder)): os.path.abspath(folder) for folder in folders}

    def take(self, folders: Mapping[str, str]) -> None:
        """These folders are open from now on, as they were looked up. Does not look at the disk."""
        self._given = dict(folders)

    def leave_but(self, folders: Sequence[str]) -> None:
        """Of those that are open only these stay open. Does not look at the disk."""
        stay = {os.path.abspath(folder) for folder in folders}
        self._given = {real: given for real, given in self._given.items() if given in stay}

    @property
    def folders(self) -> tuple[str, ...]:
        """Those that are open, perhaps none."""
        return tuple(self._given)

    @property
    def places(self) -> tuple[str, ...]:
        """Where relative paths are looked for: the working folder, then the others."""
        return tuple(dict.fromkeys((self.cwd, *self.folders)))

    def resolve(self, path: str) -> str:
        """The absolute path meant by the model; symlinks are kept, `..` is folded.

        A relative path is looked for in every folder, also behind the folder's own name or the end of
        its path. Raises `ToolError` when it exists in several, listing them, or is not a path of this
        system.
        """
        if (document := self.foreign(path)) is not None:
            return document
        path = _plain(path)
        if os.path.isabs(path):
            return os.path.normpath(path)
        direct = [_joined(folder, path) for folder in self.places]
        named = self._named(path)
        found = [candidate for candidate in dict.fromkeys(direct + named) if os.path.lexists(candidate)]
        if len(found) > 1:
            listed = ", ".join(found)
            raise ToolError(f"The path {path!r} exists in several folders: {listed}. Give the absolute path.")
        if found:
            return found[0]
        self._refuse_backslashes(path)
        if len(named) == 1 and not os.path.lexists(_joined(self.cwd, PurePath(path).parts[0])):
            return named[0]
        return direct[0]

    def real(self, path: str) -> str:
        """`resolve` with all symlinks followed, also a dangling one to where it would create a file."""
        return real_path(self.resolve(path))

    def contains(self, real_path: str) -> bool:
        return any(_below(real_path, folder) for folder in self.folders)

    def display(self, path: str) -> str:
        """How a path is shown to the model: short, and accepted back by `resolve` as printed."""
        if (uri := uri_for_path(path)) is not None:
            return uri
        for folder in self.folders:
            if _below(path, folder):
                short = os.path.relpath(path, folder)
                if self._means(short, path):
                    return short
        return path

    def _named(self, path: str) -> list[str]:
        """With several folders: what a path means that begins with the name of one of them."""
        places = self.places
        if len(places) == 1:
            return []
        parts = PurePath(path).parts
        return [
            _joined(folder, *parts[count:])
            for folder in places
            for count in range(1, len(parts) + 1)
            if PurePath(folder).parts[-count:] == parts[:count]
        ]

    def _refuse_backslashes(self, path: str) -> None:
        if "\\" in path and os.sep == "/":
            raise ToolError(f"The path {path!r} has backslashes. Use forward slashes.")

    def _means(self, short: str, path: str) -> bool:
        try:
            return self.resolve(short) == path
        except ToolError:
            return False


def _plain(path: str) -> str:
    if path.startswith("file:/"):
        path = _from_uri(path)
    if not path:
        raise ToolError("The path is empty. Give a path relative to the working folder, or an absolute one.")
    if "\0" in path:
        raise ToolError("The path holds a NUL character, which no file name can have.")
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise ToolError(f"The path {path!r} holds half a character, which no file name can have.") from None
    return os.path.expanduser(path) if path.startswith("~") else path


def _from_uri(uri: str) -> str:
    try:
        return uri_to_path(uri)
    except ValueError as error:
        raise ToolError(f"{error}. Give a plain path.") from None


def _joined(folder: str, *parts: str) -> str:
    return os.path.normpath(os.path.join(folder, *parts))


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)
