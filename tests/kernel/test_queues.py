"""Steering and follow-up: delivered at turn boundaries, handed back at the end, never lost (Q1 to Q4)."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence

import pytest

from pilothouse_agent.kernel.errors import NotRunning
from pilothouse_agent.kernel.events import AgentEnd, CompactionReason, Event, QueuedItem, QueueUpdate
from pilothouse_agent.kernel.hooks import Hooks, StopRun
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.messages import ImageBlock, Message, UserMessage
from pilothouse_agent.kernel.ports import Compaction, ToolContext
from pilothouse_agent.kernel.request import Delta, Finished, ModelLimits
from pilothouse_agent.kernel.settings import RunSettings
from pilothouse_agent.kernel.snapshot import AgentStateSnapshot
from pilothouse_agent.kernel.tooling import ToolResult
from support.kernel import Bench, FakeTool, Gate, asks, bench, block, call, echo_tool, fails, says, soon
from support.recorder import line


def waiting_tool(gate: Gate) -> FakeTool:
    async def wait(arguments: JsonObject, context: ToolContext) -> ToolResult:
        await gate()
        return ToolResult.text("waited")

    return FakeTool("wait", wait)


def at(b: Bench, where: str, act: Callable[[], object]) -> None:
    """Call `act` when the event with this line is published."""

    def listener(event: Event) -> None:
        if line(event) == where:
            act()

    b.agent.subscribe(listener)


@pytest.mark.covers("Q1", "K45", "R101")
async def test_steering_skips_no_call_and_comes_in_a_turn_of_its_own() -> None:
    gate, echo = Gate(), echo_tool()
    calls = asks(call("c1", "wait"), *(call(f"c{n}", "echo", {"v": n}) for n in (2, 3, 4)))
    b = bench(calls, says("ok"), tools=[waiting_tool(gate), echo])
    run = b.agent.prompt("Hi")
    await gate.arrival()

    queue_id = b.agent.steer("S")
    gate.open()
    await soon(run)

    assert b.model.shown[1] == [
        "U:Hi",
        "A: [c1] [c2] [c3] [c4]",
        "R c1:waited",
        *(f"R c{n}:{n}" for n in (2, 3, 4)),
        "U:S",
    ]
    assert b.lines[b.lines.index("TE1") :][:5] == ["TE1", "TS2", "MS(U)", "ME(U,S)", "QU [] []"]
    delivered = b.agent.state.messages[6]
    assert isinstance(delivered, UserMessage)
    assert delivered.queue_id == queue_id


@pytest.mark.covers("Q1", "K46")
async def test_steering_during_text_does_not_cut_the_text() -> None:
    gate = Gate()
    b = bench([Delta("text", 0, "a"), gate, Delta("text", 0, "b"), Finished("stop")], says("ok"))
    run = b.agent.prompt("Hi")
    await gate.arrival()

    b.agent.steer("S")
    gate.open()
    await soon(run)

    assert b.model.shown == [["U:Hi"], ["U:Hi", "A:ab", "U:S"]]
    assert b.lines.count("AS") == 1


@pytest.mark.covers("Q1", "Q2", "K47")
async def test_steering_queued_before_a_prompt_goes_into_its_first_request() -> None:
    b = bench(says("ok"))
    b.agent.steer("S")

    await b.run("Hi")

    assert b.model.shown == [["U:Hi", "U:S"]]


@pytest.mark.covers("Q1", "K48")
async def test_a_follow_up_waits_for_the_last_answer_and_belongs_to_the_same_run() -> None:
    gate = Gate()
    b = bench(asks(call("c1", "wait")), says("1"), says("2"), tools=[waiting_tool(gate)])
    run = b.agent.prompt("Hi")
    await gate.arrival()

    b.agent.follow_up("F")
    gate.open()
    await soon(run)

    assert b.model.shown[1:] == [
        ["U:Hi", "A: [c1]", "R c1:waited"],
        ["U:Hi", "A: [c1]", "R c1:waited", "A:1", "U:F"],
    ]
    assert (b.lines.count("AS"), b.lines.count("AE completed")) == (1, 1)


@pytest.mark.covers("Q1", "K49")
async def test_one_at_a_time_each_message_has_a_request_of_its_own() -> None:
    b = bench(says("1"), says("2"), says("3"))
    b.agent.steer("S1")
    b.agent.steer("S2")
    b.agent.follow_up("F")

    await b.run("Hi")

    assert b.model.shown == [
        ["U:Hi", "U:S1"],
        ["U:Hi", "U:S1", "A:1", "U:S2"],
        ["U:Hi", "U:S1", "A:1", "U:S2", "A:2", "U:F"],
    ]


@pytest.mark.covers("Q1", "K50")
async def test_in_mode_all_a_queue_is_delivered_at_once() -> None:
    b = bench(says("1"), says("2"))
    b.agent.set_queue_mode("steering", "all")
    b.agent.set_queue_mode("followUp", "all")
    for word in ("1", "2"):
        b.agent.steer(f"S{word}")
        b.agent.follow_up(f"F{word}")

    await b.run("Hi")

    assert b.model.shown == [
        ["U:Hi", "U:S1", "U:S2"],
        ["U:Hi", "U:S1", "U:S2", "A:1", "U:F1", "U:F2"],
    ]


@pytest.mark.covers("Q1", "A7", "K51")
async def test_a_mode_changed_during_a_run_counts_at_the_next_poll() -> None:
    b = bench(says("1"), says("2"))
    for word in ("S1", "S2", "S3"):
        b.agent.steer(word)
    at(b, "MU:1", lambda: b.agent.set_queue_mode("steering", "all"))

    await b.run("Hi")

    assert b.model.shown == [["U:Hi", "U:S1"], ["U:Hi", "U:S1", "A:1", "U:S2", "U:S3"]]


@pytest.mark.covers("Q4", "K52", "K57")
async def test_messages_leave_the_queue_by_id_also_when_their_texts_are_equal() -> None:
    b = bench(says("1"), says("2"))
    first, second, third = (b.agent.follow_up("same") for _ in range(3))

    assert b.agent.unqueue([first, third, "unknown"]) == (first, third)
    assert b.agent.unqueue([first]) == ()
    await b.run("Hi")

    delivered = [m.queue_id for m in b.agent.state.messages if isinstance(m, UserMessage)]
    assert delivered == [None, second]


@pytest.mark.covers("Q4", "K52")
async def test_each_change_of_the_queues_is_told_with_what_is_left() -> None:
    gate = Gate()
    b = bench([gate, *says("1")], says("2"), says("never"))
    run = b.agent.prompt("Hi")
    await gate.arrival()

    b.agent.steer("S")
    kept = b.agent.follow_up("F")
    b.agent.unqueue([kept])
    gate.open()
    await soon(run)

    assert [text for text in b.lines if text.startswith("QU")] == [
        "QU [S] []",
        "QU [S] [F]",
        "QU [S] []",
        "QU [] []",
    ]
    assert b.events.of(QueueUpdate)[1] == QueueUpdate(
        (QueuedItem("queue1", "steering", block("S")),), (QueuedItem("queue2", "followUp", block("F")),)
    )
    assert len(b.model.requests) == 2


@pytest.mark.covers("Q4")
async def test_unqueueing_nothing_is_not_told() -> None:
    b = bench()

    assert b.agent.unqueue(["unknown"]) == ()
    await soon(b.agent.wait_for_idle())

    assert b.lines == []


@pytest.mark.covers("Q1", "K53", "K139")
async def test_steering_during_a_compaction_comes_at_the_next_boundary_one_at_a_time() -> None:
    gate = Gate()

    class Once:
        def __init__(self) -> None:
            self.done = False

        def due(self, tokens: int, limits: ModelLimits) -> bool:
            return not self.done

        async def compact(
            self, messages: Sequence[Message], limits: ModelLimits, reason: CompactionReason
        ) -> Compaction:
            self.done = True
            await gate()
            return Compaction(tuple(messages), "the same")

    b = bench(says("1"), says("2"), says("3"), compactor=Once())
    run = b.agent.prompt("Hi")
    await gate.arrival()

    b.agent.steer("S1")
    b.agent.steer("S2")
    gate.open()
    await soon(run)

    assert b.model.shown == [
        ["U:Hi"],
        ["U:Hi", "A:1", "U:S1"],
        ["U:Hi", "A:1", "U:S1", "A:2", "U:S2"],
    ]


@pytest.mark.covers("Q1", "K55")
async def test_steering_from_inside_a_tool_comes_after_its_batch() -> None:
    async def steer(arguments: JsonObject, context: ToolContext) -> ToolResult:
        b.agent.steer("S")
        return ToolResult.text("steered")

    tools = [FakeTool("steer", steer), echo_tool()]
    b = bench(asks(call("c1", "steer"), call("c2", "echo")), says("ok"), tools=tools)

    await b.run("Hi")

    assert b.model.shown[1] == ["U:Hi", "A: [c1] [c2]", "R c1:steered", "R c2:ok", "U:S"]


@pytest.mark.covers("Q4", "K56")
async def test_an_image_alone_leaves_the_queue_when_it_is_delivered() -> None:
    b = bench(says("1"))
    image = ImageBlock("image/png", "aGk=")
    b.agent.steer((image,))

    await b.run("Hi")

    assert b.agent.state.messages[1].content == (image,)
    assert b.agent.state.steering == ()


@pytest.mark.covers("Q1")
@pytest.mark.parametrize("empty", ["", "  ", (), block(" ")], ids=["text", "blank", "blocks", "blank block"])
async def test_an_empty_message_is_not_queued(empty: str) -> None:
    b = bench()

    with pytest.raises(ValueError, match="message is empty"):
        b.agent.steer(empty)
    with pytest.raises(ValueError, match="message is empty"):
        b.agent.follow_up(empty)

    assert (b.agent.state.steering, b.agent.state.follow_up) == ((), ())


@pytest.mark.covers("Q2", "Q3")
@pytest.mark.parametrize("where", ["PH turn→idle", "AE completed"])
async def test_after_the_final_poll_nothing_is_queued_until_the_run_is_over(where: str) -> None:
    b = bench(says("ok"), says("next"))
    refused: list[type[Exception]] = []

    def late() -> None:
        for queue in (b.agent.steer, b.agent.follow_up):
            try:
                queue("late")
            except NotRunning as error:
                refused.append(type(error))

    at(b, where, late)
    assert b.agent.ending is False
    result = await b.run("Hi")

    assert (refused, result.returned, b.agent.ending) == ([NotRunning] * 2, (), False)
    b.agent.steer("for the next")
    await b.run("again")
    assert b.model.shown[1] == ["U:Hi", "A:ok", "U:again", "U:for the next"]


@pytest.mark.covers("Q1", "Q2")
@pytest.mark.parametrize("where", ["MU:ok", "ME(A,stop)", "TE1"])
async def test_steering_before_the_final_poll_is_still_delivered(where: str) -> None:
    b = bench(says("ok"), says("2"))
    sent: list[str] = []

    def once() -> None:
        if not sent:
            sent.append(b.agent.steer("S"))

    at(b, where, once)
    result = await b.run("Hi")

    assert (b.shown, result.returned) == (["U:Hi", "A:ok", "U:S", "A:2"], ())


async def steered_after(loop_turns: int) -> str:
    """What becomes of a steering message sent that many turns of the loop into a run."""

    async def spread(event: Event) -> None:
        await asyncio.sleep(0)

    b = bench(says("1"), says("2"))
    b.agent.subscribe(spread)
    run = b.agent.prompt("Hi")
    for _ in range(loop_turns):
        await asyncio.sleep(0)
    busy, queue_id = b.agent.busy, "refused"
    with contextlib.suppress(NotRunning):
        queue_id = b.agent.steer("S")
    result = await soon(run)

    delivered = [m.queue_id for m in b.agent.state.messages if isinstance(m, UserMessage) and m.queue_id]
    kept = [item.queue_id for item in b.agent.state.steering]
    fates = {"delivered": delivered, "returned": [item.queue_id for item in result.returned], "kept": kept}
    found = [fate for fate, ids in fates.items() if ids == [queue_id]]
    assert len(found) == (0 if queue_id == "refused" else 1)
    assert not (busy and found == ["kept"]), "queued in a run that no longer delivers"
    return "".join(found) or "refused"


@pytest.mark.covers("Q2", "Q3")
async def test_there_is_no_moment_in_which_a_message_is_lost() -> None:
    fates = [await steered_after(turns) for turns in range(120)]

    assert list(dict.fromkeys(fates)) == ["delivered", "refused", "kept"]


@pytest.mark.covers("Q3", "E2")
@pytest.mark.parametrize("ending", ["error", "maxTurns", "completed"])
async def test_whatever_the_ending_undelivered_messages_are_handed_back_once(ending: str) -> None:
    async def stop(snapshot: AgentStateSnapshot) -> StopRun:
        return StopRun()

    hooks = Hooks(should_stop_after_turn=(stop,)) if ending == "completed" else None
    first = [fails("auth")] if ending == "error" else says("ok")
    b = bench(first, says("next"), hooks=hooks, settings=RunSettings(max_turns=1))
    ids = (b.agent.follow_up("F1"), b.agent.follow_up("F2"))

    result = await b.run("Hi")

    end = b.events.last
    assert isinstance(end, AgentEnd)
    assert (result.stop_reason, tuple(item.queue_id for item in result.returned)) == (ending, ids)
    assert end.returned == result.returned
    assert b.lines[-3:] == ["QU [] []", "PH turn→idle", f"AE {ending}"]
    assert (await b.run("again")).returned == ()
    assert b.agent.state.follow_up == ()
