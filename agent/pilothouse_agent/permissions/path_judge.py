"""Judges access to single paths: rules, workspace boundary, protected files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from urllib.parse import unquote, urlsplit

from pilothouse_agent.kernel.foreign_documents import uri_for_path
from pilothouse_agent.permissions.finding import ALLOWED, Finding, visible
from pilothouse_agent.permissions.layers import Access
from pilothouse_agent.permissions.protected import PROTECTED_GLOBS, protection_of
from pilothouse_agent.permissions.rules import Rules

__all__ = ["PathJudge"]


class PathJudge:
    """Paths are absolute and real; nothing here looks at the disk."""

    def __init__(self, rules: Rules, *, folders: Sequence[str], home: str, cwd: str | None = None) -> None:
        """`cwd` is the working folder; by default the first of `folders`, which are the workspace."""
        self._rules = rules
        self._folders = tuple(folder.rstrip(os.sep) or os.sep for folder in folders)
        self.cwd = (folders[0] if cwd is None else cwd).rstrip(os.sep) or os.sep
        self.home = home

    def judge(self, tool: str | None, path: str, *access: Access) -> Finding:
        """A rule allowing the tool counts for plain files of the workspace, one for the path everywhere."""
        if (uri := uri_for_path(path)) is not None:
            return self._judge_document(tool, uri, access)
        protection = protection_of(self._from_folder(path), access)
        inside = self._folder_of(path) is not None
        ruling = self._rules.for_path(tool, path, access)
        if ruling and (ruling.specific or ruling.effect != "allow" or (inside and protection is None)):
            return Finding.of(ruling)
        shown = visible(self.display(path))
        if not inside:
            return Finding("ask", f"`{shown}` is outside the workspace", grave=True)
        if protection is not None:
            return Finding("ask", f"`{shown}` {protection}", grave=True)
        if "write" in access:
            return Finding("ask", f"it changes `{shown}`", plain_change=True)
        return ALLOWED

    def _judge_document(self, tool: str | None, uri: str, access: Sequence[Access]) -> Finding:
        """It may show a file, such as an old version of one, that a rule forbids."""
        ruling = self._rules.for_path(tool, _path_in(uri), access)
        if ruling and ruling.effect == "deny":
            return Finding.of(ruling)
        return Finding("ask", f"`{visible(uri)}` is a document in the editor that is not a file", grave=True)

    def protects(self, path: str) -> bool:
        """Whether searches have to leave out what this file holds, unless they name the file itself."""
        ruling = self._rules.for_path(None, path, ("read",))
        if ruling:
            return ruling.effect != "allow"
        return protection_of(self._from_folder(path), ("read",)) is not None

    def protected_globs(self) -> tuple[str, ...]:
        hidden, shown = self._rules.hidden()
        below = [pattern for pattern in hidden if not pattern.startswith(("/", "~"))]
        folders = [
            f"{'' if '/' in pattern.rstrip('/') else '**/'}{pattern.rstrip('/')}/**" for pattern in below
        ]
        return (*(glob for glob in PROTECTED_GLOBS if glob not in shown), *below, *folders)

    def display(self, path: str) -> str:
        """Relative to the working folder, which itself is `.`; absolute elsewhere."""
        if self._folder_of(path) != self.cwd:
            return uri_for_path(path) or path
        return self._from_folder(path).lstrip(os.sep) or os.curdir

    def _folder_of(self, path: str) -> str | None:
        for folder in self._folders:
            if path == folder or path.startswith(folder.rstrip(os.sep) + os.sep):
                return folder
        return None

    def _from_folder(self, path: str) -> str:
        folder = self._folder_of(path)
        return path if folder is None else os.sep + path[len(folder) :].lstrip(os.sep)


def _path_in(uri: str) -> str:
    try:
        return os.path.normpath(unquote(urlsplit(uri).path))
    except ValueError:
        return uri
