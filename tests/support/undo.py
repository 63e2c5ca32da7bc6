"""Runs that change files on disk and are journalled, ready to be undone."""

from __future__ import annotations

from pathlib import Path

from pilothouse_agent.files.disk_files import DiskFiles
from pilothouse_agent.files.open_files import OpenFiles
from pilothouse_agent.files.queue import WriteQueue
from pilothouse_agent.files.undo.journal import ChangeJournal
from pilothouse_agent.files.undo.rewind import Rewound, rewind
from pilothouse_agent.session.recording import RunRecorder
from support.context import RecordingContext
from support.kernel import soon

__all__ = ["Runs"]


class Runs:
    """`name` is that of the run under way; paths are relative to `folder`."""

    def __init__(self, folder: Path, state: Path, open_files: OpenFiles | None = None) -> None:
        self.folder = folder
        self.name: str | None = "r1"
        self.journal = ChangeJournal(state / "s.jsonl")
        recorder = RunRecorder(self.journal)
        recorder.run_id = lambda: self.name
        self.files = DiskFiles(WriteQueue(), recorder=recorder, open_files=open_files)
        self.scope = RecordingContext()

    async def edit(self, name: str, old: str, new: str) -> None:
        path = str(self.folder / name)
        await soon(
            self.files.edit(path, lambda file: file.text.replace(old, new) if file else "", self.scope)
        )

    async def write(self, name: str, text: str) -> None:
        await soon(self.files.write(str(self.folder / name), text, self.scope))

    async def move(self, name: str, new_name: str) -> None:
        await soon(self.files.move(str(self.folder / name), str(self.folder / new_name), self.scope))

    async def delete(self, name: str) -> None:
        await soon(self.files.delete(str(self.folder / name), self.scope))

    async def undo(self, run_id: str | None = None, *, merge: bool = False) -> Rewound:
        self.name = None
        return await soon(rewind(self.files, self.journal, run_id, merge=merge))

    def actions(self, outcome: Rewound) -> dict[str, str]:
        """What was done, by name."""
        return {str(Path(file.path).relative_to(self.folder)): file.action for file in outcome.files}

    def held(self) -> dict[str, bytes]:
        """Everything there is below the folder."""
        found = (path for path in self.folder.rglob("*") if path.is_file())
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in found}
