"""Documents without a change of their own whose file has become another on disk."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from pilothouse_agent.files.same_text import same_text
from pilothouse_agent.files.workspace import Workspace
from pilothouse_agent.kernel.hooks import FinishedCall, ResultPatch
from pilothouse_agent.kernel.messages import TextBlock
from pilothouse_server.documents.document import Document
from pilothouse_server.documents.documents import Documents
from pilothouse_server.transport.rpc import ClientGone, RequestFault, Rpc
from pilothouse_server.wire import method_names as names

__all__ = ["OvertakenAfterCommands", "ask_to_reload"]

logger = logging.getLogger(__name__)

_NAMED = 10
_RELOAD_LIMIT = 5.0


async def ask_to_reload(rpc: Rpc, documents: Sequence[Document]) -> None:
    """Only of clients that declare `reload`. Raises nothing."""
    try:
        uris = [document.uri for document in documents]
        await rpc.request(names.RELOAD, {"uris": uris}, limit=_RELOAD_LIMIT)
    except (RequestFault, TimeoutError, ClientGone) as error:
        logger.warning("The editor did not reload: %s", error or "no answer")


class OvertakenAfterCommands:
    """A hook: what a command has changed behind the editor is reloaded, or named in the command's result."""

    def __init__(
        self, rpc: Rpc, documents: Documents, workspace: Workspace, *, can_reload: bool, patience: float = 1
    ) -> None:
        """`patience`: seconds in which editors that look at the disk by themselves may reload."""
        self._rpc = rpc
        self._documents = documents
        self._workspace = workspace
        self._can_reload = can_reload
        self._patience = patience

    async def after_tool_result(self, finished: FinishedCall) -> ResultPatch | None:
        if finished.call.name != "bash":
            return None
        found = await self._overtaken(self._documents.all())
        if found and self._can_reload:
            await ask_to_reload(self._rpc, found)
        for document in found:
            await document.changed(document.version, self._patience)
        found = await self._overtaken(found)
        if not found:
            return None
        shown = await asyncio.to_thread(self._shown, [document.real_path or "" for document in found])
        more = f" and {len(shown) - _NAMED} more" if len(shown) > _NAMED else ""
        text = (
            f"\n[changed on disk, while the editor still shows the text from before: "
            f"{', '.join(shown[:_NAMED])}{more}. Ask the user to reload that before it is edited]\n"
        )
        return ResultPatch(content=(*finished.result.content, TextBlock(text)))

    def _shown(self, paths: Sequence[str]) -> list[str]:
        """Blocks: call in a thread."""
        return sorted(map(self._workspace.display, paths))

    async def _overtaken(self, documents: Sequence[Document]) -> list[Document]:
        found: list[Document] = []
        for document in documents:
            path = document.real_path
            if path is None or document.closed or document.doubt or document.text != document.met:
                continue
            if not self._workspace.contains(path):
                continue
            look = await self._documents.looks.at(path, encoding=document.read_as)
            if look is not None and look.text is not None and not same_text(document.text, look.text):
                found.append(document)
        return found
