"""The sessions of this server process."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pilothouse_agent.files.open_files import OpenFiles
from pilothouse_agent.files.queue import WriteQueue
from pilothouse_agent.files.workspace import Workspace
from pilothouse_agent.kernel.events import Notice
from pilothouse_agent.kernel.ports import Approver
from pilothouse_agent.models.connection import Timeouts
from pilothouse_agent.models.registry import ModelRegistry, default_registry
from pilothouse_agent.permissions.approval_mode import ApprovalMode
from pilothouse_agent.session.agent_session import AgentSession
from pilothouse_agent.session.create import SessionOptions, create_session
from pilothouse_agent.session.settings import Settings
from pilothouse_server import protocol
from pilothouse_server.approvals import ClientApprover, MessageApprover
from pilothouse_server.bridge import Bridge
from pilothouse_server.document_uris import path_of
from pilothouse_server.editor_files import EditorFiles
from pilothouse_server.editor_side import EditorSide
from pilothouse_server.event_stream import EventStream
from pilothouse_server.handshake import Client
from pilothouse_server.progress import RunProgress
from pilothouse_server.transport.rpc import INVALID_PARAMS, RequestFault, Rpc

__all__ = ["Sessions", "fault", "invalid"]

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Open:
    session: AgentSession
    stream: EventStream
    progress: RunProgress


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
    ) -> None:
        self.epoch = secrets.token_hex(4)
        self.settings = settings
        self.models: ModelRegistry = default_registry(
            environment, timeouts=Timeouts(settings.model_connect_timeout, settings.model_idle_timeout)
        )
        self._rpc = rpc
        self._environment = environment
        self._client = client
        self._features = features
        self._editor = editor
        self._queue = WriteQueue()
        self._one_message = asyncio.Lock()
        self._open: dict[str, _Open] = {}
        self._closed = False

    def all(self) -> list[AgentSession]:
        return [entry.session for entry in self._open.values()]

    def get(self, session_id: str) -> AgentSession:
        """Raises the `unknownSession` fault."""
        entry = self._open.get(session_id)
        if entry is None:
            raise fault(protocol.UNKNOWN_SESSION, f"There is no session {session_id!r} in this server.")
        return entry.session

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
    ) -> AgentSession:
        """Raises a fault for a folder that is not there, an unknown mode, when no model is chosen, or
        when the server is ending."""
        session_id = f"session_{secrets.token_hex(6)}"
        chosen, approver = self._model(model), self._approver(session_id)
        approval_mode = _mode(mode) if mode else self.settings.mode

        def make() -> tuple[AgentSession, list[str]]:
            options = SessionOptions(
                session_id=session_id,
                folders=self._places(cwd, folders),
                model=chosen,
                mode=approval_mode,
                settings=self.settings,
                environment=self._environment,
            )
            return create_session(
                options,
                provider=self.models,
                queue=self._queue,
                approver=approver,
                open_files=self._open_files if self._client.can("workspace", "applyEdit") else None,
            )

        session, complaints = await asyncio.to_thread(make)
        if self._closed:
            await session.close(0)
            raise fault(protocol.SHUTTING_DOWN, "The server is shutting down.")
        stream = EventStream(session_id, self.epoch)
        progress = RunProgress(self._rpc, session.abort)
        if self._client.wants_events:
            session.agent.subscribe(Bridge(session.agent, stream, self._rpc.outbox))
        if self._client.can("window", "workDoneProgress"):
            session.agent.subscribe(progress)
        self._open[session_id] = _Open(session, stream, progress)
        for complaint in complaints:
            session.agent.notify(Notice("warning", complaint, "settings"))
        return session

    async def close(self, limit: float) -> None:
        """End every session; each is given `limit` seconds, all at the same time."""
        self._closed = True
        closing = (entry.session.close(limit) for entry in self._open.values())
        for outcome in await asyncio.gather(*closing, return_exceptions=True):
            if isinstance(outcome, BaseException):
                logger.error("A session could not be closed", exc_info=outcome)
        await self.models.aclose()

    def configure(self, settings: Settings) -> None:
        """For new sessions, and for the next runs of those that are open."""
        self.settings = settings
        for entry in self._open.values():
            entry.session.configure(settings)

    def cancel_progress(self, token: object) -> None:
        for entry in self._open.values():
            entry.progress.cancel(token)

    def _open_files(self, workspace: Workspace) -> OpenFiles:
        return EditorFiles(self._rpc, self._editor.documents, display=workspace.display)

    def _places(self, cwd: str | None, folders: Sequence[str]) -> tuple[str, ...]:
        """The session's folders: those asked for, else the workspace's."""
        open_folders = self._editor.folders.paths
        if cwd is None:
            own = [_folder(folder) for folder in folders] or open_folders[1:]
            return (*open_folders[:1], *own)
        return tuple(_folder(place) for place in (cwd, *folders))

    def _approver(self, session_id: str) -> Approver | None:
        """How this client can be asked; None when it cannot."""
        if self._features.approvals:
            return ClientApprover(self._rpc, session_id)
        if self._client.can("window", "showMessage"):
            return MessageApprover(self._rpc, self._one_message)
        return None

    def _model(self, model: str | None) -> str:
        chosen = model or self.settings.model
        if not chosen:
            text = (
                "No model is chosen. Name one in the request, in the setting `model`, or in PILOTHOUSE_MODEL."
            )
            raise fault(protocol.UNKNOWN_MODEL, text)
        return chosen


def fault(kind: protocol.ErrorKindCode, message: str) -> RequestFault:
    return RequestFault(kind.code, message, {"kind": kind.kind})


def _mode(name: str) -> ApprovalMode:
    try:
        return ApprovalMode(name)
    except ValueError:
        raise invalid("mode", f"must be one of {', '.join(ApprovalMode)}") from None


def _folder(place: str) -> str:
    """An absolute path or a file URI of a folder that is there."""
    path = (path_of(place) or place) if place.startswith("file:") else place
    if not Path(path).is_absolute() or not Path(path).is_dir():
        raise invalid("cwd", f"{place!r} is not an absolute path or a file URI of a folder that exists")
    return path


def invalid(path: str, message: str) -> RequestFault:
    violation = {"path": path, "message": message}
    return RequestFault(INVALID_PARAMS, f"{path}: {message}", {"violations": [violation]})
