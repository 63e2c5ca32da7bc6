"""What an abort does to queued messages: handed back once, never sent, never lost (Q3)."""

from __future__ import annotations

import pytest

from pilothouse_agent.kernel.errors import NotRunning
from pilothouse_agent.kernel.events import AgentEnd, Event, MessageEnd, ToolExecutionEnd, TurnEnd
from pilothouse_agent.kernel.request import Delta
from support.kernel import Gate, asks, bench, block, call, echo_tool, says, soon
from support.permissions import STOP, FakePermissions, FakeUser


@pytest.mark.covers("T8", "Q3", "K67")
async def test_at_the_end_of_a_turn_a_queued_follow_up_is_not_started() -> None:
    b = bench(says("ok"), says("never"))

    def at_turn_end(event: Event) -> None:
        if isinstance(event, TurnEnd):
            b.agent.follow_up("F")
            b.agent.abort()

    b.agent.subscribe(at_turn_end)
    result = await b.run("Hi")

    assert (len(b.model.requests), result.stop_reason) == (1, "aborted")
    assert [item.content for item in result.returned] == [block("F")]


@pytest.mark.covers("Q3", "E2", "K66", "R100")
async def test_queued_messages_are_handed_back_once_and_never_sent() -> None:
    stall = Gate()
    b = bench([Delta("text", 0, "x"), stall], says("next"))
    run = b.agent.prompt("Hi")
    await stall.arrival()
    steering, follow_up = b.agent.steer("A"), b.agent.follow_up("B")

    returned = b.agent.abort()
    result = await soon(run)

    end = b.events.last
    assert isinstance(end, AgentEnd)
    assert [item.queue_id for item in returned] == [steering, follow_up]
    assert [item.kind for item in returned] == ["steering", "followUp"]
    assert returned == result.returned == end.returned
    assert b.lines[-5:] == ["ME(A,aborted)", "TE1", "QU [] []", "PH turn→idle", "AE aborted"]
    await b.run("again")
    assert b.shown == ["U:Hi", "A:x (aborted)", "U:again", "A:next"]


@pytest.mark.covers("Q2", "Q3")
async def test_from_the_abort_on_the_queues_take_nothing() -> None:
    stall = Gate()
    b = bench([stall])
    run = b.agent.prompt("Hi")
    await stall.arrival()
    b.agent.abort()

    with pytest.raises(NotRunning):
        b.agent.steer("late")
    with pytest.raises(NotRunning):
        b.agent.follow_up("late")

    await soon(run)
    assert b.agent.state.steering == ()


@pytest.mark.covers("Q3", "K71")
async def test_of_a_half_delivered_batch_what_arrived_stays_and_the_rest_goes_back() -> None:
    b = bench(says("never"))
    b.agent.set_queue_mode("steering", "all")
    ids = [b.agent.steer(word) for word in ("S1", "S2", "S3")]
    returned: list[str] = []

    def at_second(event: Event) -> None:
        if isinstance(event, MessageEnd) and b.lines[-1] == "ME(U,S1)":
            returned.extend(item.queue_id for item in b.agent.abort())

    b.agent.subscribe(at_second)
    result = await b.run("Hi")

    assert b.shown == ["U:Hi", "U:S1"]
    assert returned == [item.queue_id for item in result.returned] == ids[1:]
    assert b.model.requests == []


@pytest.mark.covers("Q3")
async def test_a_message_taken_from_its_queue_but_not_yet_delivered_goes_back_too() -> None:
    b = bench(says("ok"), says("never"))
    returned: list[str] = []

    def at_second_turn(event: Event) -> None:
        if b.lines[-1] == "TE1":
            b.agent.steer("S")
        elif b.lines[-1] == "TS2":
            returned.extend(item.queue_id for item in b.agent.abort())

    b.agent.subscribe(at_second_turn)
    result = await b.run("Hi")

    assert returned == [item.queue_id for item in result.returned] == ["queue1"]
    assert b.lines[-7:] == ["TE1", "QU [S] []", "TS2", "TE2", "QU [] []", "PH turn→idle", "AE aborted"]
    assert b.shown == ["U:Hi", "A:ok"]


@pytest.mark.covers("Q2", "Q3", "P2")
async def test_a_question_answered_with_stop_closes_the_queues_at_once() -> None:
    b = bench(
        asks(call("c1", "echo")), tools=[echo_tool()], permissions=FakePermissions(), approver=FakeUser(STOP)
    )
    queue_id = b.agent.follow_up("F")
    refused: list[str] = []

    def late(event: Event) -> None:
        if isinstance(event, ToolExecutionEnd):
            with pytest.raises(NotRunning):
                b.agent.steer("late")
            refused.append("late")

    b.agent.subscribe(late)
    result = await b.run("Hi")

    assert (result.stop_reason, refused) == ("aborted", ["late"])
    assert [item.queue_id for item in result.returned] == [queue_id]
