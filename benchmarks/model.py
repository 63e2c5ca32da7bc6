"""The scripted model: a Chat Completions server on the loopback, in a process of its own.

Prints its port. The model name in a request says what is answered: `SCRIPT` or `SCRIPT.RUN`, where the
answers of a script are played one after another for each different name; `endless` sends deltas until
the client goes away. `GET /first` gives the body of the first request there was for a name,
`GET /last` that of the last one.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from functools import cache
from urllib.parse import urlsplit

from benchmarks.answers import endless, script

__all__ = ["main"]

_BEFORE_NAME = len(b'{"model":"')
_scripts = cache(script)


class Model:
    def __init__(self) -> None:
        self._next: dict[str, int] = {}
        """By model name: which answer is due."""
        self._seen: dict[str, list[bytes]] = {}
        """By model name: the first and the last request."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                target, body = await _request(reader)
                if body:
                    await self._answer(body, writer)
                else:
                    self._tell(target, writer)
                await writer.drain()
        writer.close()

    async def _answer(self, body: bytes, writer: asyncio.StreamWriter) -> None:
        name = body[_BEFORE_NAME : body.index(b'"', _BEFORE_NAME)].decode()
        if name == "endless":
            await _send_endless(writer)
            return
        first, *_ = self._seen.get(name, [body])
        self._seen[name] = [first, body]
        answers = _scripts(name.partition(".")[0])
        index = self._next.get(name, 0)
        self._next[name] = (index + 1) % len(answers)
        writer.write(answers[index])

    def _tell(self, target: str, writer: asyncio.StreamWriter) -> None:
        url = urlsplit(target)
        seen = self._seen.get(url.query, [b"null"])
        body = seen[0] if url.path == "/first" else seen[-1]
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))


async def _request(reader: asyncio.StreamReader) -> tuple[str, bytes]:
    """Target and body."""
    head = await reader.readuntil(b"\r\n\r\n")
    start = head.lower().find(b"content-length:")
    length = int(head[start + 15 : head.index(b"\r", start)]) if start > 0 else 0
    return head.split(b" ", 2)[1].decode(), await reader.readexactly(length)


async def _send_endless(writer: asyncio.StreamWriter) -> None:
    head, deltas = endless()
    writer.write(head)
    while True:
        writer.write(deltas)
        await writer.drain()


async def main() -> None:
    server = await asyncio.start_server(Model().serve, "127.0.0.1", 0, limit=64 << 20)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
