"""The smallest server one can write with pygls, on its own standard loop: what a start costs there."""

from __future__ import annotations

from pygls.lsp.server import LanguageServer

server = LanguageServer("smallest", "1")  # pyright: ignore[reportUnknownMemberType]

if __name__ == "__main__":
    server.start_io()
