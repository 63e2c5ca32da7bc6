"""A language server with no features yet, over a connection of ours."""

from __future__ import annotations

import asyncio

from pygls.lsp.server import LanguageServer

from pilothouse_server.feature_protocol import FeatureProtocol, converter
from pilothouse_server.transport.front import Host
from pilothouse_server.transport.rpc import Rpc

__all__ = ["FeatureServer", "features", "loaded"]


class FeatureServer(LanguageServer):
    protocol: FeatureProtocol  # pyright: ignore[reportIncompatibleVariableOverride]


def features(rpc: Rpc) -> FeatureServer:
    server = FeatureServer("test", "1", protocol_cls=FeatureProtocol, converter_factory=converter)
    server.protocol.rpc = rpc
    return server


def loaded(host: Host) -> asyncio.Future[Host]:
    """For a connection whose host is there when it is needed."""
    done: asyncio.Future[Host] = asyncio.get_running_loop().create_future()
    done.set_result(host)
    return done
