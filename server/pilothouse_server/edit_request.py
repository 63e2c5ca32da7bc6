"""One workspace edit of one document: sent once, and believed only when it is seen (design.md, step 7)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, cast

from pilothouse_agent.files.same_text import same_but_last_end
from pilothouse_agent.kernel.abort import AbortSignal
from pilothouse_server import method_names as names
from pilothouse_server.clients import USUAL, ClientProfile
from pilothouse_server.document import Document, DocumentEvent
from pilothouse_server.edit_traces import is_absent, stands
from pilothouse_server.text_edits import TextEdit, workspace_edit
from pilothouse_server.transport.rpc import ClientGone, RequestFault, Rpc

__all__ = ["Answer", "EditRequest", "Limits", "Outcome", "answer_of", "unlike"]

_ABSENT = "but it is not in its text, which others have changed meanwhile"
_DIFFERENT = "and its text is now another than was asked for, perhaps formatted"
_SKIPPED = "the editor left it out, since its text had changed"
_LAST_END = "but did not change the end of the last line, which some editors keep to themselves"


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds."""

    answer: float = 15
    """For the client's answer."""
    sight: float = 5
    """After a yes, for the text to arrive."""
    retry: float = 1
    """After a no, for a newer text that explains it."""
    save: float = 10
    """For the client's answer to being asked to save."""
    settle: float = 30
    """For a change that tells what became of an edit, where the client may hold it back so long."""


@dataclass(frozen=True, slots=True)
class Outcome:
    kind: Literal["applied", "refused", "otherwise", "unknown"]
    """`otherwise`: the editor said yes, and its text is another than was asked for."""
    text: str = ""
    """For applied: what the edit made, without what the user changed meanwhile."""
    reason: str = ""
    explained: bool = False
    """For refused: a newer text has come, for which the edit was not meant."""


class Answer(NamedTuple):
    """What a client said to an edit."""

    kind: Literal["yes", "no", "unclear", "none"]
    reason: str = ""


class EditRequest:
    """Watches the document from before the edit is sent, so that nothing is missed."""

    def __init__(
        self,
        rpc: Rpc,
        document: Document,
        *,
        expected: str,
        limits: Limits,
        profile: ClientProfile = USUAL,
    ) -> None:
        """`expected` is the whole text that the edit makes."""
        self._rpc = rpc
        self._document = document
        self._version, self._before = document.version, document.text
        self._expected = expected
        self._limits = limits
        self._profile = profile
        self._seen: str | None = None
        """The text as it was when all of it was the one expected."""
        self._changed = False
        self._stirred = asyncio.Event()

    async def send(self, edits: Sequence[TextEdit], label: str | None, signal: AbortSignal) -> Outcome:
        """Must be called in the step in which version and text were compared.

        After an abort the outcome is still waited for, but no longer for what explains a refusal.
        """
        document = self._document
        edit = workspace_edit(document.uri, self._version, edits, least_version=self._profile.least_version)
        params = {"edit": edit, **({"label": label} if label is not None else {})}
        asking = self._ask(names.APPLY_EDIT, params)
        if self._profile.tells_when_refreshed:
            self._ask(names.SEMANTIC_TOKENS_REFRESH, None)
        forget = document.watch(self._look), signal.on_abort(self._stirred.set)
        try:
            await self._until(lambda: self._seen is not None or asking.done(), None)
            return await self._judge(answer_of(asking) if asking.done() else Answer("none"), signal)
        except asyncio.CancelledError:
            document.unsettle("an edit was sent, and nobody waited for its outcome")
            raise
        finally:
            for each in forget:
                each()

    def _ask(self, method: str, params: Any) -> asyncio.Future[Any]:
        asking = asyncio.ensure_future(self._rpc.request(method, params, limit=self._limits.answer))
        asking.add_done_callback(self._take)
        return asking

    async def _judge(self, answer: Answer, signal: AbortSignal) -> Outcome:
        if answer.kind in ("yes", "unclear"):
            await self._until_told(signal)
        elif answer.kind == "no":
            await self._until(lambda: self._explained() or signal.aborted, self._limits.retry)
        if self._stands():
            return Outcome("applied", self._seen if self._seen is not None else self._expected)
        if answer.kind == "no":
            return Outcome("refused", reason=answer.reason, explained=self._explained())
        if self._document.closed:
            return Outcome("unknown", reason="it was closed before its new text came")
        if self._is_skipped():
            return Outcome("refused", reason=_SKIPPED, explained=True)
        return self._otherwise(answer)

    def _otherwise(self, answer: Answer) -> Outcome:
        """The text did not come, and nobody said no."""
        if answer.kind == "yes" and self._changed:
            return unlike(self._before, self._expected, self._document.text)
        if answer.kind == "yes" and same_but_last_end(self._before, self._expected):
            return Outcome("otherwise", reason=_LAST_END)
        return Outcome("unknown", reason=answer.reason)

    async def _until_told(self, signal: AbortSignal) -> None:
        """What became of an edit that nobody refused."""

        def told() -> bool:
            return self._stands() or self._is_skipped() or self._document.closed

        await self._until(told, self._limits.sight)
        if self._profile.holds_back and not self._changed:
            await self._until(lambda: told() or signal.aborted, self._limits.settle - self._limits.sight)

    async def _until(self, reached: Callable[[], bool], limit: float | None) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(limit):
                while not reached():
                    self._stirred.clear()
                    await self._stirred.wait()

    def _look(self, document: Document, event: DocumentEvent) -> None:
        """At every single change, since the next one may be the user's."""
        if event in ("changed", "opened"):
            self._changed = True
            if self._seen is None and same_but_last_end(document.text, self._expected):
                self._seen = document.text
        self._stirred.set()

    def _explained(self) -> bool:
        moved = self._document.version > self._version or self._document.closed
        return moved or self._stands()

    def _is_skipped(self) -> bool:
        return self._profile.skips and self._document.version > self._version and not self._stands()

    def _stands(self) -> bool:
        if self._seen is not None:
            return True
        document = self._document
        return self._changed and not document.doubt and stands(self._before, self._expected, document.text)

    def _take(self, asking: asyncio.Future[Any]) -> None:
        if not asking.cancelled():
            asking.exception()
        self._stirred.set()


def unlike(before: str, expected: str, now: str) -> Outcome:
    """The client said yes, and the text has become another."""
    return Outcome("otherwise", reason=_ABSENT if is_absent(before, expected, now) else _DIFFERENT)


def answer_of(asking: asyncio.Future[Any]) -> Answer:
    """Of a request that has ended, however it did."""
    try:
        answer = asking.result()
    except RequestFault as fault:
        return Answer("no", str(fault))
    except TimeoutError:
        return Answer("none", "the editor did not answer")
    except ClientGone:
        return Answer("none", "the connection to the editor ended before it answered")
    fields = cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}
    reason = fields.get("failureReason")
    if fields.get("applied") is True:
        return Answer("yes", "the editor says that it was applied, but its text has not changed")
    if fields.get("applied") is False:
        return Answer("no", str(reason) if reason else "the editor refused without a reason")
    return Answer("unclear", "the editor did not say whether it was applied")
