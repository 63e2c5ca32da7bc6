"""Commands are read and judged beside the event loop, which goes on meanwhile."""

from __future__ import annotations

import asyncio
import threading

from pilothouse_agent.kernel.questions import PermissionRequest, Verdict
from pilothouse_agent.kernel.tooling import Footprint
from support.kernel import FakeTool, asks, bench, call, echo_tool, says
from support.permissions import FakePermissions


class SlowPermissions(FakePermissions):
    """Judges only once the loop has turned."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(run="allow")
        self._loop = loop

    def judge(self, request: PermissionRequest) -> Verdict:
        turned = threading.Event()
        self._loop.call_soon_threadsafe(turned.set)
        return super().judge(request) if turned.wait(5) else Verdict("deny", "the loop stood still")


async def test_the_loop_goes_on_while_a_command_is_judged() -> None:
    run = FakeTool("run", echo_tool().body, command=lambda _: "ls")
    permissions = SlowPermissions(asyncio.get_running_loop())
    b = bench(asks(call("c1", "run")), says("done"), tools=[run], permissions=permissions)

    await b.run("Hi")

    assert b.shown == ["U:Hi", "A: [c1]", "R c1:ok", "A:done"]


async def test_what_a_command_touches_is_worked_out_beside_the_loop() -> None:
    threads: list[threading.Thread] = []

    def footprint(arguments: object) -> Footprint:
        threads.append(threading.current_thread())
        return Footprint()

    run = FakeTool("run", echo_tool().body, footprint=footprint)
    b = bench(asks(call("c1", "run")), says("done"), tools=[run])

    await b.run("Hi")

    assert {thread is threading.main_thread() for thread in threads} == {False}
    assert b.shown[2] == "R c1:ok"
