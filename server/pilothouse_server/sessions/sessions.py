"""The sessions of this server process."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
from collections.abc import Mapping, Sequence
from typing import cast

from pilothouse_agent.files.undo.journal import ChangeJournal
from pilothouse_agent.files.undo.rewind import Rewound, rewind
from pilothouse_agent.kernel.events import Notice, QueuedItem
from pilothouse_agent.kernel.request import ThinkingLevel
from pilothouse_agent.models.choosing.registry import ModelRegistry
from pilothouse_agent.permissions.approval_mode import ApprovalMode
from pilothouse_agent.session.agent_session import AgentSession
from pilothouse_agent.session.log.kept import KeptLog
from pilothouse_agent.settings.places import changes_file
from pilothouse_agent.settings.settings import Settings
from pilothouse_server.client.clients import habits_of
from pilothouse_server.client.handshake import Client
from pilothouse_server.documents.editor_side import EditorSide
from pilothouse_server.documents.workspace_folders import FoldersChange
from pilothouse_server.protocol import models as protocol
from pilothouse_server.protocol.faults import fault, invalid
from pilothouse_server.sessions.bridge import Bridge
from pilothouse_server.sessions.chat_memory import ChatMemory
from pilothouse_server.sessions.event_stream import EventStream
from pilothouse_server.sessions.kept_sessions import KeptSessions
from pilothouse_server.sessions.making import SessionMaker, Wanted
from pilothouse_server.sessions.open_session import OpenSession
from pilothouse_server.sessions.places import session_places
from pilothouse_server.sessions.progress import RunProgress
from pilothouse_server.sessions.prompt_note import prompt_note
from pilothouse_server.sessions.session_models import SessionModels
from pilothouse_server.transport.rpc import RequestFault, Rpc
from pilothouse_server.wire import method_names as names

__all__ = ["Sessions", "mode_named", "new_session_id"]

logger = logging.getLogger(__name__)


class Sessions:
    """Creates, finds and closes sessions; what they share (models, write queue) lives here."""

    def __init__(
        self,
        rpc: Rpc,
        *,
        settings: Settings,
        environment: Mapping[str, str],
        client: Client,
        editor: EditorSide,
        features: protocol.ClientFeatures,
        complaints: Sequence[str] = (),
    ) -> None:
        """`complaints`: what is wrong with the settings."""
        self.epoch = secrets.token_hex(4)
        self.settings = settings
        self._rpc = rpc
        self._environment = environment
        self._models = SessionModels(environment, settings, complaints)
        self._client = client
        self._features = features
        self._editor = editor
        self._maker = SessionMaker(
            rpc,
            client=client,
            features=features,
            editor=editor,
            models=self._models,
            settings=lambda: self.settings,
        )
        self.files = self._maker.files
        self.uris = editor.uris
        self.kept = KeptSessions(environment)
        self._loading: dict[str, asyncio.Task[tuple[AgentSession, tuple[QueuedItem, ...]]]] = {}
        self._undo = asyncio.Lock()
        self._open: dict[str, OpenSession] = {}
        editor.folders.watch(self._folders_changed)
        self._closing: set[asyncio.Task[None]] = set()
        self._closed = False

    def all(self) -> list[AgentSession]:
        return [entry.session for entry in self._open.values()]

    def get(self, session_id: str) -> AgentSession:
        """Raises the `unknownSession` fault."""
        entry = self._open.get(session_id)
        if entry is None:
            raise fault(protocol.UNKNOWN_SESSION, f"There is no session {session_id!r} in this server.")
        return entry.session

    @property
    def models(self) -> ModelRegistry:
        """As all sessions may use them."""
        return self._models.shared

    def models_of(self, session_id: str | None) -> ModelRegistry:
        """As the session may use them; without one, as all may. Raises the `unknownSession` fault."""
        if session_id is None:
            return self.models
        self.get(session_id)
        return self._open[session_id].models

    def stream(self, session_id: str) -> EventStream:
        """Its events, none of them waiting without a number. Raises the `unknownSession` fault."""
        self.get(session_id)
        self._rpc.outbox.settle()
        return self._open[session_id].stream

    async def create(
        self,
        *,
        cwd: str | None = None,
        folders: Sequence[str] = (),
        model: str | None = None,
        mode: str | None = None,
        by_commands: bool = False,
        for_prompt: bool = False,
    ) -> AgentSession:
        """`by_commands`: the user can answer questions by commands, however else they are asked.
        `for_prompt`: the model is the one of the prompt that brings the session along; the session keeps
        it only where no other one is chosen.

        Raises a fault for a folder that is not there, an unknown mode, an unknown model or none, when
        the server is ending, and, when it is `for_prompt`, for a model that no request to can succeed.
        """
        session_id = new_session_id()

        def kept() -> tuple[tuple[str, ...], KeptLog]:
            places = session_places(self._editor, cwd, folders)
            return places, self.kept.new(session_id, places)

        wanted = Wanted(
            session_id,
            self._models.chosen(model),
            mode_named(mode) or self.settings.mode,
            kept,
            by_commands=by_commands,
            for_prompt=for_prompt,
        )
        return await self._opened(wanted)

    async def load(self, session_id: str) -> tuple[AgentSession, tuple[QueuedItem, ...]]:
        """Go on with one as its log has it, or the one that is open here; and what its queues give back.

        Raises the faults of the log, and of a folder that is not there any more.
        """
        while (loading := self._loading.get(session_id)) is not None:
            await asyncio.wait({loading})
        if session_id in self._open:
            return self._open[session_id].session, ()
        loading = self._loading[session_id] = asyncio.create_task(self._load(session_id))
        loading.add_done_callback(lambda _: self._loading.pop(session_id))
        return await asyncio.shield(loading)

    async def _load(self, session_id: str) -> tuple[AgentSession, tuple[QueuedItem, ...]]:
        log = await asyncio.to_thread(self.kept.resume, session_id)
        before, places = log.restored, log.header.folders

        def kept() -> tuple[tuple[str, ...], KeptLog]:
            return session_places(self._editor, places[0], places[1:]), log

        try:
            wanted = Wanted(
                session_id,
                self._still_there(before.model),
                _mode_or(before.mode, self.settings.mode),
                kept,
                thinking=cast("ThinkingLevel | None", before.thinking),
                epoch=secrets.token_hex(4),
            )
            session = await self._opened(wanted)
        except BaseException:
            if log.opened is not None and session_id not in self._open:
                log.opened.close()
            raise
        notes = list(log.notes)
        if before.model not in (None, wanted.model):
            gone = f"Nobody knows the model {before.model} of this session any more"
            notes.append(f"{gone}; it goes on with {wanted.model}.")
        for note in notes:
            session.agent.notify(Notice("warning", note, "log"))
        return session, tuple(before.returned)

    def _still_there(self, model: str | None) -> str:
        """The model a session had, or the one of the settings where nobody knows it any more."""
        try:
            return self._models.chosen(model)
        except RequestFault:
            return self._models.chosen(None)

    async def _opened(self, wanted: Wanted) -> AgentSession:
        def tell(text: str) -> None:
            made.session.agent.notify(Notice("warning", text, "editor"))
            if not self._client.wants_events:
                self._rpc.notify(names.SHOW_MESSAGE, habits_of(self._client.name).warning(text))

        before = self._editor.folders.paths
        made = await asyncio.to_thread(self._maker.make, wanted, tell)
        session = made.session
        if self._closed:
            await session.close(0)
            raise fault(protocol.SHUTTING_DOWN, "The server is shutting down.")
        stream = EventStream(session.id, wanted.epoch or self.epoch, self.uris)
        progress = RunProgress(
            self._rpc, session.abort, creates=self._client.can("window", "workDoneProgress")
        )
        if self._client.wants_events:
            each = self._features.deltas == "each"
            session.agent.subscribe(Bridge(stream, self._rpc.outbox, each_delta=each))
        if progress.creates:
            session.agent.subscribe(progress)
        entry = self._open[session.id] = OpenSession(session, made.models, stream, progress, made.places)
        self._follow(entry, FoldersChange.between(before, self._editor.folders.paths))
        made.models.warm_up(wanted.model)
        entry.complain([*self.complaints, *made.complaints])
        self._tell_route(entry)
        return session

    def chat_memory(self, folder: str) -> ChatMemory:
        return ChatMemory(self._environment, folder)

    def note(self, session: AgentSession, context: protocol.PromptContext | None) -> str:
        """What the user is looking at, for a prompt of this session."""
        return prompt_note(context, self._editor.documents, session.cwd)

    async def rewind(self, session_id: str, run_id: str | None, *, merge: bool) -> Rewound:
        """As `AgentSession.rewind`, also for a session of an earlier process.

        Raises the `unknownSession` fault too.
        """
        if session_id in self._open:
            return await self._open[session_id].session.rewind(run_id, merge=merge)
        journal = await asyncio.to_thread(self._journal, session_id)
        if journal is None:
            self.get(session_id)
            return Rewound(None)
        folder = next(iter(self._editor.folders.paths), os.sep)
        files = await asyncio.to_thread(self.files.in_folder, folder)
        async with self._undo:
            return await rewind(files, journal, run_id, merge=merge)

    def _journal(self, session_id: str) -> ChangeJournal | None:
        try:
            journal = ChangeJournal(changes_file(self._environment, session_id))
        except ValueError:
            return None
        return journal if journal.exists else None

    def close_session(self, session_id: str) -> asyncio.Task[None]:
        """Forget the session at once and end what it does; the task ends when that has settled.

        Raises the `unknownSession` fault.
        """
        session = self.get(session_id)
        del self._open[session_id]
        limit = self.settings.tools_grace + self.settings.tools_write_limit
        closing = asyncio.create_task(session.close(limit))
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)
        return closing

    async def close(self, limit: float) -> None:
        """End every session; each is given `limit` seconds, all at the same time."""
        self._closed = True
        closing = (entry.session.close(limit) for entry in self._open.values())
        for outcome in await asyncio.gather(*closing, return_exceptions=True):
            if isinstance(outcome, BaseException):
                logger.error("A session could not be closed", exc_info=outcome)
        if self._closing:
            await asyncio.wait(self._closing, timeout=limit)
        await self.models.aclose()

    @property
    def complaints(self) -> tuple[str, ...]:
        """What is wrong with the settings; each session tells it as notices."""
        return self._models.complaints

    def configure(self, settings: Settings, complaints: Sequence[str] = ()) -> None:
        """For new sessions, and for the next runs of those that are open."""
        before = self.complaints
        self._models.configure(settings, complaints)
        self.settings = settings
        for entry in self._open.values():
            entry.session.configure(settings)
            entry.complain([said for said in self.complaints if said not in before])
            self._tell_route(entry)

    def refuse_unusable(self, model: str, session_id: str) -> None:
        """Raises the fault that says why no request of the session to this model can succeed."""
        self._models.refuse_unusable(model, self.models_of(session_id))

    def show_progress(self, session_id: str, run_id: str, token: int | str) -> None:
        """On a token of the client's, for a run that has been admitted just now."""
        self._open[session_id].show_progress(run_id, token)

    def cancel_progress(self, token: object) -> None:
        for entry in self._open.values():
            entry.progress.cancel(token)

    def _tell_route(self, entry: OpenSession) -> None:
        if self.files.miss_their_setting:
            entry.tell_route()

    def _folders_changed(self, change: FoldersChange) -> None:
        for entry in self._open.values():
            self._follow(entry, change)

    def _follow(self, entry: OpenSession, change: FoldersChange) -> None:
        entry.follow(change, window=self._editor.folders.paths, trusts=self.settings.trust_folders)


def mode_named(name: str | None) -> ApprovalMode | None:
    """Raises a fault for an unknown one."""
    if name is None:
        return None
    try:
        return ApprovalMode(name)
    except ValueError:
        raise invalid("mode", f"must be one of {', '.join(ApprovalMode)}") from None


def new_session_id() -> str:
    return f"session_{secrets.token_hex(6)}"


def _mode_or(name: str | None, mode: ApprovalMode) -> ApprovalMode:
    """The one of this name, where this release has it."""
    try:
        return ApprovalMode(name)
    except ValueError:
        return mode
