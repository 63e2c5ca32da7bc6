"""The folders of a session as they come and go in the editor: boundary, encodings and prompt follow."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from pilothouse_agent.files.disk_threads import LOOK_LIMIT, in_thread
from pilothouse_agent.files.encodings import DeclaredEncodings
from pilothouse_agent.files.workspace import Workspace
from pilothouse_agent.kernel.agent import Agent
from pilothouse_agent.kernel.parts import SystemPrompt
from pilothouse_agent.permissions.pipeline import Pipeline
from pilothouse_agent.settings.trust import is_trusted

__all__ = ["OpenFolders"]

logger = logging.getLogger(__name__)


class OpenFolders:
    """The working folder stays what it is, also when it is not among them any more."""

    def __init__(
        self,
        workspace: Workspace,
        permissions: Pipeline,
        encodings: DeclaredEncodings,
        agent: Agent,
        *,
        judging: Callable[[bool], Pipeline],
        prompt: Callable[[], SystemPrompt],
        trusted: bool,
    ) -> None:
        """`judging` makes the permissions of the workspace, given whether all of it is trusted; `prompt`
        makes its system prompt and blocks."""
        self._workspace = workspace
        self._permissions = permissions
        self._encodings = encodings
        self._agent = agent
        self._judging = judging
        self._prompt = prompt
        self._trusted = trusted
        self._moving: asyncio.Task[None] | None = None

    @property
    def moving(self) -> bool:
        """Folders have come that are not known well enough yet."""
        return self._moving is not None and not self._moving.done()

    def judge_by(self, judging: Callable[[bool], Pipeline]) -> None:
        """From now on."""
        self._judging = judging
        self._take()

    async def settled(self) -> None:
        """For a bounded time."""
        if self._moving is not None:
            await asyncio.wait({self._moving}, timeout=LOOK_LIMIT)

    def follow(self, folders: Sequence[str], *, trusts: Sequence[str]) -> None:
        """These are open now: what has gone is gone at once, what has come is there when the disk has
        answered. `trusts` are the folders that the user trusts."""
        if self._moving is not None:
            self._moving.cancel()
        self._workspace.leave_but(folders)
        self._take()
        self._moving = asyncio.create_task(self._move(tuple(folders), tuple(trusts)))

    async def _move(self, folders: tuple[str, ...], trusts: tuple[str, ...]) -> None:
        try:
            self._trusted = await in_thread(is_trusted, folders, trusts)
            self._workspace.take(await in_thread(Workspace.looked_up, folders))
            self._take()
            self._agent.set_system_prompt(await in_thread(self._prompt))
        except Exception:
            logger.exception("The folders of the editor could not be followed")

    def _take(self) -> None:
        self._encodings.follow(self._workspace.folders)
        self._permissions.follow(self._judging(self._trusted))
