"""A path argument of a tool, understood once and held to it."""

from __future__ import annotations

import os
from dataclasses import dataclass

from pilothouse_agent.files.disk_threads import in_thread, look
from pilothouse_agent.files.folders import missing_folders
from pilothouse_agent.files.near_names import listed_name, near_path, telling_name
from pilothouse_agent.files.spelling import line_key, own_path, real_path
from pilothouse_agent.files.workspace import Workspace
from pilothouse_agent.kernel.foreign_documents import uri_for_path
from pilothouse_agent.kernel.ports import PlannedFiles
from pilothouse_agent.kernel.tooling import InvalidArguments, ToolError, Touch, Violation
from pilothouse_agent.tools.visible import visible

__all__ = ["Place", "locate", "locate_to_change", "locate_to_read", "planned_text"]


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
    key: str
    """The same for all spellings that may be one new file; `real` for one that is there."""

    @property
    def is_link(self) -> bool:
        return self.own != self.real

    @property
    def touches(self) -> tuple[Touch, ...]:
        """What a change of the file touches: the file, and folders that have to be made."""
        return tuple(Touch(path) for path in dict.fromkeys((self.real, self.key, *self.new_folders)))

    @property
    def own_touches(self) -> tuple[Touch, ...]:
        """What a change of the name touches: also the name itself when it is a link."""
        paths = (self.own, self.real, self.key, *self.new_folders)
        return tuple(Touch(path) for path in dict.fromkeys(paths))

    async def confirm(self) -> None:
        """As `check`, in a thread."""
        await in_thread(self.check)

    def check(self) -> None:
        """Raises `ToolError` when the path leads elsewhere than where it was judged and approved. Blocks."""
        real = real_path(self.path)
        if real != self.real:
            raise ToolError(
                f"{self.shown} led to {self.real} when this call was judged, and leads to {real} now. "
                "Nothing was done; issue the call again."
            )


def locate_to_read(workspace: Workspace, given: str, *, argument: str = "path") -> tuple[Place, str]:
    """As `locate`; where nothing has that name and one looks like it, that one and a note that says so."""
    try:
        place = locate(workspace, given, argument=argument)
        sought = [place.path]
    except InvalidArguments:
        # Lists show some names with escapes, which are no good paths otherwise.
        place, sought = None, [os.path.join(folder, given) for folder in workspace.folders if "\\" in given]
        if not sought:
            raise
    near = look(lambda: next(filter(None, map(near_path, sought)), None), visible(given))
    if near is None:
        return place or locate(workspace, given, argument=argument), ""
    taken = locate(workspace, near, argument=argument)
    return taken, f"There is no {listed_name(given)!r}; this is the only one that looks like it: " + (
        f"{telling_name(taken.shown)}."
    )


def locate_to_change(workspace: Workspace, given: str, *, argument: str = "path") -> Place:
    """As `locate`; raises for what can only be read, too."""
    place = locate(workspace, given, argument=argument)
    if uri_for_path(place.path) is None:
        return place
    told = (
        f"{visible(place.shown)} is a document in the editor that is not a file here, and can only be read. "
        "Change the file that it was made from, or write a file of your own"
    )
    raise InvalidArguments((Violation(argument, told),))


def locate(workspace: Workspace, given: str, *, argument: str = "path") -> Place:
    """Looks at the disk. Raises `InvalidArguments` naming the argument."""
    try:
        return look(lambda: _located(workspace, given), visible(given))
    except ToolError as error:
        raise InvalidArguments((Violation(argument, str(error)),)) from None


def _located(workspace: Workspace, given: str) -> Place:
    path = workspace.resolve(given)
    real = real_path(path)
    key = real if os.path.lexists(real) else line_key(real)
    return Place(path, own_path(path), real, workspace.display(path), missing_folders(real), key)


async def planned_text(place: Place, planned: PlannedFiles) -> str | None:
    """The text of a file that is to be moved or deleted; None for what is not text or not known yet.

    Raises `ToolError` for what cannot be moved or deleted.
    """
    try:
        file = await planned.text(place.own)
    except ToolError:
        if planned.uncertain or not await in_thread(os.path.isdir, place.own):
            return None
        raise
    if file is None and not planned.uncertain:
        raise ToolError(f"{place.shown} does not exist. Use glob_file to find it.")
    return file.text if file else None
