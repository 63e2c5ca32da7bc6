"""Texts of the agent that only the editor held, and that are gone: reverted, undone, closed unsaved."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from pilothouse_agent.files.workspace import Workspace
from pilothouse_agent.kernel.ports import FileChange
from pilothouse_server.documents.document import Document, DocumentEvent
from pilothouse_server.documents.documents import Documents
from pilothouse_server.edits.edit_traces import is_absent

__all__ = ["LostTexts"]

_KEPT = 20
"""Changes of one file that are watched, the latest ones."""
_PAUSE = 0.5
"""Seconds before a text is looked at: changes come in a row, and one that replaces another is no loss."""


class LostTexts:
    """Of one session. Implements the kernel's `NewsSource`; `close` ends its watching."""

    def __init__(
        self,
        documents: Documents,
        workspace: Workspace,
        tell: Callable[[str], object],
        *,
        pause: float = _PAUSE,
    ) -> None:
        """`tell` is for what the user must know."""
        self._documents = documents
        self._workspace = workspace
        self._tell = tell
        self._pause = pause
        self._held: dict[str, list[tuple[str, str]]] = {}
        """Before and after, oldest first, by real path."""
        self._looking: dict[str, asyncio.Task[None]] = {}
        self._stirred: set[str] = set()
        """Paths whose text is another since it was looked at."""
        self._lost: list[str] = []
        self._forget = documents.watch(self._heard)

    async def changed(self, change: FileChange) -> None:
        """Must be told of every change of the agent."""
        if change.via != "editor" or change.kind != "modify" or change.before is None or change.after is None:
            self._held.pop(change.path, None)
            return
        held = await asyncio.to_thread(_standing, self._held.get(change.path, []), change.after)
        self._held[change.path] = [*held, (change.before, change.after)][-_KEPT:]

    def take(self) -> Sequence[tuple[str, str]]:
        lost, self._lost = self._lost, []
        return [("lostText", "\n".join(lost))] if lost else []

    @property
    def looking(self) -> list[asyncio.Task[None]]:
        """The looks that are under way."""
        return list(self._looking.values())

    def close(self) -> None:
        self._forget()
        for task in self._looking.values():
            task.cancel()

    def _heard(self, document: Document, event: DocumentEvent) -> None:
        path = document.real_path
        if path is None or path not in self._held:
            return
        if event == "saved":
            del self._held[path]
            return
        self._stirred.add(path)
        if path not in self._looking:
            self._looking[path] = task = asyncio.create_task(self._look(path))
            task.add_done_callback(lambda _: self._looking.pop(path, None))

    async def _look(self, path: str) -> None:
        while path in self._stirred:
            await asyncio.sleep(self._pause)
            self._stirred.discard(path)
            await self._compare(path)

    async def _compare(self, path: str) -> None:
        text = await self._text(path)
        held = self._held.get(path, [])
        if text is None or not held:
            return
        standing = await asyncio.to_thread(_standing, held, text)
        if len(standing) == len(held) or self._held.get(path) != held:
            return
        self._held[path] = standing
        shown = await asyncio.to_thread(self._workspace.display, path)
        self._lost.append(
            f"[A change of {shown} that you were told was made is gone: it stood in the editor only, and was "
            "undone, reverted or closed there without being saved. Read the file before you go on.]"
        )
        self._tell(f"A change of {shown} by the agent is gone: it was not saved before it left the editor.")

    async def _text(self, path: str) -> str | None:
        """What is left: in the editor, or on disk once it is closed; None when that is not known."""
        found = self._documents.of_path(path)
        if found:
            return None if found[0].doubt else found[0].text
        look = await self._documents.looks.at(path)
        return None if look is None else look.text or ""


def _standing(held: Sequence[tuple[str, str]], text: str) -> list[tuple[str, str]]:
    """Those of which something is in the text; in doubt they are."""
    return [each for each in held if not is_absent(*each, text)]
