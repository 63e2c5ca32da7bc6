"""Undoes what a run did to files: only where they are still as it left them, never blindly."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pilothouse_agent.files.codec import NotText
from pilothouse_agent.files.disk_files import DiskFiles
from pilothouse_agent.files.undo.journal import ChangeJournal
from pilothouse_agent.files.undo.trails import Changed, Standing, Trail, trails
from pilothouse_agent.kernel.abort import AbortSignal
from pilothouse_agent.kernel.ports import FileText
from pilothouse_agent.kernel.tooling import ToolError

__all__ = ["Rewound", "RewoundFile", "rewind"]

logger = logging.getLogger(__name__)

Action: TypeAlias = Literal["restored", "deleted", "created", "moved", "unchanged", "offered", "conflict"]


@dataclass(frozen=True, slots=True)
class RewoundFile:
    path: str
    """Where the file stands now; of an offer and a conflict, where it was left."""
    action: Action
    source: str | None = None
    """Where it was moved back from."""
    text: str | None = None
    """Of an offer: the text with the run's change taken out and everything else left in."""
    reason: str | None = None
    """Of a conflict: a sentence. Nothing was done then, unless it says otherwise."""


@dataclass(frozen=True, slots=True)
class Rewound:
    run_id: str | None
    """None: no run has changed any file, or all are undone."""
    files: tuple[RewoundFile, ...] = ()
    complete: bool = True
    """Every change of the run was still known."""

    @property
    def changed(self) -> tuple[RewoundFile, ...]:
        return tuple(file for file in self.files if file.action not in ("unchanged", "offered", "conflict"))


async def rewind(
    files: DiskFiles,
    journal: ChangeJournal,
    run_id: str | None = None,
    *,
    merge: bool = False,
) -> Rewound:
    """Undo a run, by default the last one that changed files and is not undone.

    Where others have changed a file since, the text with only the run's change taken out is offered, and
    with `merge` it is put there. Raises `KeyError` for a run of which nothing is known, and `OSError`
    when the journal cannot be read.
    """
    found = await asyncio.to_thread(journal.run, run_id)
    if found is None:
        if run_id is not None:
            raise KeyError(run_id)
        return Rewound(None)
    planner = _Planner(files, merge=merge)
    changed = trails(found.entries)
    for trail in changed:
        await planner.plan(trail)
    done = planner.settled
    for plan in sorted(planner.plans.values(), key=lambda plan: plan.order):
        done[id(plan.trail)] = await plan.carry_out(files)
    await files.remove_folders(folder for entry in found.entries for folder in entry.change.folders)
    result = Rewound(found.run_id, tuple(done[id(trail)] for trail in changed), found.complete)
    if not any(file.action in ("offered", "conflict") for file in result.files):
        await asyncio.to_thread(_mark, journal, found.run_id)
    return result


def _mark(journal: ChangeJournal, run_id: str) -> None:
    try:
        journal.mark_undone(run_id)
    except OSError:
        logger.exception("The change journal could not be written")


class _Scope:
    """Whom the changes are made for: nobody's call, and so not recorded as one."""

    consent = None
    call_id = ""

    def __init__(self) -> None:
        self.signal = AbortSignal()

    @contextmanager
    def pending_write(self, path: str) -> Generator[None]:
        yield

    @contextmanager
    def committing(self) -> Generator[None]:
        yield


@dataclass(slots=True)
class _Plan:
    """What is to become of one file."""

    trail: Trail
    now: Standing
    target: Standing
    merge: bool

    @property
    def order(self) -> int:
        """Names are given free before files are moved to them, and moved before others are made."""
        return int(self.target.exists) if self.now.exists else 2

    async def carry_out(self, files: DiskFiles) -> RewoundFile:
        trail, place = self.trail, self.trail.path
        try:
            if not self.target.exists:
                await files.delete(place, _Scope(), only=self.now.text)
                return RewoundFile(place, "deleted")
            if not self.now.exists:
                await self._bring_back(files, self.target)
                return RewoundFile(trail.origin, "created")
            return await self._moved_and_restored(files)
        except ToolError as error:
            return RewoundFile(place, "conflict", reason=str(error))

    async def _bring_back(self, files: DiskFiles, target: Standing) -> None:
        """As it was when it was deleted, then with the text it had before the run."""
        assert target.remains is not None
        back = await files.bring_back(self.trail.origin, target.remains, _Scope())

        def changed(file: FileText | None) -> str:
            if file is None or file.text != back.after or target.text is None:
                raise ToolError("It was changed just now. It is as it was when it was deleted.")
            return target.text

        if target.text != back.after:
            await files.edit(self.trail.origin, changed, _Scope())

    async def _moved_and_restored(self, files: DiskFiles) -> RewoundFile:
        trail, source = self.trail, None
        if trail.origin != trail.path:
            await files.move(trail.path, trail.origin, _Scope())
            source = trail.path
        if self.target.text == self.now.text:
            return RewoundFile(trail.origin, "moved", source)
        try:
            await files.edit(trail.origin, self._back, _Scope())
        except ToolError as error:
            moved = f"It was moved back from {source}, but its text was not restored. " if source else ""
            return RewoundFile(trail.origin, "conflict", source, reason=f"{moved}{error}")
        return RewoundFile(trail.origin, "restored", source)

    def _back(self, file: FileText | None) -> str:
        """On the newest text, in the file's queue turn."""
        assert file is not None
        try:
            target = self.trail.back(Standing(exists=True, text=file.text))
        except Changed as error:
            raise ToolError(f"{error}. Nothing was done to its text.") from None
        if target.text is None or (target.merged and not self.merge):
            raise ToolError("It was changed just now. Nothing was done to its text; try again.")
        return target.text


class _Planner:
    """Plans each file after those that stand in its places; files in a circle know nothing of each other."""

    def __init__(self, files: DiskFiles, *, merge: bool) -> None:
        self.plans: dict[int, _Plan] = {}
        self.settled: dict[int, RewoundFile] = {}
        """Where nothing is to be done."""
        self._files = files
        self._merge = merge
        self._begun: set[int] = set()

    async def plan(self, trail: Trail) -> None:
        if id(trail) in self._begun:
            return
        self._begun.add(id(trail))
        for other in (trail.behind, trail.ahead):
            if other is not None:
                await self.plan(other)
        try:
            planned = await self._planned(trail)
        except (Changed, ToolError) as error:
            reason = str(error) if isinstance(error, ToolError) else f"Nothing was done, since {error}."
            planned = RewoundFile(trail.path, "conflict", reason=reason)
        if isinstance(planned, _Plan):
            self.plans[id(trail)] = planned
        else:
            self.settled[id(trail)] = planned

    async def _planned(self, trail: Trail) -> _Plan | RewoundFile:
        behind = self.settled.get(id(trail.behind))
        going = id(trail.behind) in self.plans or (behind is not None and behind.action != "unchanged")
        now = Standing(exists=False) if going else await _standing(self._files, trail.path)
        if id(trail.ahead) not in self.plans and await _is_back(self._files, trail, now):
            return RewoundFile(trail.origin, "unchanged")
        target = trail.back(now)
        if not now.exists and not target.exists:
            return RewoundFile(trail.path, "unchanged")
        if trail.origin == trail.path and now.exists and target.exists and now.text == target.text:
            return RewoundFile(trail.origin, "unchanged")
        if target.merged and not self._merge:
            return RewoundFile(trail.path, "offered", text=target.text)
        return _Plan(trail, now, target, self._merge)


async def _is_back(files: DiskFiles, trail: Trail, now: Standing) -> bool:
    """Whether it stands as before the run already, so that undoing twice does nothing."""
    before = trail.before
    if trail.origin != trail.path:
        return not now.exists and await files.exists(trail.origin)
    if not (now.exists and before.exists and now.text is None):
        return now.exists == before.exists and now.text == before.text
    return before.remains is not None and await files.is_as(trail.path, before.remains)


async def _standing(files: DiskFiles, path: str) -> Standing:
    if not await files.exists(path):
        return Standing(exists=False)
    try:
        return Standing(exists=True, text=(await files.read(path)).text)
    except NotText:
        return Standing(exists=True)
