"""When the history is shortened during runs and by hand (L2, L5, S1)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from pilothouse_agent.kernel.compaction import DropOldestTurns
from pilothouse_agent.kernel.errors import AgentBusy
from pilothouse_agent.kernel.events import CompactionEnd, CompactionReason, CompactionStart
from pilothouse_agent.kernel.messages import CustomMessage, ErrorInfo, Message, Usage, UserMessage
from pilothouse_agent.kernel.ports import Clock, Compaction
from pilothouse_agent.kernel.request import ModelLimits
from pilothouse_agent.kernel.settings import RunSettings
from support.kernel import FakeClock, Gate, asks, bench, block, call, echo_tool, fails, says, soon

TOO_LONG = fails("contextOverflow", "The prompt is too long: 9000 tokens.")
FULL = Usage(7_900, 10)
WINDOW = 8_000


class ToNote:
    """Puts a note in the place of everything but the last user message; notes what it was given."""

    def __init__(self, *, threshold: int | None = 7_000, result: str = "note") -> None:
        self.threshold = threshold
        self.result = result
        self.reasons: list[CompactionReason] = []
        self.hang = Gate()

    def due(self, tokens: int, limits: ModelLimits) -> bool:
        return self.threshold is not None and tokens > self.threshold

    async def compact(
        self, messages: Sequence[Message], limits: ModelLimits, reason: CompactionReason
    ) -> Compaction | None:
        self.reasons.append(reason)
        if self.result == "nothing":
            return None
        if self.result == "raises":
            raise OSError("no summary")
        if self.result == "hangs":
            await self.hang()
        note = CustomMessage("n1", block("note"), FakeClock().now(), "compaction", for_model=True)
        users = [message for message in messages if isinstance(message, UserMessage)]
        return Compaction((note, *users[-1:]), "a summary")


@pytest.mark.covers("L2", "E3", "S2", "W169")
async def test_a_history_near_the_limit_is_shortened_before_the_request() -> None:
    b = bench(says("1", usage=FULL), says("2", usage=Usage(100, 1)), compactor=ToNote())
    await b.run("one")
    b.events.clear()

    await b.run("two")

    assert b.lines == [
        "AS",
        "PH idle→turn",
        "TS1",
        "MS(U)",
        "ME(U,two)",
        "PH turn→compaction",
        "CS threshold",
        "CE threshold ok",
        "PH compaction→turn",
        "MS(A)",
        "MU:2",
        "ME(A,stop)",
        "TE1",
        "PH turn→idle",
        "AE completed",
    ]
    assert b.model.shown[1] == ["U:note", "U:two"]
    assert b.events.phases[1:3] == [
        ("turn", "compaction", "threshold"),
        ("compaction", "turn", "compacted"),
    ]
    end = b.events.of(CompactionEnd)[0]
    assert (end.tokens_before, end.summary, end.error) == (7_910 + 4, "a summary", None)
    assert end.tokens_after < end.tokens_before


@pytest.mark.covers("L5", "K84", "S2")
async def test_a_prompt_too_long_is_compacted_once_and_sent_once_more() -> None:
    compactor = ToNote(threshold=None)
    b = bench([TOO_LONG], says("ok"), compactor=compactor)

    result = await b.run("Hi")

    assert b.lines[5:13] == [
        "PH turn→compaction",
        "CS overflow",
        "CE overflow ok",
        "PH compaction→turn",
        "MS(A)",
        "MU:ok",
        "ME(A,stop)",
        "TE1",
    ]
    assert (result.stop_reason, b.model.shown) == ("completed", [["U:Hi"], ["U:note", "U:Hi"]])
    assert b.clock.sleeps == []


@pytest.mark.covers("L5", "K84")
async def test_a_second_overflow_in_a_row_ends_the_run_with_the_providers_words() -> None:
    compactor = ToNote(threshold=None)
    b = bench([TOO_LONG], [TOO_LONG], says("never"), compactor=compactor)

    result = await b.run("Hi")

    assert (result.stop_reason, result.error) == ("error", TOO_LONG.error)
    assert (compactor.reasons, len(b.model.requests)) == (["overflow"], 2)


@pytest.mark.covers("L5")
async def test_after_a_finished_message_an_overflow_may_be_compacted_again() -> None:
    compactor = ToNote(threshold=None)
    b = bench(
        [TOO_LONG],
        asks(call("c1", "echo")),
        [TOO_LONG],
        says("ok"),
        compactor=compactor,
        tools=[echo_tool()],
    )

    assert (await b.run("Hi")).text == "ok"
    assert compactor.reasons == ["overflow", "overflow"]


@pytest.mark.covers("L5")
@pytest.mark.parametrize("result", ["nothing", "raises", "no compactor"])
async def test_an_overflow_that_cannot_be_compacted_ends_the_run_and_keeps_the_history(result: str) -> None:
    compactor = None if result == "no compactor" else ToNote(threshold=None, result=result)
    b = bench([TOO_LONG], says("never"), compactor=compactor)

    ending = await b.run("Hi")

    assert (ending.error, b.shown, len(b.model.requests)) == (TOO_LONG.error, ["U:Hi", "A: (error)"], 1)


@pytest.mark.covers("L5", "L7")
async def test_an_overflow_takes_none_of_the_retries() -> None:
    busy = fails("overloaded", retryable=True)
    b = bench([busy], [TOO_LONG], [busy], [busy], says("ok"), compactor=ToNote(threshold=None))

    assert (await b.run("Hi")).text == "ok"
    assert b.clock.sleeps == [2, 4, 8]


@pytest.mark.covers("R148", "L5")
async def test_compacting_in_vain_is_given_up_after_two_with_a_clear_error() -> None:
    compactor = ToNote()
    turns = [asks(call(f"c{n}", "echo", {"v": n}), usage=FULL) for n in range(9)]
    b = bench(*turns, compactor=compactor, tools=[echo_tool()], window=WINDOW)

    result = await b.run("Hi")

    assert compactor.reasons == ["threshold", "threshold"]
    assert (result.stop_reason, len(b.model.requests)) == ("error", 3)
    assert result.error == ErrorInfo(
        "contextOverflow",
        "The context window is full even after compaction: the fixed part of the request leaves no room. "
        "Choose a model with a larger window, or offer fewer tools and instructions.",
    )
    assert "U:Hi" in b.shown


@pytest.mark.covers("R149", "L2")
@pytest.mark.parametrize("result", ["nothing", "raises", "hangs"])
async def test_a_compaction_that_fails_is_told_tried_twice_a_run_and_leaves_the_history(result: str) -> None:
    compactor = ToNote(result=result)
    turns = [asks(call(f"c{n}", "echo", {"v": n}), usage=FULL) for n in range(9)]
    b = bench(
        *turns,
        says("done"),
        compactor=compactor,
        tools=[echo_tool()],
        settings=RunSettings(compaction_limit=0.01),
    )

    ending = await b.run("Hi")

    assert (ending.text, len(b.model.requests), len(b.shown)) == ("done", 10, 20)
    assert compactor.reasons == ["threshold", "threshold"]
    failures = [event.error for event in b.events.of(CompactionEnd)]
    assert [failure is not None and failure.kind for failure in failures] == ["internal", "internal"]
    assert b.events.phases[2] == ("compaction", "turn", "notCompacted")

    compactor.result = "note"
    assert await b.agent.compact() is True
    assert b.shown == ["C compaction:note", "U:Hi"]


@pytest.mark.covers("R155", "L2")
async def test_after_a_compaction_no_second_one_before_a_new_measurement() -> None:
    compactor = ToNote(threshold=0)
    b = bench([fails("auth")], [fails("auth")], says("ok", usage=FULL), says("2"), compactor=compactor)

    await b.run("Hi")
    assert compactor.reasons == ["threshold"]
    await soon(b.agent.continue_())
    await soon(b.agent.continue_())
    assert compactor.reasons == ["threshold"]

    await b.run("again")
    assert compactor.reasons == ["threshold", "threshold"]


@pytest.mark.covers("S1", "S2", "A4")
async def test_by_hand_it_goes_from_idle_and_back() -> None:
    b = bench(says("ok"), compactor=ToNote())
    await b.run("Hi")
    b.events.clear()

    assert await soon(b.agent.compact()) is True

    assert b.lines == ["PH idle→compaction", "CS manual", "CE manual ok", "PH compaction→idle"]
    assert (b.shown, b.agent.busy) == (["C compaction:note", "U:Hi"], False)


@pytest.mark.covers("A4")
async def test_by_hand_without_a_compactor_nothing_happens() -> None:
    b = bench()

    assert await b.agent.compact() is False
    assert (b.lines, b.agent.busy) == ([], False)


@pytest.mark.covers("A7", "K139")
async def test_during_a_compaction_by_hand_a_prompt_is_refused_and_steering_waits_for_the_next() -> None:
    gate = Gate()

    class Slow(ToNote):
        async def compact(
            self, messages: Sequence[Message], limits: ModelLimits, reason: CompactionReason
        ) -> Compaction | None:
            await gate()
            return await super().compact(messages, limits, reason)

    b = bench(says("1"), says("ok"), compactor=Slow(threshold=None))
    await b.run("Hi")
    compacting = asyncio.create_task(b.agent.compact())
    await gate.arrival()

    with pytest.raises(AgentBusy):
        b.agent.prompt("now")
    b.agent.steer("S")
    gate.open()
    await soon(compacting)
    await b.run("next")

    assert b.model.shown[1] == ["U:note", "U:Hi", "U:next", "U:S"]


@pytest.mark.covers("A7")
async def test_by_hand_it_is_refused_during_a_run() -> None:
    stall = Gate()
    b = bench([stall], compactor=ToNote())
    run = b.agent.prompt("Hi")
    await stall.arrival()

    with pytest.raises(AgentBusy):
        await b.agent.compact()

    b.agent.abort()
    await soon(run)
    assert b.events.of(CompactionStart) == []


@pytest.mark.covers("A4", "E2", "K138")
async def test_by_hand_it_can_follow_a_run_whose_ending_is_told_first() -> None:
    gate = Gate()
    b = bench([gate, *says("ok")], compactor=ToNote(threshold=None))
    run = b.agent.prompt("Hi")
    await gate.arrival()

    async def compact_when_idle() -> None:
        await b.agent.wait_for_idle()
        await b.agent.compact()

    compacting = asyncio.create_task(compact_when_idle())
    gate.open()
    await soon(asyncio.gather(run, compacting))

    assert b.lines[-6:] == [
        "PH turn→idle",
        "AE completed",
        "PH idle→compaction",
        "CS manual",
        "CE manual ok",
        "PH compaction→idle",
    ]


@pytest.mark.covers("A1", "A4")
async def test_cancelling_the_caller_of_a_compaction_by_hand_aborts_it_and_frees_the_agent() -> None:
    compactor = ToNote(result="hangs")
    b = bench(says("ok"), compactor=compactor)
    compacting = asyncio.create_task(b.agent.compact())
    await compactor.hang.arrival()

    compacting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await compacting
    await soon(b.agent.wait_for_idle())

    assert b.lines == ["PH idle→compaction", "CS manual", "CE manual failed", "PH compaction→idle"]
    compactor.threshold = None
    assert (await b.run("Hi")).text == "ok"


class Broken(ToNote):
    def due(self, tokens: int, limits: ModelLimits) -> bool:
        raise ZeroDivisionError("no window")


@pytest.mark.covers("A3")
async def test_a_check_that_fails_means_no_compaction() -> None:
    b = bench(asks(call("c1", "echo")), says("ok"), compactor=Broken(), tools=[echo_tool()])

    result = await b.run("Hi")

    assert (result.text, b.shown) == ("ok", ["U:Hi", "A: [c1]", "R c1:ok", "A:ok"])
    assert b.events.of(CompactionStart) == []


def drop_oldest(clock: Clock) -> DropOldestTurns:
    return DropOldestTurns(clock, lambda: "note")


@pytest.mark.covers("L5", "R148")
async def test_the_built_in_compactor_keeps_the_latest_prompt_through_an_overflow() -> None:
    b = bench(says("1" * 400), [TOO_LONG], says("ok"), compactor=drop_oldest, window=WINDOW)
    await b.run("first")

    await b.run("second")

    note = "U:Note: 2 older messages of this conversation were left out to save room."
    assert b.model.shown[2] == [note, "U:second"]
