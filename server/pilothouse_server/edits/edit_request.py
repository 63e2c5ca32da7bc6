"""One workspace edit of one document: sent once, and believed only when it is seen (design.md, step 7)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, cast

from pilothouse_agent.files.same_text import same_but_last_end
from pilothouse_agent.kernel.abort import AbortSignal
from pilothouse_server.client.clients import USUAL, ClientProfile
from pilothouse_server.documents.document import Document, DocumentEvent
from pilothouse_server.documents.sync_params import Change
from pilothouse_server.edits.edit_traces import is_absent, made_of, stands
from pilothouse_server.edits.landings import Landing, landing_of
from pilothouse_server.edits.text_edits import TextEdit, workspace_edit
from pilothouse_server.transport.rpc import ClientGone, RequestFault, Rpc
from pilothouse_server.wire import method_names as names

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
    fresh: float = 0.25
    """How long it counts that the keys rest, with a client that tells changes only then."""
    rest: float = 10
    """Without a word of such a client, after which its keys are taken to rest."""
    still: float = 1.5
    """Without a change, before an edit that is for no version."""
    patience: float = 60
    """For so long a time without a change to come."""


@dataclass(frozen=True, slots=True)
class Outcome:
    kind: Literal["applied", "refused", "otherwise", "unknown", "partly", "misplaced"]
    """`otherwise`: the editor said yes, and its text is another than was asked for; `partly`: it made some
    of the edit; `misplaced`: it made the edit in a text for which it was not meant."""
    text: str = ""
    """For applied and whatever stands of the others: what was made, without what the user changed."""
    reason: str = ""
    explained: bool = False
    """For refused: a newer text has come, for which the edit was not meant."""
    landing: Landing | None = None
    """For misplaced."""


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
        self._edits: Sequence[TextEdit] = ()
        self._seen: str | None = None
        """The text as it was when all of it was the one expected."""
        self._changed = False
        self._told: list[Change] | None = []
        """The changes since it was sent; None when they do not lead from text to text."""
        self._answers = rpc.answers
        self.told_first = False
        """Whether the client told of the edit before it answered anything."""
        self._stirred = asyncio.Event()

    async def send(self, edits: Sequence[TextEdit], label: str | None, signal: AbortSignal) -> Outcome:
        """Must be called in the step in which version and text were compared.

        After an abort the outcome is still waited for, but no longer for what explains a refusal.
        """
        document = self._document
        self._edits = edits
        version = None if self._profile.versions == "none" else self._version
        edit = workspace_edit(document.uri, version, edits, least_version=self._profile.least_version)
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
        landing = None
        if answer.kind in ("yes", "unclear"):
            landing = await self._until_told(signal)
        elif answer.kind == "no":
            await self._until(lambda: self._explained() or signal.aborted, self._limits.retry)
        if self._stands():
            return Outcome("applied", self._seen if self._seen is not None else self._expected)
        if landing is not None:
            return Outcome("misplaced", landing=landing)
        made = await self._partly_made()
        if answer.kind == "no" and made is not None:
            return Outcome("partly", made, answer.reason)
        if answer.kind == "no":
            return Outcome("refused", reason=answer.reason, explained=self._explained())
        if self._document.closed:
            return Outcome("unknown", reason="it was closed before its new text came")
        if self._is_skipped():
            return Outcome("refused", reason=_SKIPPED, explained=True)
        return self._otherwise(answer, made)

    def _otherwise(self, answer: Answer, made: str | None) -> Outcome:
        """The text did not come, and nobody said no."""
        if answer.kind == "yes" and self._changed:
            return replace(unlike(self._before, self._expected, self._document.text), text=made or "")
        if answer.kind == "yes" and same_but_last_end(self._before, self._expected):
            return Outcome("otherwise", reason=_LAST_END)
        return Outcome("unknown", reason=answer.reason)

    async def _until_told(self, signal: AbortSignal) -> Landing | None:
        """Wait for what became of an edit that nobody refused; where it came to stand in a wrong place."""

        def told() -> bool:
            return self._stands() or self._is_skipped() or self._document.closed

        with suppress(TimeoutError):
            async with asyncio.timeout(self._limits.sight):
                while not told():
                    self._stirred.clear()
                    landing = await self._landing()
                    if landing is not None or told():
                        return landing
                    await self._stirred.wait()
        if self._profile.holds_back and not self._changed:
            left = self._limits.settle - self._limits.sight
            await self._until(lambda: told() or self._changed or signal.aborted, left)
        return None if told() else await self._landing()

    async def _landing(self) -> Landing | None:
        if not self._told:
            return None
        document, told = self._document, tuple(self._told)
        return await asyncio.to_thread(landing_of, self._edits, self._before, told, document.encoding)

    async def _partly_made(self) -> str | None:
        """What was made of it; None when that is nothing."""
        if not self._changed or self._document.doubt:
            return None
        now = self._document.text
        return await asyncio.to_thread(made_of, self._before, self._expected, now)

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
            self._note(document.latest if event == "changed" else None)
            if self._seen is None and same_but_last_end(document.text, self._expected):
                self._seen = document.text
                self.told_first = self._rpc.answers == self._answers
        self._stirred.set()

    def _note(self, change: Change | None) -> None:
        if change is None:
            self._told = None
        elif self._told is not None:
            self._told.append(change)

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
