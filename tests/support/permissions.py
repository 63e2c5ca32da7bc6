"""Doubles for permissions: verdicts by tool name, and a user who answers as scripted."""

from __future__ import annotations

import asyncio
from typing import Literal, cast

from pilothouse_agent.kernel.events import Option
from pilothouse_agent.kernel.questions import Answer, PermissionRequest, Question, Verdict

__all__ = ["ALLOW", "OPTIONS", "REJECT", "STOP", "FakePermissions", "FakeUser"]

OPTIONS = (Option("no", "Reject", "rejectOnce"), Option("yes", "Allow", "allowOnce"))
ALLOW, REJECT, STOP = Answer("yes"), Answer("no"), Answer("no", stop=True)


class FakePermissions:
    """Asks about every call unless told otherwise; only `yes` allows. Keeps what it was asked."""

    def __init__(self, **decisions: Literal["allow", "deny", "ask"]) -> None:
        self.judged: list[str] = []
        self.settled: list[tuple[str, str]] = []
        self._decisions = decisions

    def judge(self, request: PermissionRequest) -> Verdict:
        self.judged.append(request.call.id)
        decision = self._decisions.get(request.call.name, "ask")
        reason = "not by this rule" if decision == "deny" else ""
        return Verdict(decision, reason, options=OPTIONS)

    def settle(self, request: PermissionRequest, option_id: str) -> bool:
        self.settled.append((request.call.id, option_id))
        return option_id == "yes"


class FakeUser:
    """An approver who gives these replies, one a question; after them (or with none) never answers.

    A reply may be nonsense; an exception is raised.
    """

    def __init__(self, *replies: object) -> None:
        self.questions: list[Question] = []
        self.asked = asyncio.Event()
        self.withdrawn: list[str] = []
        """Ids of the calls whose question was taken back while the user was thinking."""
        self._replies = list(replies)

    async def ask(self, question: Question) -> Answer | None:
        self.questions.append(question)
        self.asked.set()
        if not self._replies:
            return await self._think(question)
        reply = self._replies.pop(0)
        if isinstance(reply, BaseException):
            raise reply
        return cast("Answer | None", reply)

    async def _think(self, question: Question) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.withdrawn.append(question.call.id)
            raise
