"""Where a search looks, and which files it must not show."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass

from pilothouse_agent.files.spelling import real_path
from pilothouse_agent.files.workspace import Workspace
from pilothouse_agent.kernel.events import Location
from pilothouse_agent.kernel.tooling import Footprint, InvalidArguments, ToolError, Touch, Violation

__all__ = ["TIMED_OUT", "SearchScope", "resolved_scope"]

TIMED_OUT = "[the search took too long and was ended; its result is not complete. Narrow path or glob]"


@dataclass(frozen=True, slots=True)
class SearchScope:
    """Files or folders to be searched, absolute and real, none inside another."""

    workspace: Workspace
    roots: tuple[str, ...]
    named: bool
    """They were named by the model; otherwise they are all folders of the workspace."""
    shown: str = ""
    """For people and the model: ` in src`, or nothing for the whole workspace."""

    @property
    def footprint(self) -> Footprint:
        return Footprint(reads=tuple(Touch(root, subtree=True) for root in self.roots))

    @property
    def locations(self) -> tuple[Location, ...]:
        return tuple(Location(root) for root in self.roots) if self.named else ()

    def shown_path(self, path: str) -> str:
        """A found path as other tools take it. Blocks when there are several folders."""
        return os.fsencode(self.workspace.display(path)).decode("utf-8", "replace")

    def check(self) -> None:
        """Raises `ToolError` when there is nothing to be searched, or not what was judged. Blocks."""
        for root in self.roots:
            if real_path(root) != root:
                shown = self.workspace.display(root)
                raise ToolError(f"{shown!r} has become a link since this call was judged. Issue it again.")
            try:
                mode = os.stat(root).st_mode
            except OSError:
                raise ToolError(
                    f"There is no file or folder {self.workspace.display(root)!r}. Look with glob_file."
                ) from None
            if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
                raise ToolError(f"{self.workspace.display(root)!r} is neither a file nor a folder.")

    def relative(self, path: str) -> str:
        """A found path as globs see it: below its root; of a root that is a file, its name."""
        for root in self.roots:
            if path == root:
                return os.path.basename(path)
            if path.startswith(root.rstrip(os.sep) + os.sep):
                return path[len(root.rstrip(os.sep)) + 1 :]
        return path.lstrip(os.sep)


def resolved_scope(workspace: Workspace, path: str | None) -> SearchScope:
    """Raises `InvalidArguments` when the path cannot be understood. Blocks."""
    if not path:
        return SearchScope(workspace, _outermost(workspace.folders or (workspace.cwd,)), named=False)
    try:
        root = workspace.real(path)
        return SearchScope(workspace, (root,), named=True, shown=f" in {workspace.display(root)}")
    except ToolError as error:
        raise InvalidArguments((Violation("path", str(error)),)) from error


def _outermost(folders: Sequence[str]) -> tuple[str, ...]:
    return tuple(
        folder
        for folder in dict.fromkeys(folders)
        if not any(folder.startswith(other.rstrip(os.sep) + os.sep) for other in folders if other != folder)
    )
