"""A loopback HTTP proxy: whatever it is asked for, it goes to one server of the test."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any

__all__ = ["Proxy"]


class Proxy:
    """Async context manager; `asked` are the first lines of the requests it got."""

    def __init__(self, port: int) -> None:
        """`port`: of the server, on 127.0.0.1."""
        self.asked: list[str] = []
        self._port = port
        self._tasks: set[asyncio.Task[Any]] = set()

    async def __aenter__(self) -> Proxy:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        line, _, rest = head.partition(b"\r\n")
        self.asked.append(line.decode())
        there, back = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            method, target, version = line.split(b" ")
            if method == b"CONNECT":
                writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
            else:
                path = b"/" + target.split(b"/", 3)[3]
                back.write(b" ".join((method, path, version)) + b"\r\n" + rest)
            await asyncio.gather(_relay(reader, back), _relay(there, writer))
        finally:
            writer.close()
            back.close()


async def _relay(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while data := await source.read(65536):
        target.write(data)
        await target.drain()
    target.close()
