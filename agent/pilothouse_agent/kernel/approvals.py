"""Questions to the user: each is resolved exactly once (P2)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from pilothouse_agent.kernel.abort import AbortSignal
from pilothouse_agent.kernel.events import ApprovalRequested, ApprovalResolved, Decision, Event
from pilothouse_agent.kernel.foreign import contained, guarded
from pilothouse_agent.kernel.ports import Approver
from pilothouse_agent.kernel.questions import Answer, Question

__all__ = ["Approvals", "Resolution"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Resolution:
    decision: Decision
    by: str
    reason: str | None = None
    option_id: str | None = None
    stop: bool = False


_CANCELLED = Resolution("cancelled", "abort", "the run was aborted")


class Approvals:
    """The open questions of one agent; one is asked at a time."""

    def __init__(self, approver: Approver | None, publish: Callable[[Event], Awaitable[None]]) -> None:
        self._approver = approver
        self._publish = publish
        self._turn = asyncio.Lock()
        self._open: dict[str, tuple[Question, asyncio.Future[Answer | None]]] = {}

    @property
    def open(self) -> tuple[Question, ...]:
        return tuple(question for question, _ in self._open.values())

    def answer(self, approval_id: str, answer: Answer) -> bool:
        """Answer an open question from anywhere; False when it is not open (any more)."""
        entry = self._open.get(approval_id)
        if entry is None or entry[1].done():
            return False
        entry[1].set_result(answer)
        return True

    async def ask(self, question: Question, signal: AbortSignal, allows: Callable[[str], bool]) -> Resolution:
        """Publish the question, wait for whoever answers first, publish what came of it.

        `allows` judges the chosen option. Nobody to ask, a failure of the approver, or an answer
        that makes no sense is a no (P4). An abort resolves it as cancelled at once.
        """
        if self._approver is None:
            return Resolution("denied", "policy", "nobody can be asked here")
        async with self._turn:
            signal.raise_if_aborted()
            resolution = _CANCELLED
            try:
                resolution = await self._asked(question, signal, self._approver, allows)
            finally:
                await self._tell(_resolved(question, resolution))
        return resolution

    async def _asked(
        self,
        question: Question,
        signal: AbortSignal,
        approver: Approver,
        allows: Callable[[str], bool],
    ) -> Resolution:
        answered: asyncio.Future[Answer | None] = asyncio.get_running_loop().create_future()
        self._open[question.id] = (question, answered)
        asking: asyncio.Task[None] | None = None
        forget = signal.on_abort(lambda: _withdraw(answered))
        try:
            await self._tell(
                ApprovalRequested(question.id, question.call.id, question.title, question.options)
            )
            asking = asyncio.create_task(_relay(approver, question, answered))
            await asyncio.wait({answered})
        finally:
            forget()
            del self._open[question.id]
            if asking is not None:
                asking.cancel()
        if answered.cancelled():
            return _CANCELLED
        return _resolution(answered.result(), allows)

    async def _tell(self, event: Event) -> None:
        """A body that asks and is cancelled meanwhile must not stop the delivery half-way."""
        await asyncio.shield(asyncio.ensure_future(self._publish(event)))


def _withdraw(answered: asyncio.Future[Answer | None]) -> None:
    answered.cancel()


async def _relay(approver: Approver, question: Question, answered: asyncio.Future[Answer | None]) -> None:
    """Put the question to the approver; its silence, failure or late answer harms nobody."""
    answer: object = None
    try:
        answer = await contained(approver.ask, question)
    except asyncio.CancelledError:
        raise
    except BaseException:
        logger.exception("The approver failed; its answer counts as no")
    finally:
        if not answered.done():
            answered.set_result(answer if isinstance(answer, Answer) else None)


def _resolution(answer: Answer | None, allows: Callable[[str], bool]) -> Resolution:
    if answer is None:
        return Resolution("denied", "client", "the question was not answered")
    if answer.stop or not _allowed(answer.option_id, allows):
        return Resolution("denied", answer.by, answer.reason, answer.option_id, answer.stop)
    return Resolution("allowed", answer.by, answer.reason, answer.option_id)


def _allowed(option_id: str, allows: Callable[[str], bool]) -> bool:
    try:
        return guarded(allows, option_id) is True
    except Exception:
        logger.exception("The answer %r could not be judged; it counts as no", option_id)
        return False


def _resolved(question: Question, resolution: Resolution) -> ApprovalResolved:
    return ApprovalResolved(
        question.id, question.call.id, resolution.decision, resolution.by, resolution.reason
    )
