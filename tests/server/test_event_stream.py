"""Events get their number as they leave, after merging (kernel.md E6)."""

from __future__ import annotations

import json

import pytest

from pilothouse_agent.kernel.events import MessageUpdate, Notice, ToolExecutionUpdate, TurnStart
from pilothouse_server.event_stream import EventStream, OutgoingEvent


def said(text: str, message: str = "m1", index: int = 0) -> MessageUpdate:
    return MessageUpdate(message, "text", index, text)


@pytest.mark.covers("E6")
def test_merged_text_has_one_number_and_the_next_event_the_next() -> None:
    stream = EventStream("s1", "e1")
    first = OutgoingEvent(stream, said("Hel"), "r1")
    later = OutgoingEvent(stream, TurnStart(2), "r1")

    assert first.absorb(OutgoingEvent(stream, said("lo"), "r1"))
    assert first.absorb(OutgoingEvent(stream, said("!"), "r1"))
    assert not first.absorb(later)
    sent = [json.loads(event.body())["params"] for event in (first, later)]

    assert [(event["seq"], event["type"]) for event in sent] == [(1, "message_update"), (2, "turn_start")]
    assert sent[0]["delta"] == {"kind": "text", "contentIndex": 0, "text": "Hello!"}


@pytest.mark.covers("E6")
def test_only_text_of_the_same_block_merges() -> None:
    stream, other = EventStream("s1", "e1"), EventStream("s2", "e1")
    event = OutgoingEvent(stream, said("a"), "r1")

    refused = (
        OutgoingEvent(stream, said("b", message="m2"), "r1"),
        OutgoingEvent(stream, said("b", index=1), "r1"),
        OutgoingEvent(other, said("b"), "r1"),
        OutgoingEvent(stream, Notice("info", "n", "n"), "r1"),
    )

    assert [event.absorb(later) for later in refused] == [False] * 4


@pytest.mark.covers("E6")
def test_merged_progress_keeps_the_end_and_says_what_was_dropped() -> None:
    stream = EventStream("s1", "e1")
    event = OutgoingEvent(stream, ToolExecutionUpdate("c1", "x" * 65_536), "r1")

    assert event.absorb(OutgoingEvent(stream, ToolExecutionUpdate("c1", "end"), "r1"))
    progress = json.loads(event.body())["params"]["progress"]

    assert (progress["text"], progress["dropped"]) == ("x" * 65_533 + "end", 3)
