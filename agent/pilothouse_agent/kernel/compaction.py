"""The default compactor: the oldest turns go, behind a note that says so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pilothouse_agent.kernel.events import CompactionReason
from pilothouse_agent.kernel.messages import (
    CustomMessage,
    Message,
    TextBlock,
    ToolResultMessage,
    UserMessage,
)
from pilothouse_agent.kernel.ports import Clock, Compaction, TodoSource
from pilothouse_agent.kernel.request import ModelLimits
from pilothouse_agent.kernel.transcript import estimate_tokens

__all__ = ["DropOldestTurns"]


@dataclass(frozen=True, slots=True)
class DropOldestTurns:
    """Keeps the newest messages and the latest user message; never splits a call from its results."""

    clock: Clock
    new_id: Callable[[], str]
    todos: TodoSource | None = None
    threshold: float = 0.85
    """Part of the context window from which a compaction is due."""
    keep: float = 0.5
    """Part of the present size that is kept at most."""

    def due(self, tokens: int, limits: ModelLimits) -> bool:
        return limits.context_window is not None and tokens > self.threshold * limits.context_window

    async def compact(
        self, messages: Sequence[Message], limits: ModelLimits, reason: CompactionReason
    ) -> Compaction | None:
        cut = self._cut(messages)
        dropped = [message for message in messages[:cut] if not _is_note(message)]
        if not dropped:
            return None
        latest = max(
            (i for i, message in enumerate(messages) if isinstance(message, UserMessage)), default=-1
        )
        kept_user = (messages[latest],) if 0 <= latest < cut else ()
        if len(dropped) == len(kept_user):
            return None
        summary = self._note(len(dropped) - len(kept_user))
        note = CustomMessage(
            self.new_id(), (TextBlock(summary),), self.clock.now(), "compaction", for_model=True
        )
        return Compaction((note, *kept_user, *messages[cut:]), summary)

    def _cut(self, messages: Sequence[Message]) -> int:
        """The first message to keep: the oldest whose tail fits, moved off tool results."""
        budget = self.keep * sum(estimate_tokens(message) for message in messages)
        cut = len(messages)
        for index in range(len(messages) - 1, -1, -1):
            budget -= estimate_tokens(messages[index])
            if budget < 0 and cut < len(messages):
                break
            if not isinstance(messages[index], ToolResultMessage):
                cut = index
        return cut

    def _note(self, count: int) -> str:
        text = f"Note: {count} older messages of this conversation were left out to save room."
        unfinished = self.todos.unfinished() if self.todos is not None else ()
        if unfinished:
            text += "\nUnfinished todos:\n" + "\n".join(f"- {todo}" for todo in unfinished)
        return text


def _is_note(message: Message) -> bool:
    return isinstance(message, CustomMessage) and message.name == "compaction"
