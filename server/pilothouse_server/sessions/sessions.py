"""The sessions of this server process."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import cast

from pilothouse_agent.files.undo.journal import ChangeJournal
from pilothouse_agent.files.undo.rewind import Rewound, rewind
from pilothouse_agent.kernel.events import Notice, QueuedItem
from pilothouse_agent.kernel.ports import Approver
from pilothouse_agent.kernel.request import ThinkingLevel
from pilothouse_agent.models.choosing.registry import ModelRegistry
from pilothouse_agent.permissions.approval_mode import ApprovalMode
from pilothouse_agent.session.agent_session import AgentSession
from pilothouse_agent.session.create import SessionOptions, create_session
from pilothouse_agent.session.log.kept import KeptLog
from pilothouse_agent.settings.places import changes_file
from pilothouse_agent.settings.settings import Settings
from pilothouse_agent.settings.trust import is_trusted
from pilothouse_server.client.clients import profile_of
from pilothouse_server.client.document_uris import path_of
from pilothouse_server.client.habits import habits_of
from pilothouse_server.client.handshake import Client
from pilothouse_server.documents.editor_side import EditorSide
from pilothouse_server.documents.workspace_folders import FoldersChange
from pilothouse_server.edits.closed_files import NOT_DECLARED
from pilothouse_server.protocol import models as protocol
from pilothouse_server.protocol.faults import fault, invalid
from pilothouse_server.sessions.approvals import ClientApprover
from pilothouse_server.sessions.bridge import Bridge
from pilothouse_server.sessions.chat_memory import ChatMemory
from pilothouse_server.sessions.client_extras import ClientExtras
from pilothouse_server.sessions.dialogs import Dialogs
from pilothouse_server.sessions.event_stream import EventStream
from pilothouse_server.sessions.kept_sessions import KeptSessions
from pilothouse_server.sessions.message_approvals import PlainApprover
from pilothouse_server.sessions.progress import RunProgress
from pilothouse_server.sessions.prompt_note import prompt_note
from pilothouse_server.sessions.session_files import SessionFiles
from pilothouse_server.sessions.session_models import SessionModels
from pilothouse_server.transport.rpc import RequestFault, Rpc
from pilothouse_server.wire import method_names as names

__all__ = ["Sessions", "mode_named", "new_session_id"]

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Open:
    session: AgentSession
    models: ModelRegistry
    """With the keys this session may use."""
    stream: EventStream
    progress: RunProgress
    places: tuple[str, ...]
    """The folders it works in, as they were given."""
    in_window: bool = False
    """It works in one of the window's folders, and follows those."""
    told_of_route: bool = False
    shows_progress: bool = False
    """It listens although the client shows none on tokens of ours."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A session that is to be opened."""

    session_id: str
    model: str
    mode: ApprovalMode
    thinking: ThinkingLevel | None = None
    epoch: str | None = None
    """None: the server's."""
    by_commands: bool = False
    for_prompt: bool = False


@dataclass(frozen=True, slots=True)
class _Made:
    session: AgentSession
    models: ModelRegistry
    places: tuple[str, ...]
    complaints: list[str]


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
        self._profile = profile_of(client)
        self._features = features
        self._editor = editor
        self.files = SessionFiles(
            rpc,
            editor.documents,
            profile=self._profile,
            features=features,
            settings=lambda: self.settings,
            uri_of=editor.uris.of,
        )
        self.uris = editor.uris
        self._dialogs = Dialogs(
            rpc,
            editor.quiet,
            habits=habits_of(client.name),
            shown=self._profile.asks_by_message,
            setting=lambda: self.settings.approvals_dialog,
            tells_when_refreshed=client.tells_when_refreshed,
        )
        self._extras = ClientExtras(
            rpc,
            editor.documents,
            editor.uris.of,
            features=features,
            dialogs=self._dialogs,
        )
        self.kept = KeptSessions(environment)
        self._loading: dict[str, asyncio.Task[tuple[AgentSession, tuple[QueuedItem, ...]]]] = {}
        self._undo = asyncio.Lock()
        self._open: dict[str, _Open] = {}
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
        chosen = self._models.chosen(model)
        wanted = _Wanted(
            new_session_id(),
            chosen,
            mode_named(mode) or self.settings.mode,
            by_commands=by_commands,
            for_prompt=for_prompt,
        )

        def kept() -> tuple[tuple[str, ...], KeptLog]:
            places = self._places(cwd, folders)
            return places, self.kept.new(wanted.session_id, places)

        return await self._opened(wanted, kept)

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
            return self._places(places[0], places[1:]), log

        try:
            wanted = _Wanted(
                session_id,
                self._still_there(before.model),
                _mode_or(before.mode, self.settings.mode),
                thinking=cast("ThinkingLevel | None", before.thinking),
                epoch=secrets.token_hex(4),
            )
            session = await self._opened(wanted, kept)
        except BaseException:
            if log.opened is not None and session_id not in self._open:
                log.opened.close()
            raise
        for note in log.notes:
            session.agent.notify(Notice("warning", note, "log"))
        return session, tuple(before.returned)

    def _still_there(self, model: str | None) -> str:
        """The model a session had, or the one of the settings where nobody knows it any more."""
        try:
            return self._models.chosen(model)
        except RequestFault:
            return self._models.chosen(None)

    async def _opened(
        self, wanted: _Wanted, kept: Callable[[], tuple[tuple[str, ...], KeptLog]]
    ) -> AgentSession:
        """`kept` gives its folders and its log; it is called in a thread."""

        def tell(text: str) -> None:
            made.session.agent.notify(Notice("warning", text, "editor"))
            if not self._client.wants_events:
                self._rpc.notify(names.SHOW_MESSAGE, habits_of(self._client.name).warning(text))

        before = self._editor.folders.paths
        made = await asyncio.to_thread(self._made, wanted, kept, tell)
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
        entry = self._open[session.id] = _Open(session, made.models, stream, progress, made.places)
        self._follow(entry, FoldersChange.between(before, self._editor.folders.paths))
        made.models.warm_up(wanted.model)
        _complain(session, [*self.complaints, *made.complaints])
        self._tell_route(entry)
        return session

    def _made(
        self,
        wanted: _Wanted,
        kept: Callable[[], tuple[tuple[str, ...], KeptLog]],
        tell: Callable[[str], None],
    ) -> _Made:
        """Blocks. Raises faults."""
        places, log = kept()
        self.uris.learn(places)
        trusted = is_trusted(places, self.settings.trust_folders)
        models, problems = self._models.in_folder(places[0]) if trusted else (self.models, [])
        if wanted.for_prompt:
            self._models.refuse_unusable(wanted.model, models)
        options = SessionOptions(
            session_id=wanted.session_id,
            folders=places,
            model=(self.settings.model if wanted.for_prompt else None) or wanted.model,
            mode=wanted.mode,
            settings=self.settings,
            environment=self._models.child_environment(),
            thinking=wanted.thinking,
            trusted=trusted,
        )
        session, complaints = create_session(
            options,
            provider=models,
            queue=self.files.queue,
            approver=self._approver(wanted.session_id, by_commands=wanted.by_commands),
            open_files=partial(self.files.open_files, tell=tell),
            extras=partial(self._extras.of_session, wanted.session_id, tell=tell),
            kept=log,
        )
        return _Made(session, models, places, [*problems, *complaints])

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
            _complain(entry.session, [said for said in self.complaints if said not in before])
            self._tell_route(entry)

    def refuse_unusable(self, model: str, session_id: str) -> None:
        """Raises the fault that says why no request of the session to this model can succeed."""
        self._models.refuse_unusable(model, self.models_of(session_id))

    def show_progress(self, session_id: str, run_id: str, token: int | str) -> None:
        """On a token of the client's, for a run that has been admitted just now."""
        entry = self._open[session_id]
        if not (entry.progress.creates or entry.shows_progress):
            entry.shows_progress = True
            entry.session.agent.subscribe(entry.progress)
        entry.progress.expect(run_id, token)

    def cancel_progress(self, token: object) -> None:
        for entry in self._open.values():
            entry.progress.cancel(token)

    def _tell_route(self, entry: _Open) -> None:
        """Once a session, when the setting asks for what this client cannot do."""
        if self.files.miss_their_setting and not entry.told_of_route:
            entry.told_of_route = True
            entry.session.agent.notify(Notice("warning", NOT_DECLARED, "settings"))

    def _folders_changed(self, change: FoldersChange) -> None:
        for entry in self._open.values():
            self._follow(entry, change)

    def _follow(self, entry: _Open, change: FoldersChange) -> None:
        """A session that works in one of the window's folders has those that come and go too."""
        known = {*self._editor.folders.paths, *change.removed}
        entry.in_window = entry.in_window or entry.places[0] in known
        left = tuple(place for place in entry.places if place not in change.removed)
        places = tuple(dict.fromkeys((*left, *change.added)))
        folders = entry.session.folders
        if not entry.in_window or folders is None or places == entry.places:
            return
        entry.places = places
        folders.follow(places, trusts=self.settings.trust_folders)

    def _places(self, cwd: str | None, folders: Sequence[str]) -> tuple[str, ...]:
        """The session's folders: those asked for, else the workspace's."""
        open_folders = self._editor.folders.paths
        for said in (cwd, *folders):
            if said is not None and said.startswith("file:"):
                self.uris.hear(said)
        more = [_folder(folder, f"folders.{index}") for index, folder in enumerate(folders)]
        if cwd is not None:
            return (_folder(cwd, "cwd"), *more)
        if not open_folders:
            raise invalid("cwd", _nowhere())
        return (*open_folders[:1], *(more or open_folders[1:]))

    def _approver(self, session_id: str, *, by_commands: bool) -> Approver | None:
        """How this client can be asked; None when it cannot."""
        if self._features.approvals:
            return ClientApprover(self._rpc, session_id, self.uris.of)
        offered = not self._client.wants_events and self._client.can("textDocument", "codeAction")
        return PlainApprover(self._dialogs) if by_commands or offered or self._dialogs.used else None


def _complain(session: AgentSession, complaints: Sequence[str]) -> None:
    for complaint in complaints:
        session.agent.notify(Notice("warning", complaint, "settings"))


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


def _folder(place: str, field: str) -> str:
    """An absolute path or a file URI of a folder that is there; `field` is where the params have it."""
    path = (path_of(place) or place) if place.startswith("file:") else place
    if not Path(path).is_absolute() or not Path(path).is_dir():
        raise invalid(field, f"{place!r} is not an absolute path or a file URI of a folder that exists")
    return path


def _nowhere() -> str:
    """Why there is no folder to work in. Looks at the disk."""
    try:
        os.getcwd()
    except OSError:
        return "no folder is open, and the one the server was started in is gone; say where to work"
    return "no folder that is open is on this machine; say where to work"
