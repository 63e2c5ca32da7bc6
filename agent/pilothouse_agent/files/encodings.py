"""Which encoding is declared for a file from outside. Looks at the disk: call in a thread."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from pilothouse_agent.files.declared import Declared, declared
from pilothouse_agent.files.editor_config import charset_of
from pilothouse_agent.files.glob_match import last_fitting

__all__ = ["DeclaredEncodings"]


class DeclaredEncodings:
    """The editor's own word for an open file, else the setting, else `.editorconfig`."""

    def __init__(
        self,
        folders: Sequence[str] = (),
        *,
        globs: Mapping[str, str] | None = None,
        editor: Callable[[str], str | None] | None = None,
    ) -> None:
        """`globs` are of the setting, relative to each of `folders`, the last that fits counts; `editor`
        tells what an open file was read as."""
        self._folders = tuple(folders)
        self._rules = list((globs or {}).items())
        self._editor = editor

    def follow(self, folders: Sequence[str]) -> None:
        """Other folders count from now on."""
        self._folders = tuple(folders)

    def of(self, path: str) -> Declared | None:
        """`path` is absolute and real. Raises nothing."""
        named = self._editor(path) if self._editor is not None else None
        if named and (found := declared(named, "the editor")) is not None:
            return found
        by_setting = self._by_setting(path)
        if by_setting is not None and (found := declared(by_setting, "the setting files.encodings")):
            return found
        charset = charset_of(path)
        return declared(charset, ".editorconfig") if charset is not None else None

    def _by_setting(self, path: str) -> str | None:
        for folder in self._folders:
            if path.startswith(folder.rstrip(os.sep) + os.sep):
                return last_fitting(self._rules, path[len(folder) :].lstrip(os.sep))
        return None
