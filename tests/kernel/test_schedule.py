"""Which calls must wait for which (T2)."""

from __future__ import annotations

import pytest

from pilothouse_agent.kernel.schedule import conflicts, dependencies
from pilothouse_agent.kernel.tooling import Footprint, Touch
from support.footprints import EVERYTHING, NOTHING, READS_EVERYTHING, changes, looks_at


@pytest.mark.covers("T2")
@pytest.mark.parametrize(
    ("one", "two"),
    [
        (NOTHING, NOTHING),
        (NOTHING, EVERYTHING),
        (NOTHING, changes("/a")),
        (looks_at("/a"), looks_at("/a")),
        (looks_at("/a"), READS_EVERYTHING),
        (READS_EVERYTHING, READS_EVERYTHING),
        (looks_at("/a"), changes("/b")),
        (changes("/a"), changes("/b")),
        (changes("/src/a"), changes("/src")),
        (changes("/src/a", subtree=True), looks_at("/src/ab")),
        (looks_at("/src/ab", subtree=True), changes("/src/a", subtree=True)),
    ],
)
def test_calls_that_cannot_notice_each_other_do_not_wait(one: Footprint, two: Footprint) -> None:
    assert (conflicts(one, two), conflicts(two, one)) == (False, False)


@pytest.mark.covers("T2")
@pytest.mark.parametrize(
    ("one", "two"),
    [
        (EVERYTHING, EVERYTHING),
        (EVERYTHING, READS_EVERYTHING),
        (EVERYTHING, looks_at("/a")),
        (READS_EVERYTHING, changes("/a")),
        (changes("/a"), changes("/a")),
        (changes("/a"), looks_at("/a")),
        (changes("/src", subtree=True), looks_at("/src/deep/a")),
        (changes("/src/deep/a"), looks_at("/src", subtree=True)),
        (changes("/src", subtree=True), changes("/src/deep", subtree=True)),
        (changes("/", subtree=True), looks_at("/a")),
        (Footprint(reads=(Touch("/b"),), writes=(Touch("/a"),)), changes("/b")),
    ],
)
def test_a_call_waits_for_one_that_changes_what_it_touches(one: Footprint, two: Footprint) -> None:
    assert (conflicts(one, two), conflicts(two, one)) == (True, True)


@pytest.mark.covers("T2")
def test_a_call_waits_only_for_earlier_calls_and_for_all_it_conflicts_with() -> None:
    batch = [looks_at("/a"), changes("/a"), changes("/b"), EVERYTHING, looks_at("/a"), NOTHING]

    assert dependencies(batch) == [[], [0], [], [0, 1, 2], [1, 3], []]
