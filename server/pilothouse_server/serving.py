"""A server as a process on its standard input and output."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import NoReturn

from pilothouse_agent.tools.shell.own_children import OWN_CHILDREN
from pilothouse_server.reception import Reception
from pilothouse_server.transport.life import Life
from pilothouse_server.transport.logs import log_to_stderr
from pilothouse_server.transport.process import run_process
from pilothouse_server.wire.descriptors import Wire, take_stdio

__all__ = ["serve"]


def serve(receive: Callable[[Life], Reception] = Reception) -> NoReturn:
    """Serve the client on descriptors 0 and 1 until it ends; ends the process."""
    wire = take_stdio()
    log_to_stderr()
    OWN_CHILDREN.ours = True
    run_process(lambda: _serve(wire, receive))


async def _serve(wire: Wire, receive: Callable[[Life], Reception]) -> int:
    life = Life(wire, asyncio.get_running_loop(), force=os._exit)
    rpc = receive(life).rpc
    return await life.run(rpc, rpc.close)
