"""What `feature_protocol.py` relies on in pygls is still there, as it was when it was written."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib.metadata import version
from typing import Any, TypeAlias

import pytest
from lsprotocol import types
from pygls.capabilities import ServerCapabilitiesBuilder
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, default_converter

from pilothouse_server.client import handshake
from pilothouse_server.server import PilothouseServer
from support.idle_server import idle_server

PARAMETERS: dict[Callable[..., Any], list[str]] = {
    LanguageServerProtocol.notify: ["self", "method", "params"],
    LanguageServerProtocol.send_request: ["self", "method", "params", "callback", "msg_id"],
    LanguageServerProtocol.send_request_async: ["self", "method", "params", "msg_id"],
    LanguageServerProtocol.get_result_type: ["self", "method"],
    default_converter: [],
}


Json: TypeAlias = dict[str, Any]

PLAIN = ("codeActionProvider", "executeCommandProvider")


def test_pygls_is_of_the_series_the_overrides_were_written_for() -> None:
    assert version("pygls").startswith("2.1.")


@pytest.mark.parametrize("function", PARAMETERS, ids=lambda function: function.__name__)
def test_a_method_has_the_parameters_that_are_relied_on(function: Callable[..., Any]) -> None:
    assert list(inspect.signature(function).parameters) == PARAMETERS[function]


def test_a_server_is_made_with_a_protocol_class_and_a_converter_of_ours() -> None:
    server = LanguageServer(
        "x", "1", protocol_cls=LanguageServerProtocol, converter_factory=default_converter
    )

    assert isinstance(server.protocol, LanguageServerProtocol)
    manager: Any = server.protocol.fm
    assert (manager.features, manager.commands) == ({}, {})
    converter = server.protocol._converter  # pyright: ignore[reportPrivateUsage]
    assert converter.unstructure(types.Position(1, 2)) == {"line": 1, "character": 2}


def test_an_error_of_pygls_has_a_code_and_a_message() -> None:
    error = JsonRpcException("m", 7)

    assert (error.code, error.message) == (7, "m")


@pytest.mark.parametrize(
    "offered",
    [None, [], ["utf-8"], ["utf-32", "utf-8"], ["utf-16", "utf-8"], ["utf-7"], ["utf-7", "utf-32"]],
)
def test_our_position_encoding_is_the_one_pygls_computes(offered: list[str] | None) -> None:
    encodings = (
        None if offered is None else [types.PositionEncodingKind(item) for item in offered if item != "utf-7"]
    )
    general = types.GeneralClientCapabilities(position_encodings=encodings)
    capabilities = types.ClientCapabilities(general=general)
    ours = handshake.introduce({"capabilities": {"general": {"positionEncodings": offered}}})

    assert ServerCapabilitiesBuilder.choose_position_encoding(capabilities) == ours.encoding


@pytest.mark.parametrize("plain", [True, False])
async def test_our_static_capabilities_are_those_pygls_computes_from_the_features(plain: bool) -> None:
    capabilities: Json = {
        "general": {"positionEncodings": ["utf-8"]},
        "workspace": {"workspaceFolders": True},
        "textDocument": {"synchronization": {"didSave": True}},
    }
    options: Json = {} if plain else {"pilothouse": {}}
    params = {"rootUri": "file:///a", "initializationOptions": options, "capabilities": capabilities}
    ours = handshake.answer(handshake.introduce(params), "1")["capabilities"]
    async with idle_server(params) as server:
        theirs = computed(server, capabilities)

    own = {"experimental": ours.pop("experimental")}
    assert ours == {name: theirs[name] for name in ours} | {
        "textDocumentSync": theirs["textDocumentSync"] | {"save": {"includeText": True}},
        "workspace": {"workspaceFolders": theirs["workspace"]["workspaceFolders"]},
    }
    assert set(ours) == {"positionEncoding", "textDocumentSync", "workspace", *(PLAIN if plain else ())}
    assert list(own["experimental"]) == ["pilothouse"]


def computed(server: PilothouseServer, capabilities: Json) -> Json:
    manager: Any = server.protocol.fm
    built = ServerCapabilitiesBuilder(
        default_converter().structure(capabilities, types.ClientCapabilities),
        set(manager.features),
        manager.feature_options,
        list(manager.commands),
        types.TextDocumentSyncKind.Incremental,
        None,
        types.PositionEncodingKind.Utf8,
    ).build()
    return default_converter().unstructure(built)
