"""A path argument of a tool, understood once and held to it."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass

from pilothouse_agent.files.folders import missing_folders
from pilothouse_agent.files.workspace import Workspace
from pilothouse_agent.kernel.ports import PlannedFiles
from pilothouse_agent.kernel.tooling import InvalidArguments, ToolError, Touch, Violation

__all__ = ["Place", "locate", "planned_text"]


@dataclass(frozen=True, slots=True)
class Place:
    path: str
    """Absolute; symlinks kept."""
    own: str
    """The real path of the name itself: symlinks on the way followed, a link at its end not."""
    real: str
    """All symlinks followed."""
    shown: str
    """As messages name it."""
    new_folders: tuple[str, ...]
    """Folders on the way that did not exist."""

    @property
    def is_link(self) -> bool:
        return self.own != self.real

    @property
    def touches(self) -> tuple[Touch, ...]:
        """What a change of the file touches: the file, and folders that have to be made."""
        return tuple(Touch(path) for path in (self.real, *self.new_folders))

    @property
    def own_touches(self) -> tuple[Touch, ...]:
        """What a change of the name touches: also the name itself when it is a link."""
        return tuple(Touch(path) for path in dict.fromkeys((self.own, self.real, *self.new_folders)))

    async def confirm(self) -> None:
        """As `check`, in a thread."""
        await asyncio.to_thread(self.check)

    def check(self) -> None:
        """Raises `ToolError` when the path leads elsewhere than where it was judged and approved. Blocks."""
        real = os.path.realpath(self.path)
        if real != self.real:
            raise ToolError(
                f"{self.shown} led to {self.real} when this call was judged, and leads to {real} now. "
                "Nothing was done; issue the call again."
            )


def locate(workspace: Workspace, given: str, *, argument: str = "path") -> Place:
    """Looks at the disk. Raises `InvalidArguments` naming the argument."""
    try:
        path = workspace.resolve(given)
    except ToolError as error:
        raise InvalidArguments((Violation(argument, str(error)),)) from None
    folder, name = os.path.split(path)
    real = os.path.realpath(path)
    return Place(
        path,
        os.path.join(os.path.realpath(folder), name),
        real,
        workspace.display(path),
        missing_folders(real),
    )


async def planned_text(place: Place, planned: PlannedFiles) -> str | None:
    """The text of a file that is to be moved or deleted; None for what is not text or not known yet.

    Raises `ToolError` for what cannot be moved or deleted.
    """
    try:
        file = await planned.text(place.own)
    except ToolError:
        if planned.uncertain or not await asyncio.to_thread(os.path.isdir, place.own):
            return None
        raise
    if file is None and not planned.uncertain:
        raise ToolError(f"{place.shown} does not exist. Use glob_file to find it.")
    return file.text if file else None
