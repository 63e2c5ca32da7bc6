"""Asks for approvals in editors that know nothing of us."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from typing import NoReturn

from pilothouse_agent.kernel.questions import Answer, Question
from pilothouse_server.sessions.dialogs import Closed, Dialogs
from pilothouse_server.wire.faults import ClientGone, RequestFault

__all__ = ["PlainApprover"]

logger = logging.getLogger(__name__)

_AGAIN = 30.0
"""Seconds until a question is asked again whose message was closed."""
_KINDS = ("rejectOnce", "allowOnce", "allowAlways")
"""What a message offers, in its order. Rejecting comes first: it is what a closed dialog or a stray key
should mean."""
_WARNING = 2
_LINES = 20
"""Of the title and what follows it, so that there is room for what the answers cover."""


class PlainApprover:
    """Every question stands in the chat and among the code actions until it is answered there; where the
    editor's dialogs are fit for it, it is asked by a message besides."""

    def __init__(self, dialogs: Dialogs, *, again: float = _AGAIN) -> None:
        self._dialogs = dialogs
        self._again = again

    async def ask(self, question: Question) -> Answer | None:
        """The answer is the exact label of an option, since some clients give it by its letter."""
        options = {
            option.label: option.id for kind in _KINDS for option in question.options if option.kind == kind
        }
        while self._dialogs.used:
            try:
                title = await self._dialogs.choose(_WARNING, list(_lines(question)), list(options))
            except Closed:
                await asyncio.sleep(self._again)
                continue
            except RequestFault as error:
                logger.warning("The client answered a message with error %d, which counts as no", error.code)
                return None
            except ClientGone:
                return None
            chosen = options.get(title) if isinstance(title, str) else None
            return None if chosen is None else Answer(chosen, by="client")
        await _answered_elsewhere()


async def _answered_elsewhere() -> NoReturn:
    """Ends by the cancellation that an answer brings."""
    await asyncio.get_running_loop().create_future()
    raise AssertionError("nobody ends it")


def _lines(question: Question) -> Iterator[str]:
    """The title, the beginning of the command or of what changes, and what lasting answers cover."""
    risk = ["Risk: high"] if question.risk == "high" else []
    lines = [f"Pilothouse: {question.title}?", *risk, *_subject(question)]
    yield from lines[:_LINES]
    if len(lines) > _LINES:
        yield f"… {len(lines) - _LINES} more lines"
    for option in question.options:
        if option.scope:
            yield f"{option.label}: {option.scope}"


def _subject(question: Question) -> Iterator[str]:
    preview = question.preview
    if preview is not None and preview.command is not None:
        yield from preview.command.rstrip("\n").split("\n")
    for diff in preview.diffs if preview is not None else ():
        for hunk in diff.hunks:
            yield from (line.rstrip("\r\n") for line in hunk.lines if line[:1] in "+-")
