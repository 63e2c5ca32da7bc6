"""The real server, run as a process, with one request more: `test/documents` tells what it holds."""

from __future__ import annotations

from typing import Any

from pilothouse_server import server
from pilothouse_server.transport.rpc import Part

__all__ = ["DOCUMENTS"]

DOCUMENTS = "test/documents"


class _Probed(server.Server):
    def needs(self, method: str, *, asked: bool) -> bool:
        return True

    def part(self, method: str) -> Part | None:
        return self if method == DOCUMENTS else super().part(method)

    def request(self, method: str, params: dict[str, Any]) -> Any:
        assert self._editor is not None
        documents = {
            document.uri: [document.version, document.text, document.doubt]
            for document in self._editor.documents.all()
        }
        return {"documents": documents, "folders": self._editor.folders.paths}

    def notification(self, method: str, params: dict[str, Any]) -> None:
        raise AssertionError("a request only")


if __name__ == "__main__":
    server.Server = _Probed
    server.serve()
