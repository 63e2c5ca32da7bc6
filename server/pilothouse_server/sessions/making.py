"""Makes sessions as this client can have them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from pilothouse_agent.kernel.ports import Approver
from pilothouse_agent.kernel.request import ThinkingLevel
from pilothouse_agent.models.choosing.registry import ModelRegistry
from pilothouse_agent.permissions.approval_mode import ApprovalMode
from pilothouse_agent.session.agent_session import AgentSession
from pilothouse_agent.session.create import SessionOptions, create_session
from pilothouse_agent.session.log.kept import KeptLog
from pilothouse_agent.settings.settings import Settings
from pilothouse_agent.settings.trust import is_trusted
from pilothouse_server.client.clients import habits_of, profile_of
from pilothouse_server.client.handshake import Client
from pilothouse_server.documents.editor_side import EditorSide
from pilothouse_server.protocol.models import ClientFeatures
from pilothouse_server.sessions.approvals import ClientApprover
from pilothouse_server.sessions.client_extras import ClientExtras
from pilothouse_server.sessions.dialogs import Dialogs
from pilothouse_server.sessions.message_approvals import PlainApprover
from pilothouse_server.sessions.session_files import SessionFiles
from pilothouse_server.sessions.session_models import SessionModels
from pilothouse_server.transport.rpc import Rpc

__all__ = ["Made", "SessionMaker", "Wanted"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A session that is to be opened."""

    session_id: str
    model: str
    mode: ApprovalMode
    kept: Callable[[], tuple[tuple[str, ...], KeptLog]]
    """Gives its folders and its log; it blocks."""
    thinking: ThinkingLevel | None = None
    epoch: str | None = None
    """None: the server's."""
    by_commands: bool = False
    """The user can answer questions by commands, however else they are asked."""
    for_prompt: bool = False
    """The model is the one of the prompt that brings the session along."""


@dataclass(frozen=True, slots=True)
class Made:
    session: AgentSession
    models: ModelRegistry
    """With the keys this session may use."""
    places: tuple[str, ...]
    complaints: list[str]
    """What is wrong with its settings."""


class SessionMaker:
    def __init__(
        self,
        rpc: Rpc,
        *,
        client: Client,
        features: ClientFeatures,
        editor: EditorSide,
        models: SessionModels,
        settings: Callable[[], Settings],
    ) -> None:
        profile = profile_of(client)
        self._rpc = rpc
        self._client = client
        self._features = features
        self._editor = editor
        self._models = models
        self._settings = settings
        self.files = SessionFiles(
            rpc,
            editor.documents,
            profile=profile,
            features=features,
            settings=settings,
            uri_of=editor.uris.of,
        )
        self._dialogs = Dialogs(
            rpc,
            editor.quiet,
            habits=habits_of(client.name),
            shown=profile.asks_by_message,
            setting=lambda: settings().approvals_dialog,
            tells_when_refreshed=client.tells_when_refreshed,
        )
        self._extras = ClientExtras(
            rpc,
            editor.documents,
            editor.uris.of,
            features=features,
            dialogs=self._dialogs,
        )

    def make(self, wanted: Wanted, tell: Callable[[str], None]) -> Made:
        """`tell` is for what the user must know. Blocks. Raises faults."""
        places, log = wanted.kept()
        self._editor.uris.learn(places)
        settings = self._settings()
        trusted = is_trusted(places, settings.trust_folders)
        models, problems = self._models.in_folder(places[0]) if trusted else (self._models.shared, [])
        if wanted.for_prompt:
            self._models.refuse_unusable(wanted.model, models)
        options = SessionOptions(
            session_id=wanted.session_id,
            folders=places,
            model=(settings.model if wanted.for_prompt else None) or wanted.model,
            mode=wanted.mode,
            settings=settings,
            environment=self._models.child_environment(),
            thinking=wanted.thinking,
            trusted=trusted,
        )
        session, complaints = create_session(
            options,
            provider=models,
            queue=self.files.queue,
            approver=self._approver(wanted),
            open_files=partial(self.files.open_files, tell=tell),
            extras=partial(self._extras.of_session, wanted.session_id, tell=tell),
            kept=log,
        )
        return Made(session, models, places, [*problems, *complaints])

    def _approver(self, wanted: Wanted) -> Approver | None:
        """How this client can be asked; None when it cannot."""
        if self._features.approvals:
            return ClientApprover(self._rpc, wanted.session_id, self._editor.uris.of)
        offered = not self._client.wants_events and self._client.can("textDocument", "codeAction")
        return PlainApprover(self._dialogs) if wanted.by_commands or offered or self._dialogs.used else None
