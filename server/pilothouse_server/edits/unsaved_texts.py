"""What a shell command would not see: texts that only the editor holds."""

from __future__ import annotations

import logging
import os
from pathlib import PurePath

from pilothouse_agent.files.same_text import same_text
from pilothouse_agent.files.workspace import Workspace
from pilothouse_agent.kernel.ports import FileChange
from pilothouse_server.documents.document import Document
from pilothouse_server.documents.documents import Documents
from pilothouse_server.edits.saving import ask_to_save
from pilothouse_server.transport.rpc import Rpc

__all__ = ["OWN_FOLDER", "UnsavedTexts"]

logger = logging.getLogger(__name__)

OWN_FOLDER = ".pilothouse"
_NAMED = 10


class UnsavedTexts:
    """Of one session. Saves before a command what is the agent's alone, and names the rest.

    Saved is a document whose text was on disk before the agent's first edit and that nobody else has
    changed since: half a sentence of the user is no business of a command.
    """

    def __init__(self, rpc: Rpc, documents: Documents, workspace: Workspace, *, can_save: bool) -> None:
        self._rpc = rpc
        self._documents = documents
        self._workspace = workspace
        self._can_save = can_save
        self._own: dict[str, str] = {}
        """What the agent made of a text that was on disk, by real path."""

    async def changed(self, change: FileChange) -> None:
        """Must be told of every change of the agent."""
        own = self._own.pop(change.path, None)
        if change.via != "editor" or change.before is None or change.after is None:
            return
        if own == change.before or await self._on_disk(change.path, change.before):
            self._own[change.path] = change.after

    async def before_command(self) -> list[str]:
        """Notes for the command's result."""
        unsaved = await self._unsaved(self._documents.all())
        own = [document for document in unsaved if self._is_own(document)]
        if own and self._can_save:
            if refusal := await ask_to_save(self._rpc, own):
                logger.warning("The editor did not save before a command: %s", refusal)
            unsaved = await self._unsaved(unsaved)
        return [_note(sorted(self._shown(document) for document in unsaved))] if unsaved else []

    def _is_own(self, document: Document) -> bool:
        return not document.doubt and self._own.get(document.real_path or "") == document.text

    async def _unsaved(self, documents: list[Document]) -> list[Document]:
        found: list[Document] = []
        for document in documents:
            if self._may_be_unsaved(document) and not await self._on_disk(
                document.real_path or "", document.text
            ):
                found.append(document)
        return found

    def _may_be_unsaved(self, document: Document) -> bool:
        path = document.real_path
        if path is None or document.closed or not self._workspace.contains(path):
            return False
        return OWN_FOLDER not in PurePath(path).parts and document.text != document.saved

    async def _on_disk(self, path: str, text: str) -> bool:
        """Whether the disk holds this text; not when it does not answer in time."""
        found = await self._documents.looks.at(path)
        return found is not None and found.text is not None and same_text(text, found.text)

    def _shown(self, document: Document) -> str:
        return (document.real_path or document.uri).removeprefix(self._workspace.cwd.rstrip(os.sep) + os.sep)


def _note(shown: list[str]) -> str:
    more = f" and {len(shown) - _NAMED} more" if len(shown) > _NAMED else ""
    listed = ", ".join(shown[:_NAMED]) + more
    return f"unsaved in the editor, so the command saw what is on disk instead: {listed}"
