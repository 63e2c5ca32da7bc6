"""The connection alone: how it ends."""

from __future__ import annotations

import asyncio

from support.raw_client import notification, request
from support.rpc_bench import CANCELLED, error, later, rpc_bench


async def test_shutdown_is_answered_after_everything_else() -> None:
    async with rpc_bench() as b:
        b.settled.clear()
        b.answers["prompt"] = lambda: later(lambda: "aborted")
        b.answers["endless"] = asyncio.Event().wait
        b.send(request(1, "prompt"), request(2, "endless"), request(3, "shutdown"), request(4, "a"))
        b.send(notification("$/cancelRequest", id=3))
        b.settled.set()
        answers = await b.read(4)
        b.send(notification("exit"))

        assert (answers, b.exits) == (
            [
                error(4, -31008, "The server is shutting down.", {"kind": "shuttingDown"}),
                {"id": 1, "result": "aborted"},
                error(2, -32800, CANCELLED),
                {"id": 3, "result": None},
            ],
            [0],
        )


async def test_a_handler_that_will_not_end_does_not_hold_up_the_shutdown() -> None:
    async def stubborn() -> str:
        while not gate.is_set():
            try:
                await gate.wait()
            except asyncio.CancelledError:
                continue
        return "too late"

    gate = asyncio.Event()
    async with rpc_bench() as b:
        b.answers["a"] = stubborn
        b.send(request(1, "a"), request(2, "shutdown"))
        answers = await b.read(2)
        gate.set()
        await asyncio.sleep(0)
        b.send(request(3, "b"))

        assert answers == [error(1, -32800, CANCELLED), {"id": 2, "result": None}]
        assert [answer["id"] for answer in await b.read()] == [3]


async def test_what_is_held_when_the_server_ends_is_refused_and_never_run() -> None:
    async with rpc_bench() as b:
        b.takes_time_to_load()
        b.send(request(1, "a"), notification("n"), request(2, "shutdown"))
        answers = await b.read(2)
        await b.finish_loading()

        assert answers == [
            error(1, -31008, "The server is shutting down.", {"kind": "shuttingDown"}),
            {"id": 2, "result": None},
        ]
        assert b.methods == ["shut down"]


async def test_an_exit_without_shutdown_is_a_failure_and_notifications_after_shutdown_are_dropped() -> None:
    async with rpc_bench() as b:
        b.send(notification("exit"), request(1, "shutdown"), notification("n"))
        await b.read()

        assert (b.exits, b.methods) == ([1], ["shut down"])
