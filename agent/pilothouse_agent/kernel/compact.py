"""When the history is shortened, and that it is said and survives failure (L2, L5)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import cast

from pilothouse_agent.kernel.abort import Aborted, bounded
from pilothouse_agent.kernel.context import RunContext
from pilothouse_agent.kernel.events import CompactionEnd, CompactionReason, CompactionStart
from pilothouse_agent.kernel.foreign import contained, described, guarded
from pilothouse_agent.kernel.messages import ErrorInfo, Message
from pilothouse_agent.kernel.ports import Compaction, Compactor

__all__ = ["Compacting"]

logger = logging.getLogger(__name__)

_TRIES = 2
"""How many compactions of a run may fail, or succeed without effect, before no more are made."""
_NO_ROOM = (
    "The context window is full even after compaction: the fixed part of the request leaves no room. "
    "Choose a model with a larger window, or offer fewer tools and instructions."
)


class Compacting:
    """The compactions of one run, or one by hand."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._parts = context.parts
        self._transcript = context.transcript
        self._fruitless = 0
        self._failed = 0

    async def if_due(self) -> ErrorInfo | None:
        """Compact before a request that needs it; an error when compacting does not help (R148)."""
        compactor = self._parts.compactor
        if compactor is None or self._transcript.unmeasured or self._failed >= _TRIES:
            return None
        if not self._due(compactor):
            return None
        if self._fruitless >= _TRIES:
            return ErrorInfo("contextOverflow", _NO_ROOM)
        await self.run("threshold")
        return None

    def measured(self) -> None:
        """An answer has come, so the size of the history is known."""
        compactor = self._parts.compactor
        if self._transcript.unmeasured and compactor is not None and self._due(compactor):
            self._fruitless += 1
        else:
            self._fruitless = 0
        self._transcript.unmeasured = False

    async def run(self, reason: CompactionReason) -> bool:
        """Whether the history is shorter now; otherwise it is unchanged."""
        if self._parts.compactor is None:
            return False
        context, before = self._context, self._transcript.tokens
        back = context.state.phase
        await context.move("compaction", reason)
        await context.bus.publish(CompactionStart(reason))
        outcome = await self._compact(self._parts.compactor, reason)
        if isinstance(outcome, Compaction):
            self._transcript.replace(outcome.messages)
        else:
            self._failed += 1
        await context.bus.publish(
            CompactionEnd(
                reason,
                before,
                self._transcript.tokens,
                outcome.summary if isinstance(outcome, Compaction) else None,
                outcome if isinstance(outcome, ErrorInfo) else None,
            )
        )
        if not context.signal.aborted:
            done = "compacted" if isinstance(outcome, Compaction) else "notCompacted"
            await context.move(back, done)
        return isinstance(outcome, Compaction)

    async def _compact(self, compactor: Compactor, reason: CompactionReason) -> Compaction | ErrorInfo:
        limit = self._parts.settings.compaction_limit
        try:
            limits = guarded(self._parts.provider.limits, self._context.config.model_in_use)
            work = contained(compactor.compact, tuple(self._transcript.messages), limits, reason)
            done = cast("object", await bounded(work, signal=self._context.signal, limit=limit))
        except Aborted:
            return ErrorInfo("internal", "The compaction was aborted; the history is unchanged.")
        except Exception as error:
            logger.exception("The compaction failed")
            text = f"The compaction failed and the history is unchanged: {described(error)}"
            return ErrorInfo("internal", text)
        if isinstance(done, Compaction) and all(isinstance(item, Message) for item in _items(done)):
            return done
        text = "The history cannot be shortened any further."
        if done is not None:
            text = "The compaction gave something else than messages; the history is unchanged."
        return ErrorInfo("internal", text)

    def _due(self, compactor: Compactor) -> bool:
        try:
            limits = guarded(self._parts.provider.limits, self._context.config.model_in_use)
            return bool(guarded(compactor.due, self._transcript.tokens, limits))
        except Exception:
            logger.exception("The check whether a compaction is due failed; none is made")
            return False


def _items(compaction: Compaction) -> Sequence[object]:
    return compaction.messages
