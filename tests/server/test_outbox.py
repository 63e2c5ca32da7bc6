from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pilothouse_agent.kernel.events import Event, MessageUpdate, Notice, ToolExecutionUpdate
from pilothouse_server.sessions.event_stream import EventStream, OutgoingEvent
from pilothouse_server.transport.outbox import Outbox
from support.wire_pipe import BLOCKED, Pipe, piped


class Unsayable:
    size = 1

    def absorb(self, later: object) -> bool:
        return False

    def body(self) -> bytes:
        raise ValueError("no words")


def text(of: str, *, index: int = 0, text: str = "x") -> MessageUpdate:
    return MessageUpdate(of, "text", index, text)


async def events(pipe: Pipe, count: int) -> list[dict[str, Any]]:
    return [message["params"] for message in await pipe.take(count)]


def said(event: dict[str, Any]) -> tuple[Any, ...]:
    """Its number, and what is particular to it."""
    match event["type"]:
        case "message_update":
            return event["seq"], event["messageId"], event["delta"]["text"]
        case "tool_execution_update":
            return event["seq"], event["toolCallId"], event["progress"]["text"]
        case _:
            return event["seq"], event["message"]


async def test_messages_leave_in_the_order_they_came() -> None:
    async with piped() as (outbox, pipe):
        for number in range(1000):
            outbox.send(b"%d" % number)

        assert await pipe.take(1000) == list(range(1000))


@pytest.mark.covers("E6")
async def test_nothing_is_merged_for_a_client_that_keeps_up() -> None:
    stream = EventStream("s", "e")
    async with piped() as (outbox, pipe):
        for word in ("a", "b", "c"):
            outbox.put(OutgoingEvent(stream, text("m", text=word), "r"))

        assert [said(event) for event in await events(pipe, 3)] == [
            (1, "m", "a"),
            (2, "m", "b"),
            (3, "m", "c"),
        ]


@pytest.mark.covers("E6")
async def test_text_for_a_client_that_is_behind_merges_with_its_neighbour_only() -> None:
    stream = EventStream("s", "e")
    waiting: list[Event] = [
        *[text("m", text="a"), text("m", text="b"), text("m", index=1, text="c")],
        *[ToolExecutionUpdate("t", "1"), ToolExecutionUpdate("t", "2"), ToolExecutionUpdate("u", "3")],
        *[text("m", text="d"), Notice("info", "state", "x"), text("m", text="e")],
    ]
    async with piped() as (outbox, pipe):
        await blocked(outbox)
        for event in waiting:
            outbox.put(OutgoingEvent(stream, event, "r"))
        outbox.send(b'"an answer"')
        outbox.put(OutgoingEvent(stream, text("m", text="f"), "r"))

        await pipe.read()
        before, answer, after = await events(pipe, 7), await pipe.read(), await events(pipe, 1)

    assert [said(event) for event in before] == [
        *[(1, "m", "ab"), (2, "m", "c"), (3, "t", "12"), (4, "u", "3")],
        *[(5, "m", "d"), (6, "state"), (7, "m", "e")],
    ]
    assert (answer, [said(event) for event in after]) == ("an answer", [(8, "m", "f")])


async def blocked(outbox: Outbox) -> None:
    """From now on things wait."""
    outbox.send(BLOCKED)
    await asyncio.sleep(0)


deltas = st.builds(text, st.sampled_from("mn"), index=st.integers(0, 1), text=st.text(max_size=5))
progress = st.builds(
    ToolExecutionUpdate, st.sampled_from("tu"), st.text("aé\n", max_size=5), st.sampled_from([0, 0, 7])
)
notices = st.builds(Notice, st.just("info"), st.text(max_size=5), st.just("x"))
waits = st.just(None)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(deltas | progress | notices | waits, max_size=60), st.booleans())
@pytest.mark.covers("E6")
async def test_whatever_the_client_does_state_arrives_text_is_complete_and_numbers_rise_by_one(
    put: list[Event | None], behind: bool
) -> None:
    stream = EventStream("s", "e")
    async with piped() as (outbox, pipe):
        if behind:
            await blocked(outbox)
        for event in put:
            if event is None:
                await asyncio.sleep(0)
            else:
                outbox.put(OutgoingEvent(stream, event, "r"))
        outbox.put(OutgoingEvent(stream, Notice("info", "the end", "x"), "r"))
        seen = await up_to_the_end(pipe, skip=behind)

    assert [event["seq"] for event in seen] == list(range(1, len(seen) + 1))
    assert [event["message"] for event in seen if event["type"] == "notice"] == [
        *(event.message for event in put if isinstance(event, Notice)),
        "the end",
    ]
    assert texts(seen) == sent_texts(put)
    assert progress_bytes(seen) == sent_bytes(put)


async def up_to_the_end(pipe: Pipe, *, skip: bool) -> list[dict[str, Any]]:
    await pipe.take(skip)
    seen = await events(pipe, 1)
    while seen[-1].get("message") != "the end":
        seen += await events(pipe, 1)
    return seen


def texts(seen: list[dict[str, Any]]) -> dict[tuple[str, int], str]:
    found: dict[tuple[str, int], str] = {}
    for event in seen:
        if event["type"] == "message_update":
            key = (event["messageId"], event["delta"]["contentIndex"])
            found[key] = found.get(key, "") + event["delta"]["text"]
    return found


def sent_texts(put: list[Event | None]) -> dict[tuple[str, int], str]:
    found: dict[tuple[str, int], str] = {}
    for event in put:
        if isinstance(event, MessageUpdate):
            key = (event.message_id, event.content_index)
            found[key] = found.get(key, "") + event.text
    return found


def progress_bytes(seen: list[dict[str, Any]]) -> dict[str, int]:
    """What arrived and what is said to be missing."""
    found: dict[str, int] = {}
    for event in seen:
        if event["type"] == "tool_execution_update":
            said, of = event["progress"], event["toolCallId"]
            found[of] = found.get(of, 0) + len(said["text"].encode()) + said.get("dropped", 0)
    return found


def sent_bytes(put: list[Event | None]) -> dict[str, int]:
    found: dict[str, int] = {}
    for event in put:
        if isinstance(event, ToolExecutionUpdate):
            of = event.tool_call_id
            found[of] = found.get(of, 0) + len(event.text.encode()) + event.dropped
    return found


async def test_progress_that_waits_is_cut_at_its_beginning_which_is_said() -> None:
    stream = EventStream("s", "e")
    async with piped() as (outbox, pipe):
        await blocked(outbox)
        for _ in range(300):
            outbox.put(OutgoingEvent(stream, ToolExecutionUpdate("t", "é" * 999 + "\n"), "r"))
        await pipe.read()
        [event] = await events(pipe, 1)

    kept = ("é" * 999 + "\n") * 300
    assert event["progress"] == {
        "text": kept[-64 * 1024 :],
        "dropped": len(kept[: -64 * 1024].encode()),
    }


async def test_progress_behind_a_gap_is_kept_apart_from_what_was_before_it() -> None:
    stream = EventStream("s", "e")
    async with piped() as (outbox, pipe):
        await blocked(outbox)
        for update in [("é", 1), ("b", 0), ("c", 10), ("d", 0)]:
            outbox.put(OutgoingEvent(stream, ToolExecutionUpdate("t", *update), "r"))
        await pipe.read()
        [event] = await events(pipe, 1)

    assert event["progress"] == {"text": "cd", "dropped": 1 + 3 + 10}


@pytest.mark.covers("E6")
async def test_what_was_settled_has_its_number_and_is_not_merged_into() -> None:
    stream = EventStream("s", "e")
    async with piped() as (outbox, pipe):
        await blocked(outbox)
        outbox.put(OutgoingEvent(stream, text("m", text="a"), "r"))
        outbox.settle()
        seq = stream.seq
        outbox.put(OutgoingEvent(stream, text("m", text="b"), "r"))
        await pipe.read()

        assert (seq, [said(event) for event in await events(pipe, 2)]) == (1, [(1, "m", "a"), (2, "m", "b")])


async def test_an_event_that_json_cannot_hold_is_missed_by_name() -> None:
    stream = EventStream("s", "e")
    odd: Any = object()
    async with piped() as (outbox, pipe):
        outbox.put(OutgoingEvent(stream, Notice("info", odd, "x"), "r"))
        outbox.put(OutgoingEvent(stream, Notice("info", "next", "x"), "r"))
        seen = await events(pipe, 2)

    assert [said(event) for event in seen] == [
        (1, "The event notice could not be put into JSON; it is missing here."),
        (2, "next"),
    ]


async def test_a_message_without_words_does_not_take_its_neighbours_along() -> None:
    async with piped() as (outbox, pipe):
        outbox.send(b"1")
        outbox.put(Unsayable())
        outbox.send(b"2")

        assert await pipe.take(2) == [1, 2]


async def test_producers_wait_while_too_much_waits_and_go_on_when_the_client_reads() -> None:
    async with piped() as (outbox, pipe):
        await blocked(outbox)
        outbox.send(b'"%b"' % (b"y" * 500_000))
        half = outbox.full
        outbox.send(b'"%b"' % (b"z" * 600_000))
        full = outbox.full
        waiting = asyncio.create_task(outbox.room())
        await asyncio.sleep(0)
        waits = not waiting.done()
        await pipe.take(3)
        await asyncio.wait_for(waiting, 5)

        assert (half, full, waits, outbox.full) == (False, True, True, False)


@pytest.mark.slow
async def test_a_producer_waits_for_a_bounded_time_only() -> None:
    async with piped() as (outbox, _):
        await blocked(outbox)
        outbox.send(b'"%b"' % (b"y" * 1_100_000))
        await asyncio.wait_for(outbox.room(), 5)

        assert outbox.full


async def test_nobody_waits_any_more_when_the_end_is_near() -> None:
    async with piped() as (outbox, _):
        await blocked(outbox)
        outbox.send(b'"%b"' % (b"y" * 1_100_000))
        waiting = asyncio.create_task(outbox.room())
        outbox.hurry()
        await asyncio.wait_for(waiting, 5)
        outbox.send(b'"%b"' % (b"y" * 1_100_000))

        assert not outbox.full


async def test_closing_sends_what_is_left_and_nothing_afterwards() -> None:
    async with piped() as (outbox, pipe):
        await blocked(outbox)
        outbox.send(b"1")
        closing = asyncio.create_task(outbox.close(5))
        await asyncio.sleep(0)
        outbox.send(b"2")
        seen = await pipe.take(2)
        sent = await closing
        pipe.close_entry()

        assert (seen[1:], sent, await pipe.read()) == ([1], True, None)


async def test_closing_does_not_wait_for_a_client_that_does_not_read() -> None:
    async with piped() as (outbox, _):
        await blocked(outbox)

        assert await outbox.close(0.05) is False


async def test_a_closed_pipe_is_told_once_and_what_comes_later_harms_nobody() -> None:
    async with piped() as (outbox, pipe):
        pipe.close()
        outbox.send(b"1")
        await asyncio.wait_for(pipe.broken.wait(), 5)
        outbox.send(b"2")

        assert await outbox.close(5) is True
