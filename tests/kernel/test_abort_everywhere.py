"""One run in which everything happens, aborted at each of its events and at each turn of the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence

import pytest

from pilothouse_agent.kernel.abort import AbortSignal
from pilothouse_agent.kernel.compaction import DropOldestTurns
from pilothouse_agent.kernel.events import Event, MessageEnd
from pilothouse_agent.kernel.hooks import Hooks
from pilothouse_agent.kernel.messages import Message, Usage, UserMessage
from pilothouse_agent.kernel.request import Delta
from pilothouse_agent.kernel.run import RunResult
from pilothouse_agent.kernel.snapshot import AgentStateSnapshot
from support.kernel import Bench, Ids, asks, bench, call, echo_tool, fails, says, soon
from support.run_rules import check_events, check_stored


async def unchanged(messages: Sequence[Message], signal: AbortSignal) -> Sequence[Message]:
    await asyncio.sleep(0)
    return messages


async def undecided(snapshot: AgentStateSnapshot) -> None:
    await asyncio.sleep(0)


def everything() -> Bench:
    """Retry, tools, compaction, a broken stream and its resume, steering, a follow-up, hooks."""
    ids = Ids()
    b = bench(
        [fails("overloaded", retryable=True)],
        asks(call("c1", "echo"), call("c2", "echo", {"v": 2}), usage=Usage(7_000, 1)),
        [Delta("text", 0, "par"), fails("connectionLost", retryable=True)],
        says("tial", usage=Usage(10, 1)),
        says("followed"),
        says("never"),
        tools=[echo_tool()],
        compactor=lambda clock: DropOldestTurns(clock, lambda: ids("msg")),
        window=8_000,
        new_id=ids,
        hooks=Hooks(transform_context=(unchanged,), should_stop_after_turn=(undecided,)),
    )
    b.agent.steer("S1")
    b.agent.steer("S2")
    b.agent.follow_up("F")
    return b


LINES = [
    *("AS", "PH idle→turn"),
    *("TS1", "MS(U)", "ME(U,Hi)", "MS(U)", "ME(U,S1)", "QU [S2] [F]"),
    *("PH turn→retry", "RS 1/3 2000", "PH retry→turn"),
    *("MS(A)", "MU c1:{}", 'MU c2:{"v": 2}', "ME(A,toolUse)"),
    *("XS c1", "XS c2", "XE c1 ok", "XE c2 ok", "MS(R)", "ME(R,c1 ok)", "MS(R)", "ME(R,c2 ok)", "TE1"),
    *("TS2", "MS(U)", "ME(U,S2)", "QU [] [F]"),
    *("PH turn→compaction", "CS threshold", "CE threshold ok", "PH compaction→turn"),
    *("MS(A)", "MU:par", "ME(A,interrupted)", "TE2"),
    *(
        "TS3",
        "MS(C)",
        "ME(C,resume)",
        "PH turn→retry",
        "RS 1/3 2000",
        "PH retry→turn",
        "MS(A)",
        "MU:tial",
        "ME(A,stop)",
        "TE3",
    ),
    *("TS4", "MS(U)", "ME(U,F)", "QU [] []", "MS(A)", "MU:followed", "ME(A,stop)", "TE4"),
    *("PH turn→idle", "AE completed"),
]
LAST_CHANCE = LINES.index("TE4")


def check(b: Bench, result: RunResult, requests: int) -> None:
    """What holds after an abort wherever it came."""
    assert len(b.model.requests) == requests, "a request was sent after the abort"
    assert b.lines[-1] == f"AE {result.stop_reason}"
    check_events(b.events.events)
    check_stored(b.agent.state.messages)
    state = b.agent.state
    assert (state.phase, state.is_streaming, state.pending_tool_calls) == ("idle", False, ())
    assert (state.steering, state.follow_up, b.agent.busy) == ((), (), False)
    stored = [event.message for event in b.events.of(MessageEnd)]
    delivered = [m.queue_id for m in stored if isinstance(m, UserMessage) and m.queue_id]
    returned = [item.queue_id for item in result.returned]
    assert sorted([*delivered, *returned]) == ["queue1", "queue2", "queue3"]


@pytest.mark.covers("E3", "S2")
async def test_left_alone_the_run_has_these_events() -> None:
    b = everything()
    b.events.clear()

    await b.run("Hi")

    assert b.lines[b.lines.index("AS") :] == LINES


@pytest.mark.covers("A5", "T8", "Q3", "S3", "E1", "E2")
@pytest.mark.parametrize("late", [False, True], ids=["at once", "later"])
@pytest.mark.parametrize("where", range(len(LINES)), ids=LINES)
async def test_aborted_in_a_listener_at_any_event_it_ends_well(where: int, late: bool) -> None:
    b, requests = everything(), 0

    async def later() -> None:
        for _ in range(3):
            await asyncio.sleep(0)
        abort()

    def abort() -> None:
        nonlocal requests
        b.agent.abort()
        requests = len(b.model.requests)

    def listener(event: Event) -> Awaitable[None] | None:
        if "AS" in b.lines and len(b.lines) - b.lines.index("AS") == where + 1:
            return later() if late else abort()
        return None

    b.agent.subscribe(listener)
    result = await b.run("Hi")

    assert b.lines[b.lines.index("AS") :][: where + 1] == LINES[: where + 1]
    assert result.stop_reason == ("aborted" if where <= LAST_CHANCE else "completed")
    check(b, result, requests)


@pytest.mark.covers("A5", "T8", "Q3", "S3", "K69")
async def test_aborted_at_any_turn_of_the_loop_it_ends_well() -> None:
    for turns in range(1000):
        b = everything()
        run = b.agent.prompt("Hi")
        for _ in range(turns):
            await asyncio.sleep(0)
        if not b.agent.busy:
            break
        ending, requests = b.agent.ending, len(b.model.requests)
        b.agent.abort()

        result = await soon(run)

        assert result.stop_reason == ("completed" if ending else "aborted")
        check(b, result, requests)
    else:
        pytest.fail("the run never ends")
    assert turns > 20
