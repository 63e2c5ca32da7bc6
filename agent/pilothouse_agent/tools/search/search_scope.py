"""Where a search looks, and which files it must not show."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from pilothouse_agent.files.near_names import listed_name
from pilothouse_agent.files.spelling import real_path
from pilothouse_agent.files.workspace import Workspace
from pilothouse_agent.kernel.events import Location
from pilothouse_agent.kernel.tooling import Footprint, ToolError, Touch
from pilothouse_agent.tools.files.place import locate_to_read
from pilothouse_agent.tools.search.glob_pattern import GlobPattern

__all__ = ["TIMED_OUT", "SearchScope", "resolved_scope"]

_LONGEST_PATH = 4_096
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
    taken: str = ""
    """Said of a path that was taken for the one asked for."""

    @property
    def footprint(self) -> Footprint:
        return Footprint(reads=tuple(Touch(root, subtree=True) for root in self.roots))

    @property
    def locations(self) -> tuple[Location, ...]:
        return tuple(Location(root) for root in self.roots) if self.named else ()

    def shown_path(self, path: str) -> str:
        """A found path as other tools take it. Blocks when there are several folders."""
        return listed_name(self.workspace.display(path))

    def glob(self, pattern: str) -> GlobPattern:
        """Raises `ToolError`, but for a pattern that is the path of a file as it stands. Blocks."""
        try:
            made, fault = GlobPattern(pattern), None
        except ToolError as error:
            made, fault = None, error
        if made is None or "{" in pattern:
            paths = (os.path.join(root, pattern.lstrip("/")) for root in self.roots)
            if len(pattern) <= _LONGEST_PATH and any(map(os.path.lexists, paths)):
                return GlobPattern(re.sub(r"[\\*?\[\]{}]", r"\\\g<0>", pattern))
        if made is None:
            assert fault is not None
            raise fault
        return made

    def holds(self, path: str) -> bool:
        """Whether a file (real path) is one of the roots or below one."""
        return any(path == root or path.startswith(root.rstrip(os.sep) + os.sep) for root in self.roots)

    def existing(self) -> tuple[str, ...]:
        """The roots that are on disk. Blocks."""
        return tuple(root for root in self.roots if os.path.lexists(root))

    def check(self, held: Collection[str] = ()) -> None:
        """Raises `ToolError` when there is nothing to be searched, or not what was judged. Blocks.

        `held` are files that an editor has; what they lie below may not be on disk yet.
        """
        for root in self.roots:
            if any(path == root or path.startswith(root + os.sep) for path in held) and not (
                os.path.lexists(root)
            ):
                continue
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
    place, taken = locate_to_read(workspace, path)
    shown = f" in {workspace.display(place.real)}"
    return SearchScope(workspace, (place.real,), named=True, shown=shown, taken=taken)


def _outermost(folders: Sequence[str]) -> tuple[str, ...]:
    return tuple(
        folder
        for folder in dict.fromkeys(folders)
        if not any(folder.startswith(other.rstrip(os.sep) + os.sep) for other in folders if other != folder)
    )
