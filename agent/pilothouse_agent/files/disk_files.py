"""The file port on disk (kernel.md F1 to F5)."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from functools import partial
from typing import Any, TypeAlias, TypeVar

from pilothouse_agent.files.changed import diff_of_change, event_of_change
from pilothouse_agent.files.consented import NotShown, consented, refuse_unshown
from pilothouse_agent.files.disk import Disk, Gate, Overtaken
from pilothouse_agent.files.disk_texts import Check, DiskTexts, InPlaceOnly, Rewriting
from pilothouse_agent.files.disk_threads import in_thread
from pilothouse_agent.files.done import Done, relocation
from pilothouse_agent.files.doubts import Doubts
from pilothouse_agent.files.encodings import DeclaredEncodings
from pilothouse_agent.files.folders import missing_folders, remove_empty
from pilothouse_agent.files.in_flight import outlast
from pilothouse_agent.files.lines import fit_line_ends, split_lines
from pilothouse_agent.files.open_files import OpenFiles, PartlyChanged
from pilothouse_agent.files.planned import PlannedTexts
from pilothouse_agent.files.queue import WriteQueue
from pilothouse_agent.files.record import CarryingOver, ReadRecord, Spans
from pilothouse_agent.files.recorder import ChangeRecorder, Remains
from pilothouse_agent.files.spelling import own_path, real_path
from pilothouse_agent.files.through_editor import Made, ThroughEditor
from pilothouse_agent.kernel.ports import FileChange, FilePart, FileText, PlannedFiles, TextChange, WriteScope
from pilothouse_agent.kernel.tooling import ToolError

__all__ = ["DiskFiles"]

T = TypeVar("T")

_TRIES = 10
"""How often a change is begun anew because others were there first."""


_Resolve: TypeAlias = Callable[[], Sequence[str]]
_Work: TypeAlias = Callable[[Sequence[str], Gate], Done]
"""Runs in a thread, in the queue turn, with the real paths."""
_Through: TypeAlias = Callable[[ThroughEditor, Sequence[str]], Awaitable[Made | None]]
"""The same by an editor; None: it is to be done on disk."""


class DiskFiles:
    """One session's view of the files; the queue is the process's, the read record its own."""

    def __init__(
        self,
        queue: WriteQueue,
        *,
        display: Callable[[str], str] = str,
        write_limit: float = 30.0,
        disk: Disk | None = None,
        open_files: OpenFiles | None = None,
        recorder: ChangeRecorder | None = None,
        encodings: DeclaredEncodings | None = None,
    ) -> None:
        """`display` shortens paths in messages; `write_limit` is in seconds (kernel.md T7).

        Files that `open_files` holds are read and changed there, and others perhaps by its editor;
        `recorder` is told of every change.
        """
        self._open_files = open_files
        self._recorder = recorder
        self.record = ReadRecord()
        """What this session's model knows; shared with a port that is laid over this one."""
        self._queue = queue
        self._show = display
        self._write_limit = write_limit
        self._doubts = Doubts(self.record, display)
        self._declared = (
            encodings or DeclaredEncodings(editor=open_files.encoding if open_files is not None else None)
        ).of
        self._texts = DiskTexts(disk or Disk(), display, self._declared)
        self._through: ThroughEditor | None = None
        if open_files is not None and open_files.closed is not None:
            self._through = ThroughEditor(
                open_files.closed, self._texts, doubt=self.record.doubt, limit=write_limit
            )

    async def read(self, path: str) -> FileText:
        real = await self._look(real_path, path)
        if self._open_files is not None and await self._open_files.holds(real):
            return await self._open_files.read(real)
        return await self._look(self._texts.open, real)

    async def read_part(self, path: str, offset: int, size: int) -> FilePart | None:
        real = await self._look(real_path, path)
        if self._open_files is not None and await self._open_files.holds(real):
            return None
        return await self._look(self._texts.part, real, offset, size)

    def note_part(self, part: FilePart, lines: int) -> None:
        if part.first > 0:
            self.record.note_part(part.path, part.first, "".join(split_lines(part.text)[:lines]))

    async def exists(self, path: str) -> bool:
        return await self._look(os.path.exists, path)

    def note_read(self, file: FileText, first: int, last: int) -> None:
        self.record.note(file.path, file.text, ((first, last),))

    async def edit(self, path: str, change: TextChange, scope: WriteScope) -> FileChange:
        """`change` runs in a thread, and again whenever others changed the file meanwhile."""
        return await self._change(path, lambda _: change, scope, whole=False)

    async def write(self, path: str, text: str, scope: WriteScope) -> FileChange:
        """Keeps encoding, mark and line ends of a file that is replaced. The same text is not written."""
        return await self._change(
            path, lambda real: partial(self._replacement, real, text), scope, whole=True
        )

    async def move(self, path: str, new_path: str, scope: WriteScope) -> FileChange:
        """A link is moved itself, not what it leads to. `after` is None for what is not text."""

        def resolve() -> Sequence[str]:
            return [own_path(path), own_path(new_path)]

        def work(paths: Sequence[str], gate: Gate) -> Done:
            return self._move(paths[0], paths[1], gate)

        def through(editor: ThroughEditor, paths: Sequence[str]) -> Awaitable[Made | None]:
            return editor.move(paths[0], paths[1], scope)

        return await self._relocate([path, new_path], resolve, work, scope, through)

    async def delete(self, path: str, scope: WriteScope, *, only: str | None = None) -> FileChange:
        """A link is deleted itself, not what it leads to. `before` is None for what is not text.

        With `only` a file that holds another text is refused.
        """

        def check(real: str, text: str | None) -> None:
            if only is not None and text != only:
                raise ToolError(f"{self._show(real)} holds another text now. It was left as it is.")
            refuse_unshown(real, text, scope)

        def work(paths: Sequence[str], gate: Gate) -> Done:
            return self._delete(paths[0], gate, check)

        def through(editor: ThroughEditor, paths: Sequence[str]) -> Awaitable[Made | None]:
            return editor.delete(paths[0], scope, check)

        return await self._relocate([path], lambda: [own_path(path)], work, scope, through)

    async def is_as(self, path: str, remains: Remains) -> bool:
        """Whether there is a file that holds just these bytes."""
        return await self._look(self._texts.is_as, path, remains)

    async def bring_back(self, path: str, remains: Remains, scope: WriteScope) -> FileChange:
        """Make a deleted file anew, byte for byte, never over another."""

        def work(paths: Sequence[str], gate: Gate) -> Done:
            text = self._texts.bring_back(paths[0], remains, gate)
            return Done(FileChange(paths[0], "create", "disk", None, text), lambda _: None)

        return await self._relocate([path], lambda: [own_path(path)], work, scope)

    async def remove_folders(self, folders: Iterable[str]) -> None:
        """Those that are empty."""
        await self._look(remove_empty, folders)

    def plan(self) -> PlannedFiles:
        return PlannedTexts(self._peek, self._declared)

    async def _look(self, work: Callable[..., T], *arguments: Any) -> T:
        try:
            async with asyncio.timeout(self._write_limit):
                return await in_thread(work, *arguments)
        except TimeoutError:
            raise ToolError(
                f"The file system did not answer within {self._write_limit:g} s. Nothing was done; try again "
                "later."
            ) from None

    def _peek(self, path: str) -> FileText | None:
        held = self._open_files.peek(path) if self._open_files is not None else None
        return held or self._texts.find(path)

    async def _change(
        self,
        path: str,
        wanted: Callable[[str], TextChange],
        scope: WriteScope,
        *,
        whole: bool,
    ) -> FileChange:
        """One file's text, wherever it is held; `wanted` gives the change for the real path.

        `whole`: all of the text is the model's, and the file is made when there is none.
        """

        def resolve() -> Sequence[str]:
            return [real_path(path)]

        async with self._turn([path], resolve, scope) as (real,):
            change = consented(wanted(real), real, scope)
            attempt = partial(self._changed, real, change, resolve, scope, whole=whole)
            return await self._begun_anew(real, partial(_shown, attempt))

    async def _begun_anew(self, path: str, attempt: Callable[[], Awaitable[FileChange]]) -> FileChange:
        for _ in range(_TRIES):
            with suppress(Overtaken):
                return await attempt()
        raise ToolError(
            f"{await self._doubts.named(path)} is being changed by others all the time. Nothing was done."
        )

    async def _changed(
        self, real: str, change: TextChange, resolve: _Resolve, scope: WriteScope, *, whole: bool
    ) -> FileChange:
        carrying = CarryingOver(self.record, real, change, whole=whole)
        try:
            done = await self._changed_by_editor(real, carrying, scope, create=whole)
        except PartlyChanged as partly:
            await self._record(Done(partly.change, lambda _: None), scope)
            event = event_of_change(partly.change, await diff_of_change(partly.change), scope.call_id)
            raise ToolError(str(partly), effects=(event,)) from None
        if done is not None:
            await self._record(Done(done, lambda _: None), scope)
            await self._note_change(done, carrying.known(done), whole=whole)
            return done

        def work(paths: Sequence[str], gate: Gate) -> Done:
            return self._rewrite(paths[0], change, gate, whole=whole)

        with scope.committing():
            try:
                done = await self._settle([real], resolve, work, scope)
            except InPlaceOnly as found:
                done = await self._overwritten(real, found.plan, resolve, scope, whole=whole)
            if self._open_files is not None:
                await self._open_files.compare(done)
        return done

    async def _overwritten(
        self, real: str, plan: Rewriting, resolve: _Resolve, scope: WriteScope, *, whole: bool
    ) -> FileChange:
        """The old text is kept before the new one goes over it."""
        done = self._rewritten(real, plan, whole=whole)
        if self._recorder is not None:
            with suppress(TimeoutError):
                await outlast(self._recorder.foretell(done.change, scope.call_id), limit=self._write_limit)

        def work(paths: Sequence[str], gate: Gate) -> Done:
            self._texts.overwrite(paths[0], plan, gate)
            return done

        return await self._settle([real], resolve, work, scope)

    async def _changed_by_editor(
        self, real: str, change: TextChange, scope: WriteScope, *, create: bool
    ) -> FileChange | None:
        """None: it is to be changed on disk."""
        if self._open_files is not None and await self._open_files.holds(real):
            return await self._open_files.change(real, change, scope)
        made = await self._through.rewrite(real, change, scope, create=create) if self._through else None
        return made.change if made is not None else None

    async def _relocate(
        self,
        named: Sequence[str],
        resolve: _Resolve,
        work: _Work,
        scope: WriteScope,
        through: _Through | None = None,
    ) -> FileChange:
        async with self._turn(named, resolve, scope) as paths:
            attempt = partial(self._relocated, paths, resolve, work, scope, through)
            return await self._begun_anew(paths[0], partial(_shown, attempt))

    async def _relocated(
        self,
        paths: Sequence[str],
        resolve: _Resolve,
        work: _Work,
        scope: WriteScope,
        through: _Through | None,
    ) -> FileChange:
        if self._open_files is not None:
            await self._open_files.refuse_unsaved(paths)
        if through is not None and self._through is not None:
            made = await through(self._through, paths)
            if made is not None:
                return await self._told(relocation(made.change, made.remains), scope)
        with scope.committing():
            return await self._settle(paths, resolve, work, scope)

    @asynccontextmanager
    async def _turn(
        self, named: Sequence[str], resolve: _Resolve, scope: WriteScope
    ) -> AsyncGenerator[tuple[str, ...]]:
        with ExitStack() as announced:
            for path in named:
                announced.enter_context(scope.pending_write(path))
            async with self._queue.turn(resolve, signal=scope.signal) as paths:
                await self._doubts.refuse(paths)
                yield paths

    async def _settle(
        self, paths: Sequence[str], resolve: _Resolve, work: _Work, scope: WriteScope
    ) -> FileChange:
        gate = Gate()

        def checked() -> Done:
            self._refuse_diverted(paths, resolve())
            return work(paths, gate)

        try:
            done = await outlast(in_thread(checked), limit=self._write_limit)
        except TimeoutError:
            if gate.close():
                raise await self._doubts.unbegun(paths, self._write_limit) from None
            raise await self._doubts.unended(paths, self._write_limit) from None
        return await self._told(done, scope)

    async def _told(self, done: Done, scope: WriteScope) -> FileChange:
        done.note(self.record)
        await self._record(done, scope)
        return done.change

    async def _record(self, done: Done, scope: WriteScope) -> None:
        """Ends with the record made also when the call is cancelled: the change is there."""
        change = done.change
        if self._recorder is None or (change.kind == "modify" and change.before == change.after):
            return
        with suppress(TimeoutError):
            telling = self._recorder.record(change, scope.call_id, done.remains)
            await outlast(telling, limit=self._write_limit)

    async def _note_change(self, change: FileChange, known: Spans | None, *, whole: bool) -> None:
        if known is not None:
            self.record.note(change.path, change.after or "", known)
            return
        with suppress(TimeoutError):
            noting = in_thread(partial(self.record.note_change, change, whole=whole))
            await outlast(noting, limit=self._write_limit)

    def _rewrite(self, path: str, change: TextChange, gate: Gate, *, whole: bool) -> Done:
        folders = missing_folders(path) if whole else ()
        plan = self._texts.rewrite(path, change, gate, create=whole)
        return self._rewritten(path, plan, whole=whole, folders=folders)

    def _rewritten(self, path: str, plan: Rewriting, *, whole: bool, folders: tuple[str, ...] = ()) -> Done:
        before, after = plan.before, plan.after
        if before is None:
            done = FileChange(path, "create", "disk", None, after.text, folders=folders)
        else:
            done = FileChange(path, "modify", "disk", before.text, after.text)
        known = self.record.known_after(done, whole=whole)
        return Done(done, lambda record: record.note(path, after.text, known))

    def _replacement(self, path: str, text: str, file: FileText | None) -> str:
        if file is None:
            return text
        text = fit_line_ends(text, file.text)
        reason = self.record.unread(path, file.text)
        if reason and text != file.text:
            raise ToolError(
                f"{self._show(path)} was not replaced: {reason} with read_file first, then write it again."
            )
        return text

    def _move(self, path: str, new_path: str, gate: Gate) -> Done:
        folders = missing_folders(new_path)
        text = self._texts.move(path, new_path, gate)
        return relocation(FileChange(new_path, "rename", "disk", None, text, source=path, folders=folders))

    def _delete(self, path: str, gate: Gate, check: Check) -> Done:
        text, remains = self._texts.delete(path, gate, check)
        return relocation(FileChange(path, "delete", "disk", text, None), remains)

    def _refuse_diverted(self, paths: Sequence[str], paths_now: Sequence[str]) -> None:
        if list(paths) != list(paths_now):
            listed = " and ".join(self._show(path) for path in paths)
            raise ToolError(f"The path does not lead to {listed} any more. Nothing was done; try again.")


async def _shown(attempt: Callable[[], Awaitable[FileChange]]) -> FileChange:
    """Asks about what the user has not seen, and begins anew."""
    while True:
        try:
            return await attempt()
        except NotShown as unseen:
            await unseen.consent.extend(unseen.diff)
