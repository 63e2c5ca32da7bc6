"""An agent whose life is kept in a log, from its first event on."""

from __future__ import annotations

from pilothouse_agent.kernel.agent import Agent
from pilothouse_agent.kernel.events import SessionUpdate
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.session.log.kept import KeptLog
from pilothouse_agent.session.log.restore import Restored
from pilothouse_agent.session.log.scribe import Scribe, unsaved_notice
from pilothouse_agent.session.log.writer import LogWriter

__all__ = ["Keeping"]


class Keeping:
    """Made before anybody else listens to the agent. `close` once it is idle."""

    def __init__(self, agent: Agent, kept: KeptLog, *, mode: str) -> None:
        self.unsaved = False
        """The disk refuses what was said last; it is written as soon as it can be."""
        self._agent = agent
        self.scribe = Scribe(
            LogWriter(kept.make, troubled=self._troubled),
            standing=kept.restored.standing,
            opening=[*kept.opening, *_choices(agent, kept, mode)],
            messages=lambda: agent.state.messages,
            system=lambda: agent.state.system_prompt,
            model=lambda: agent.state.model,
        )
        agent.subscribe(self.scribe)

    @property
    def title(self) -> str | None:
        return self.scribe.standing.title

    async def rename(self, title: str) -> None:
        """Ends when the log has it."""
        waiting = self.scribe.rename(title)
        self._agent.notify(SessionUpdate(title=title))
        if waiting is not None:
            await waiting

    def go_back(self, state: Restored, *, to: str | None) -> None:
        """The agent has been given the messages already."""
        self.scribe.move(state.standing, to=to)

    async def close(self, limit: float) -> bool:
        """Whether all of it could be written, within `limit` seconds."""
        return await self.scribe.close(limit)

    def _troubled(self, reason: str | None) -> None:
        self.unsaved = reason is not None
        self._agent.notify(unsaved_notice(reason))


def _choices(agent: Agent, kept: KeptLog, mode: str) -> list[JsonObject]:
    """What holds now and is not what the log has last."""
    state, was = agent.state, kept.restored
    now: list[tuple[str, str, str | None]] = [
        ("model", state.model, was.model),
        ("thinking", state.thinking, was.thinking),
        ("mode", mode, was.mode),
    ]
    return [{"type": kind, kind: value} for kind, value, before in now if value != before]
