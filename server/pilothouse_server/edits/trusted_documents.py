"""The open documents of files, as far as their text can be trusted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from pilothouse_agent.kernel.tooling import ToolError
from pilothouse_server.documents.document import Document
from pilothouse_server.documents.documents import Documents

__all__ = ["TrustedDocuments"]

_CELLS_NAMED = 30


class TrustedDocuments:
    def __init__(self, documents: Documents, show: Callable[[str], str], *, settle: float) -> None:
        """`show` names a file for messages and blocks; `settle` are the seconds that an edit in doubt is
        given to be told of."""
        self._documents = documents
        self._show = show
        self._settle = settle

    async def settled_document(self, path: str) -> Document:
        """As `document` once it has settled, naming the file only when it must."""
        await self.settled(path)
        found = self._documents.of_path(path)
        if len(found) == 1 and not found[0].doubt:
            return found[0]
        return self.document(path, await asyncio.to_thread(self._show, path))

    async def settled(self, path: str) -> None:
        """What an edit has left in doubt is often told a little later."""
        for document in self._documents.of_path(path):
            await document.settled(self._settle)

    async def refuse_notebook(self, path: str) -> None:
        """Its cells may have text that the file has not."""
        cells = self._documents.cells_of(path)
        if cells:
            shown = await asyncio.to_thread(self._show, path)
            listed = ", ".join(cell.uri for cell in cells[:_CELLS_NAMED])
            raise ToolError(
                f"{shown} is open as a notebook, whose cells may have text that is not saved. Nothing was "
                f"done. Read and edit its cells by their URIs instead: {listed}."
            )

    def document(self, path: str, shown: str, *, unsettled: bool = False) -> Document:
        """The one open document of a file, when its text can be trusted.

        `unsettled`: also when an edit may still arrive in it.
        """
        found = self._documents.of_path(path)
        if not found:
            raise ToolError(f"{shown} was closed in the editor meanwhile. Try again.")
        if len(found) > 1:
            names = ", ".join(document.uri for document in found)
            raise ToolError(
                f"{shown} is open twice, as {names}. Ask the user to close one of them; a change of one "
                "would be lost by saving the other."
            )
        doubt = found[0].lost if unsettled else found[0].doubt
        if doubt:
            raise ToolError(
                f"The editor's text of {shown} is not known for certain: {doubt}. Ask the user to save or "
                "reopen it."
            )
        return found[0]
