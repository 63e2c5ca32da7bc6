"""The real server, run as a process, with one request more: `test/documents` tells what it holds.

The notification `test/tell` has it tell the same as a notification, which waits for nothing.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from pilothouse_server.client.handshake import Client
from pilothouse_server.reception import Reception
from pilothouse_server.server import PilothouseServer
from pilothouse_server.serving import serve

__all__ = ["DOCUMENTS", "TELL"]

Json: TypeAlias = dict[str, Any]

DOCUMENTS = "test/documents"
TELL = "test/tell"


class _Probed(Reception):
    def needs(self, method: str, *, asked: bool) -> bool:
        return True

    async def _loaded(self, client: Client) -> PilothouseServer:
        server = await super()._loaded(client)

        @server.feature(DOCUMENTS)
        def asked(params: Json) -> Json:
            documents = {
                document.uri: [document.version, document.text, document.doubt]
                for document in server.editor.documents.all()
            }
            return {"documents": documents, "folders": server.editor.folders.paths}

        @server.feature(TELL)
        def tell(params: Json) -> None:
            self.rpc.notify(DOCUMENTS, asked({}))

        _ = tell
        return server


if __name__ == "__main__":
    serve(_Probed)
