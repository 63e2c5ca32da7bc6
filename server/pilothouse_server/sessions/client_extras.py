"""What a session has only because its client can do it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from pilothouse_agent.files.workspace import Workspace
from pilothouse_agent.kernel.hooks import Hooks
from pilothouse_agent.kernel.ports import FileChange, Tool
from pilothouse_agent.session.extras import Extras
from pilothouse_server.documents.documents import Documents
from pilothouse_server.edits.lost_texts import LostTexts
from pilothouse_server.edits.overtaken import OvertakenAfterCommands
from pilothouse_server.edits.unsaved_texts import UnsavedTexts
from pilothouse_server.protocol.models import ClientFeatures
from pilothouse_server.sessions.dialogs import Dialogs
from pilothouse_server.transport.rpc import Rpc

if TYPE_CHECKING:
    from pilothouse_agent.tools.planning.ask_user import Asker
    from pilothouse_server.documents.diagnostics import ClientDiagnostics

__all__ = ["ClientExtras"]


class ClientExtras:
    """Of one connection. What the client cannot do is not loaded."""

    def __init__(
        self,
        rpc: Rpc,
        documents: Documents,
        uri_of: Callable[[str], str],
        *,
        features: ClientFeatures,
        dialogs: Dialogs,
    ) -> None:
        """`uri_of` spells paths as the client does."""
        self._rpc = rpc
        self._documents = documents
        self._uri_of = uri_of
        self._features = features
        self._dialogs = dialogs

    @cached_property
    def _diagnostics(self) -> ClientDiagnostics:
        from pilothouse_server.documents.diagnostics import ClientDiagnostics

        return ClientDiagnostics(self._rpc, self._uri_of)

    def of_session(self, session_id: str, workspace: Workspace, *, tell: Callable[[str], object]) -> Extras:
        """`tell` is for what the user must know. Blocks."""
        unsaved = UnsavedTexts(self._rpc, self._documents, workspace, can_save=self._features.save)
        lost = LostTexts(self._documents, workspace, tell)

        async def changed(change: FileChange) -> None:
            await unsaved.changed(change)
            await lost.changed(change)

        return Extras(
            tools=tuple(self._tools(session_id, workspace)),
            hooks=self._hooks(workspace),
            changed=changed,
            news=lost,
            close=lost.close,
            before_command=unsaved.before_command,
        )

    def _tools(self, session_id: str, workspace: Workspace) -> Iterator[Tool]:
        if self._features.diagnostics:
            from pilothouse_agent.tools.files.diagnostics import DiagnosticsTool

            yield DiagnosticsTool(workspace, self._diagnostics)
        if (asker := self._asker(session_id)) is not None:
            from pilothouse_agent.tools.planning.ask_user import AskUserTool

            yield AskUserTool(asker)

    def _hooks(self, workspace: Workspace) -> Hooks:
        overtaken = OvertakenAfterCommands(
            self._rpc, self._documents, workspace, can_reload=self._features.reload
        )
        if not self._features.diagnostics:
            return Hooks(after_tool_result=(overtaken.after_tool_result,))
        from pilothouse_server.documents.diagnostics import DiagnosticsOfEdits

        around = DiagnosticsOfEdits(self._diagnostics, workspace)
        return Hooks(
            before_tool_call=(around.before_tool_call,),
            after_tool_result=(around.after_tool_result, overtaken.after_tool_result),
        )

    def _asker(self, session_id: str) -> Asker | None:
        from pilothouse_server.sessions.questions import ClientAsker, MessageAsker

        if self._features.questions:
            return ClientAsker(self._rpc, session_id)
        return MessageAsker(self._dialogs) if self._dialogs.used else None
