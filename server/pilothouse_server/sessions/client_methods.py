"""What the client tells of itself: that it is ready, that its settings have changed, and what it shows."""

from __future__ import annotations

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from pilothouse_server.sessions.client_settings import ClientSettings
from pilothouse_server.sessions.sessions import Sessions
from pilothouse_server.transport.rpc import Rpc
from pilothouse_server.wire import method_names as names
from pilothouse_server.wire.json_object import Json

__all__ = ["register_client_methods"]


def register_client_methods(
    server: LanguageServer, rpc: Rpc, settings: ClientSettings, book: Sessions
) -> None:
    @server.feature(names.INITIALIZED)
    def initialized(params: Json) -> None:
        # Only from now on may the client be asked. What it sends next waits until its settings are known.
        rpc.hold(settings.begin())

    @server.feature(names.CONFIGURATION_CHANGED)
    def configuration_changed(params: Json) -> None:
        settings.change(params)

    @server.feature(names.PROGRESS_CANCEL)
    def cancel_progress(params: types.WorkDoneProgressCancelParams) -> None:
        book.cancel_progress(params.token)

    @server.feature(names.SEMANTIC_TOKENS)
    def no_tokens(params: types.SemanticTokensParams) -> types.SemanticTokens:
        return types.SemanticTokens(data=[])

    @server.feature(names.SET_TRACE)
    def set_trace(params: types.SetTraceParams) -> None:
        rpc.trace.set(params.value.value)

    _ = (initialized, configuration_changed, cancel_progress, no_tokens, set_trace)
