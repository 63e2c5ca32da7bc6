from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilothouse_server.sessions.journal import Journal, Kept
from pilothouse_server.wire.codec import encode

LIMITS = {"events": 6, "size": 60, "updates": 30}

steps = st.lists(
    st.tuples(st.sampled_from(["update", "end", "other"]), st.sampled_from(["m1", "m2"]), st.integers(1, 12)),
    max_size=40,
)


def fill(journal: Journal, history: list[tuple[str, str, int]]) -> None:
    for seq, (what, of, size) in enumerate(history, 1):
        journal.add(
            seq,
            b"x" * size,
            update_of=of if what == "update" else None,
            ends=of if what == "end" else None,
        )


def wanted(history: list[tuple[str, str, int]], after: int) -> list[int]:
    """What a client that has seen `after` is missing: updates only of what has not ended."""
    last_end = {of: seq for seq, (what, of, _) in enumerate(history, 1) if what == "end"}
    return [
        seq
        for seq, (what, of, _) in enumerate(history, 1)
        if seq > after and (what != "update" or seq > last_end.get(of, 0))
    ]


@given(steps, st.integers(0, 41))
def test_a_client_gets_all_that_it_misses_or_is_told_that_it_cannot(
    history: list[tuple[str, str, int]], after: int
) -> None:
    roomy, bounded = Journal(), Journal(**LIMITS)
    fill(roomy, history)
    fill(bounded, history)

    kept = roomy.after(after, 100)

    assert kept is not None
    assert [event.seq for event in kept] == wanted(history, after)
    assert bounded.after(after, 100) in (None, kept)


@given(steps)
def test_what_is_kept_is_bounded(history: list[tuple[str, str, int]]) -> None:
    journal = Journal(**LIMITS)
    fill(journal, history)

    found = next(kept for after in range(42) if (kept := journal.after(after, 100)) is not None)
    lasting = [seq for seq, (what, _, _) in enumerate(history, 1) if what != "update"]
    events = [event for event in found if event.seq in lasting]
    updates = [event for event in found if event.seq not in lasting]

    assert len(events) <= 6
    assert sum(len(event.body) for event in events) <= 60
    assert sum(len(event.body) for event in updates) <= 2 * 30


def test_the_newest_events_are_kept_and_a_limit_cuts_the_later_ones() -> None:
    journal = Journal(**LIMITS)
    fill(journal, [("other", "", 1)] * 9)

    assert journal.after(2, 100) is None
    assert journal.after(3, 2) == [Kept(4, b"x"), Kept(5, b"x")]


def test_updates_that_were_let_go_are_not_missed_once_their_message_has_ended() -> None:
    journal = Journal(**LIMITS)
    fill(journal, [("other", "", 1), ("update", "m1", 31), ("update", "m1", 2)])
    assert (journal.after(1, 100), journal.after(2, 100)) == (None, [Kept(3, b"xx")])

    journal.add(4, b"end", ends="m1")

    assert journal.after(0, 100) == [Kept(1, b"x"), Kept(4, b"end")]


class Counted(int):
    """A number that counts how often such numbers are compared."""

    compared = 0

    def __lt__(self, other: int) -> bool:
        Counted.compared += 1
        return super().__lt__(other)

    def __gt__(self, other: int) -> bool:
        Counted.compared += 1
        return super().__gt__(other)


@pytest.mark.covers("R306")
def test_pages_of_a_long_journal_cost_what_they_hold_and_miss_nothing() -> None:
    journal = Journal(events=20_000)
    for seq in range(1, 30_001):
        journal.add(Counted(seq), b"x")
    Counted.compared = 0
    seen: list[int] = []
    after = 10_000
    while page := journal.after(after, 100):
        seen += [kept.seq for kept in page]
        after = seen[-1]

    assert seen == list(range(10_001, 30_001))
    assert Counted.compared < 200 * 1000


@pytest.mark.covers("R306")
def test_what_is_kept_of_an_event_is_no_more_than_its_bytes() -> None:
    journal = Journal()
    body = encode({"type": "turn_start"})
    journal.add(1, body)
    journal.add(2, body)

    kept = journal.after(0, 10)

    assert kept == [Kept(1, body), Kept(2, body)]
    assert all(each.body is not body for each in kept or [])


@pytest.mark.covers("R301")
@pytest.mark.parametrize("update_of", [None, "m1"])
@pytest.mark.parametrize("text", ["x" * 250, "x" * 5_000])
def test_what_is_kept_costs_what_it_holds(update_of: str | None, text: str) -> None:
    journal = Journal(updates=10_000_000)
    tracemalloc.start()
    try:
        for seq in range(1, 501):
            journal.add(seq, encode({"text": text, "seq": seq}), update_of=update_of)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    kept = journal.after(0, 500)
    assert kept is not None
    assert held < sum(len(event.body) + 250 for event in kept)
