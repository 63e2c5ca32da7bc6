from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pilothouse_agent.kernel.events import Notice
from pilothouse_server.sessions.bridge import Bridge
from pilothouse_server.sessions.event_stream import EventStream
from support.kernel import bench, says, soon
from support.wire_lines import line
from support.wire_pipe import BLOCKED, Pipe, piped


async def up_to(pipe: Pipe, wanted: str) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = []
    while not events or line(events[-1]) != wanted:
        events.append((await pipe.read())["params"])
    return events


@pytest.mark.covers("R106")
async def test_what_happens_between_runs_belongs_to_none() -> None:
    b = bench(says("first"), says("second"))
    async with piped() as (outbox, pipe):
        b.agent.subscribe(Bridge(EventStream("s", "e"), outbox))
        first = b.agent.prompt("go")
        await soon(first)
        b.agent.notify(Notice("info", "an update is there", "update"))
        second = b.agent.prompt("go on")
        await soon(second)
        seen = await up_to(pipe, "AE completed") + await up_to(pipe, "AE completed")

    between = [event for event in seen if event["type"] == "notice"]
    assert [event["runId"] for event in between] == [None]
    assert {event["runId"] for event in seen if event not in between} == {first.run_id, second.run_id}
    assert [event["seq"] for event in seen] == list(range(1, len(seen) + 1))


@pytest.mark.slow
async def test_a_run_waits_for_a_client_that_is_behind_but_its_end_does_not() -> None:
    b = bench(says(*["x" * 100_000] * 20))
    async with piped() as (outbox, pipe):
        b.agent.subscribe(Bridge(EventStream("s", "e"), outbox))
        outbox.send(BLOCKED)
        run = b.agent.prompt("go")
        async with asyncio.timeout(5):
            while not outbox.full:  # noqa: ASYNC110 - it is told to nobody
                await asyncio.sleep(0)
        b.agent.abort()
        result = await soon(run)
        await pipe.read()
        seen = await up_to(pipe, "AE aborted")

    assert result.stop_reason == "aborted"
    assert "ME(A,aborted)" in map(line, seen)
