"""One workspace edit of one document: sent once, and believed only when it is seen (design.md, step 7)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from pilothouse_agent.kernel.tooling import Hunk
from pilothouse_server import method_names as names
from pilothouse_server.document import Document, DocumentEvent
from pilothouse_server.text_edits import TextEdit, same_but_last_end, workspace_edit
from pilothouse_server.transport.rpc import ClientGone, RequestFault, Rpc

__all__ = ["EditRequest", "Limits", "Outcome"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds."""

    answer: float = 15
    """For the client's answer."""
    sight: float = 5
    """After a yes, for the text to arrive."""
    retry: float = 1
    """After a no, for a newer text that explains it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    kind: Literal["applied", "refused", "otherwise", "unknown"]
    """`otherwise`: the editor said yes and the text is another than was asked for."""
    text: str = ""
    """For applied: the document as it was when the edit was seen."""
    reason: str = ""


class EditRequest:
    """Watches the document from before the edit is sent, so that nothing is missed."""

    def __init__(self, rpc: Rpc, document: Document, *, expected: str, hunks: Sequence[Hunk]) -> None:
        """`expected` is the whole text the edit makes; `hunks` its changes with their context."""
        self._rpc = rpc
        self._document = document
        self._expected = expected
        self._hunks = hunks
        self._seen: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._changed = False
        self._said_yes = False

    async def send(self, edits: Sequence[TextEdit], label: str, limits: Limits) -> Outcome:
        """Must be called in the step in which version and text were compared."""
        document = self._document
        edit = workspace_edit(document.uri, document.version, edits)
        forget = document.watch(self._look)
        asking = asyncio.ensure_future(
            self._rpc.request(names.APPLY_EDIT, {"label": label, "edit": edit}, limit=limits.answer)
        )
        asking.add_done_callback(_take)
        try:
            await asyncio.wait({asking, self._seen}, return_when=asyncio.FIRST_COMPLETED)
            if self._seen.done():
                return Outcome("applied", self._seen.result())
            return await self._judge(_answer(asking), limits)
        finally:
            forget()

    async def _judge(self, answer: tuple[bool | None, str], limits: Limits) -> Outcome:
        applied, reason = answer
        self._said_yes = applied is True
        if self._said_yes and self._changed and self._stands():
            return Outcome("applied", self._document.text)
        if await self._in_sight(limits.retry if applied is False else limits.sight):
            return Outcome("applied", self._seen.result())
        if applied is False:
            return Outcome("refused", reason=reason)
        if applied is None or not self._changed:
            return Outcome("unknown", reason=reason)
        return Outcome("otherwise", self._document.text)

    async def _in_sight(self, limit: float) -> bool:
        """Wait for the text that was asked for, or after a yes for one in which all of the edit stands."""
        try:
            async with asyncio.timeout(limit):
                await asyncio.shield(self._seen)
        except TimeoutError:
            return False
        return True

    def _look(self, document: Document, event: DocumentEvent) -> None:
        """At every single change, since the next one may be the user's."""
        if event != "changed":
            return
        self._changed = True
        if self._seen.done():
            return
        if same_but_last_end(document.text, self._expected) or (self._said_yes and self._stands()):
            self._seen.set_result(document.text)

    def _stands(self) -> bool:
        """Whether every hunk is in the text, though the user has changed other places."""
        text = self._document.text
        news = ("".join(line[1:] for line in hunk.lines if line[0] != "-") for hunk in self._hunks)
        return all(new in text for new in news)


def _answer(asking: asyncio.Future[Any]) -> tuple[bool | None, str]:
    """Whether the client says that it applied the edit (None: it says nothing), and its reason."""
    try:
        answer = asking.result()
    except RequestFault as fault:
        return False, str(fault)
    except TimeoutError:
        return None, "the editor did not answer"
    except ClientGone as gone:
        return None, str(gone)
    fields = cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}
    reason = fields.get("failureReason")
    if fields.get("applied") is True:
        return True, "the editor says that it was applied, but the text has not changed"
    return False, str(reason) if reason else "the editor refused without a reason"


def _take(asking: asyncio.Future[Any]) -> None:
    if not asking.cancelled():
        asking.exception()
