"""Events put into words: updates from a template, and the same as all others."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pilothouse_agent.kernel.events import MessageUpdate, ToolExecutionUpdate
from pilothouse_server.protocol.events import event_to_wire
from pilothouse_server.protocol.kernel_values import clock_time, timestamp
from pilothouse_server.sessions.event_stream import EventStream
from pilothouse_server.wire.codec import decode, encode

NOON = datetime(2026, 5, 4, 12, 0, 0, 987_654, tzinfo=UTC)

ids = st.sampled_from(["m1", "m2", '","seq":0,"time":""', "“id”\\"])
texts = st.text(st.characters(), max_size=8)
"""Of any characters, halves of surrogate pairs too."""
updates = st.one_of(
    st.builds(MessageUpdate, ids, st.sampled_from(["text", "thinking"]), st.integers(0, 2), texts),
    st.builds(MessageUpdate, ids, st.just("toolCall"), st.integers(0, 2), texts, ids, st.none() | ids),
    st.builds(ToolExecutionUpdate, ids, texts, st.sampled_from([0, 0, 7])),
)


@pytest.mark.covers("E6")
@settings(max_examples=100, deadline=None)
@given(ids, st.lists(st.tuples(updates, st.none() | ids), max_size=8))
def test_an_update_says_what_its_fields_say_whatever_was_said_before_it(
    session_id: str, said: list[tuple[MessageUpdate | ToolExecutionUpdate, str | None]]
) -> None:
    stream = EventStream(session_id, "epoch")
    common = {"sessionId": session_id, "epoch": "epoch", "time": "2026-05-04T12:00:00.987Z"}

    heard = [decode(stream.encoded(update, run_id, NOON.timestamp())) for update, run_id in said]

    assert heard == [
        decode(encode({**common, "runId": run_id, "seq": seq, **event_to_wire(update)}))
        for seq, (update, run_id) in enumerate(said, start=1)
    ]


@settings(max_examples=100, deadline=None)
@given(st.datetimes(datetime(1970, 1, 2), datetime(2100, 1, 1), timezones=st.just(UTC)))
def test_a_clock_time_is_written_like_a_time(time: datetime) -> None:
    time = time.replace(microsecond=time.microsecond // 1000 * 1000 + 500)

    assert clock_time(time.timestamp()) == timestamp(time)
