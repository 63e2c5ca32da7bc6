"""A session: the layer over the agent that turns what clients send into runs, and never loses any of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import Literal, Protocol

from pilothouse_agent.files.undo.rewind import Rewound
from pilothouse_agent.kernel.agent import EMPTY_MESSAGE, Agent
from pilothouse_agent.kernel.errors import AgentBusy
from pilothouse_agent.kernel.events import Notice, QueuedItem, QueueKind
from pilothouse_agent.kernel.foreign import described, guarded
from pilothouse_agent.kernel.messages import UserBlock, is_blank
from pilothouse_agent.kernel.parts import RunChoices, random_id
from pilothouse_agent.kernel.run import Run, RunResult
from pilothouse_agent.permissions.approval_mode import ApprovalMode
from pilothouse_agent.session.coming_run import ComingRun
from pilothouse_agent.session.keeping import Keeping
from pilothouse_agent.session.log.restore import Restored
from pilothouse_agent.session.open_folders import OpenFolders
from pilothouse_agent.settings.settings import Settings

__all__ = ["AbortOutcome", "AgentSession", "Delivery", "Started", "Undo"]

logger = logging.getLogger(__name__)


class Undo(Protocol):
    async def __call__(self, run_id: str | None = None, *, merge: bool = False) -> Rewound: ...


@dataclass(frozen=True, slots=True)
class Started:
    """An admitted prompt; awaiting `result` never raises for failures of the run."""

    run_id: str
    result: Awaitable[RunResult]


@dataclass(frozen=True, slots=True)
class Delivery:
    queue_id: str
    delivery: Literal["steered", "queued", "prompted"]
    run_id: str | None


@dataclass(frozen=True, slots=True)
class AbortOutcome:
    aborted: bool
    run_id: str | None = None
    returned: tuple[QueuedItem, ...] = ()


class AgentSession:
    """Every admitting method is one synchronous step; only results are awaited."""

    def __init__(
        self,
        session_id: str,
        agent: Agent,
        *,
        cwd: str,
        mode: ApprovalMode,
        release: Callable[[], Awaitable[None]],
        undo: Undo | None = None,
        use_mode: Callable[[ApprovalMode], None] = lambda mode: None,
        folders: OpenFolders | None = None,
        use_settings: Callable[[Settings], None] = lambda settings: None,
        keeping: Keeping | None = None,
    ) -> None:
        """`release` gives back what the session holds (child processes, connections); `undo` is
        `files.rewind.rewind` for its files; `use_mode` is told the mode of each run before it begins, and
        `use_settings` the settings where they have changed."""
        self.id = session_id
        self.agent = agent
        self.cwd = cwd
        self.mode = mode
        self.closed = False
        self._release = release
        self._use_mode = use_mode
        self._use_settings = use_settings
        self._changed: Settings | None = None
        """Settings that no run has begun with yet."""
        self.folders = folders
        self.keeping = keeping
        """The log that it is kept in, if any."""
        self._undo = undo
        self._no_undo = asyncio.Event()
        self._no_undo.set()
        self._noted = ""
        """The last note on what the user is looking at."""
        self._run: Run | None = None
        self._next: ComingRun | None = None
        self._starting: asyncio.Task[None] | None = None

    def prompt(
        self,
        content: tuple[UserBlock, ...],
        *,
        prompt_id: str | None = None,
        choices: RunChoices | None = None,
        mode: ApprovalMode | None = None,
        note: str = "",
    ) -> Started:
        """Admit a prompt. Raises `AgentBusy` during a run and an undo, and ValueError when it is blank.

        Behind an abort, or after the run's agent_end, it waits for the slot.

        `choices` and `mode` hold for its run and no longer.

        `note` says what the user is looking at: a message of its own before the prompt, so that this
        stays as it was typed. The same note is not given twice in a row.
        """
        _refuse_blank(content)
        running = self.agent.busy and self.agent.run_id is not None and not self.agent.aborting
        if running or self._waiting is not None or self._undoing:
            raise AgentBusy
        return self._begin(ComingRun(random_id("run"), [content], prompt_id, note, choices, mode))

    def steer(self, content: tuple[UserBlock, ...]) -> Delivery:
        """Steer the run; without one, or when it takes no more messages, start one (after an undo)."""
        return self._deliver("steering", content)

    def follow_up(self, content: tuple[UserBlock, ...]) -> Delivery:
        return self._deliver("followUp", content)

    def unqueue(self, queue_ids: Collection[str]) -> tuple[str, ...]:
        """Take messages back by id; the ids that were still queued. One that started a run is not."""
        return self.agent.unqueue(queue_ids)

    async def rewind(self, run_id: str | None = None, *, merge: bool = False) -> Rewound:
        """Undo what a run did to files, by default the last run that changed any; see `files.rewind`.

        Raises `AgentBusy` during a run and during another undo, and `KeyError` for a run of which nothing
        is known. Prompts are refused meanwhile, and the run of a message that comes meanwhile waits.
        """
        if self._undo is None:
            return Rewound(None)
        active = self.agent.busy and not self.agent.ending
        if self._next is not None or self._undoing or active:
            raise AgentBusy
        self._no_undo.clear()
        try:
            # A run that takes no more messages has only its end to tell.
            await self.agent.wait_for_idle()
            outcome = await self._undo(run_id, merge=merge)
            if outcome.changed:
                await self.agent.wait_for_idle()
                self.agent.append_custom("rewind", _told(outcome), for_model=True)
            return outcome
        finally:
            self._no_undo.set()

    def go_back(self, state: Restored, *, to: str | None) -> None:
        """Go on from an earlier record of the log, where the conversation stood so. Raises `AgentBusy`."""
        if self.keeping is None or self._next is not None or self._undoing:
            raise AgentBusy
        self.agent.load(state.messages)
        self.keeping.go_back(state, to=to)

    def configure(self, settings: Settings) -> None:
        """Take changed settings from the next run on."""
        self._changed = settings
        self.agent.configure(settings.for_runs(), settings.for_retries())
        self.agent.set_queue_mode("steering", settings.queue_steering)
        self.agent.set_queue_mode("followUp", settings.queue_follow_up)

    def abort(self) -> asyncio.Task[AbortOutcome]:
        """End the run, and the one that is about to start; the task ends when that has settled."""
        run, pending = self._run if self.agent.busy else None, self._next
        self.agent.abort()
        if pending is not None:
            pending.aborted = True
        return asyncio.create_task(self._aborted(run, pending))

    async def settled(self) -> None:
        """Returns when no run is active and none is promised."""
        while self._next is not None or self.agent.busy or self._undoing:
            if self._starting is not None:
                await asyncio.wait({self._starting})
            await self._no_undo.wait()
            await self.agent.wait_for_idle()

    async def close(self, limit: float) -> None:
        """Abort, settle what can be settled within `limit` seconds, and give everything back."""
        try:
            async with asyncio.timeout(limit):
                await self.abort()
                await self.settled()
        except TimeoutError:
            logger.warning("Session %s did not settle in time", self.id)
        finally:
            self.closed = True
            await self._release()

    async def _aborted(self, run: Run | None, pending: ComingRun | None) -> AbortOutcome:
        settling: Awaitable[RunResult] | None = pending or run
        if settling is None:
            await self.agent.wait_for_idle()
            return AbortOutcome(aborted=False)
        result = await settling
        return AbortOutcome(result.stop_reason == "aborted", result.run_id, result.returned)

    @property
    def takes_messages(self) -> bool:
        """A run is active, or about to begin, that steering and follow-ups go to."""
        return self._next is not None or (self.agent.busy and not self.agent.ending)

    @property
    def _undoing(self) -> bool:
        return not self._no_undo.is_set()

    @property
    def _waiting(self) -> ComingRun | None:
        """The run that is to begin, unless it is to end at once."""
        return self._next if self._next is not None and not self._next.aborted else None

    def _deliver(self, kind: QueueKind, content: tuple[UserBlock, ...]) -> Delivery:
        _refuse_blank(content)
        if self._next is None and self.agent.busy and not self.agent.ending:
            queue = self.agent.steer if kind == "steering" else self.agent.follow_up
            delivery = "steered" if kind == "steering" else "queued"
            return Delivery(queue(content), delivery, self.agent.run_id)
        item = QueuedItem(random_id("queue"), kind, content)
        if (waiting := self._waiting) is not None:
            waiting.items.append(item)
            return Delivery(item.queue_id, "prompted", waiting.run_id)
        return Delivery(item.queue_id, "prompted", self._begin(ComingRun(random_id("run"), [item])).run_id)

    @property
    def _free(self) -> bool:
        moving = self.folders is not None and self.folders.moving
        return not (moving or self._undoing or self.agent.busy)

    def _begin(self, coming: ComingRun) -> Started:
        if self._free and self._next is None:
            self._run = self._start(coming)
            return Started(self._run.run_id, self._run)
        self._next = coming
        self._starting = asyncio.create_task(self._start_when_free(coming, self._starting))
        return Started(coming.run_id, coming)

    def _start(self, coming: ComingRun) -> Run:
        self._give(coming.note)
        if (changed := self._changed) is not None:
            self._changed = None
            self._use_settings(changed)
        self._use_mode(coming.mode or self.mode)
        return self.agent.prompt(
            *coming.items, prompt_id=coming.prompt_id, run_id=coming.run_id, choices=coming.choices
        )

    async def _start_when_free(self, coming: ComingRun, before: asyncio.Task[None] | None) -> None:
        """Begin the run behind the one that waits already, if any; it begins or fails, whatever happens."""
        try:
            if before is not None:
                await asyncio.wait({before})
            await self._freed()
            self._run = run = guarded(self._start, coming)
        except BaseException as error:
            coming.has_failed(error)
            if not isinstance(error, Exception):
                raise
            logger.exception("A run that was promised could not begin")
            self.agent.notify(Notice("error", f"The run could not begin: {described(error)}", "runNotBegun"))
            return
        finally:
            if self._next is coming:
                self._next = None
        if coming.aborted:
            self.agent.abort()
        coming.has_begun(run)

    async def _freed(self) -> None:
        while not self._free:
            await self.agent.wait_for_idle()
            await self._no_undo.wait()
            if self.folders is not None:
                await self.folders.settled()

    def _give(self, note: str) -> None:
        if note and note != self._noted:
            self.agent.append_custom("context", note, for_model=True)
            self._noted = note


def _refuse_blank(content: tuple[UserBlock, ...]) -> None:
    if is_blank(content):
        raise ValueError(EMPTY_MESSAGE)


def _told(outcome: Rewound) -> str:
    """For the model, which would go on from files that are not there any more."""
    lines = [f"- {file.path} ({file.action})" for file in outcome.changed]
    return "\n".join(["The user has undone changes that you made to files. As before are again:", *lines])
