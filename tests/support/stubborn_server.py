"""A server with something in it that does not want to end; its argument says what."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from typing import Any

from pilothouse_server.transport.front import Host
from pilothouse_server.transport.life import Life
from pilothouse_server.transport.process import run_process
from pilothouse_server.transport.rpc import Rpc
from pilothouse_server.wire.descriptors import take_stdio

__all__: list[str] = []


class Front:
    """Answers `initialize`; whatever else it is asked, it begins to be stubborn."""

    def __init__(self, life: Life, how: str) -> None:
        self.rpc = Rpc(life.outbox, self)
        self._life = life
        self._how = how

    def initialize(self, params: Any) -> Any:
        return {}

    async def shut_down(self) -> None:
        if self._how == "teardown":
            await _ignoring_cancellation()
        if self._how == "failing teardown":
            raise ValueError("a bug")
        if self._how == "blocked loop":
            _block()

    def exit(self, code: int) -> None:
        self._life.end(code, "exit", after_exit=True)

    def garbled(self, body: bytes) -> None: ...

    def needs(self, method: str, *, asked: bool) -> bool:
        return True

    def load(self) -> asyncio.Future[Host]:
        loaded: asyncio.Future[Host] = asyncio.get_running_loop().create_future()
        loaded.set_result(self)
        return loaded

    def request(self, method: str, params: Any) -> Any:
        match self._how:
            case "threads":
                for _ in range(50):
                    asyncio.get_running_loop().run_in_executor(None, _read_for_ever)
            case "blocked":
                _block()
            case "task":
                return _ignoring_cancellation()
            case "exit":
                asyncio.get_running_loop().create_task(_exit())
            case _:
                pass
        return "begun"

    def notification(self, method: str, params: Any) -> None: ...


async def _ignoring_cancellation() -> None:
    while True:
        try:
            await asyncio.sleep(100)
        except asyncio.CancelledError:
            continue


def _block() -> None:
    time.sleep(100)


def _read_for_ever() -> None:
    os.read(os.pipe()[0], 1)


async def _exit() -> None:
    sys.exit(7)


async def _serve(how: str) -> int:
    life = Life(wire, asyncio.get_running_loop(), force=os._exit)
    front = Front(life, how)
    return await life.run(front.rpc, front.rpc.close)


if __name__ == "__main__":
    wire = take_stdio()
    run_process(lambda: _serve(sys.argv[1]))
