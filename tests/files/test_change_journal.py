"""The journal of changes: whole after a restart, whatever became of its last line, and bounded."""

from __future__ import annotations

import stat
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pilothouse_agent.files.recorder import Remains
from pilothouse_agent.files.undo.journal import ChangeJournal, Entry, RunChanges
from pilothouse_agent.kernel.ports import FileChange


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "changes" / "s1.jsonl"


def entry(run: str, name: str = "/w/a", before: str | None = "1\n", after: str | None = "2\n") -> Entry:
    return Entry(run, f"call-{name}", FileChange(name, "modify", "editor", before, after))


def test_a_later_process_reads_what_an_earlier_one_wrote(path: Path) -> None:
    odd = entry("r1", "/w/\udcff", "\ud800\r\n", "é\n\x0c")
    moved = Entry("r1", "c2", FileChange("/w/b", "rename", "disk", None, "t", source="/w/a"))
    gone = Entry("r1", "c3", FileChange("/w/b", "delete", "disk", "t", None), Remains(b"\xff\0t", 0o755))
    journal = ChangeJournal(path)
    for each in (odd, moved, gone, entry("r2")):
        journal.append(each)

    assert ChangeJournal(path).run("r1") == RunChanges("r1", (odd, moved, gone))
    assert ChangeJournal(path).run() == RunChanges("r2", (entry("r2"),))


def test_what_is_undone_is_not_the_last_run_any_more(path: Path) -> None:
    journal = ChangeJournal(path)
    journal.append(entry("r1"))
    journal.append(entry("r2"))
    journal.mark_undone("r2")
    last = ChangeJournal(path).run()
    journal.mark_undone("r1")

    assert last == RunChanges("r1", (entry("r1"),))
    assert journal.run() is None
    assert journal.run("r2") == RunChanges("r2", (entry("r2"),))


def test_without_a_journal_there_is_no_run(path: Path) -> None:
    assert (ChangeJournal(path).run(), ChangeJournal(path).run("r1"), path.exists()) == (None, None, False)


def test_a_torn_last_line_costs_only_itself(path: Path) -> None:
    journal = ChangeJournal(path)
    journal.append(entry("r1", "/w/a"))
    journal.append(entry("r1", "/w/b"))
    path.write_bytes(path.read_bytes()[:-20])
    journal.append(entry("r1", "/w/c"))

    assert journal.run("r1") == RunChanges("r1", (entry("r1", "/w/a"), entry("r1", "/w/c")))


def test_later_changes_of_a_file_are_kept_as_what_they_replace(path: Path) -> None:
    texts = ["line\n" * 5000 + f"{number}\n" for number in range(20)]
    changes = [entry("r1", "/w/a", before, after) for before, after in pairwise(texts)]
    journal = ChangeJournal(path)
    for each in changes:
        journal.append(each)

    assert journal.run("r1") == RunChanges("r1", tuple(changes))
    assert path.stat().st_size < 1.5 * len(texts[0])


def test_what_another_process_has_written_meanwhile_is_not_counted_on(path: Path) -> None:
    journal, other = ChangeJournal(path), ChangeJournal(path)
    changes = [entry("r1", "/w/a", f"{number}", f"{number + 1}") for number in range(6)]
    for number, each in enumerate(changes):
        (other if number in (2, 3) else journal).append(each)

    assert journal.run("r1") == RunChanges("r1", tuple(changes))


def test_a_line_that_could_not_be_written_is_not_counted_on(tmp_path: Path) -> None:
    folder = tmp_path / "changes"
    journal = ChangeJournal(folder / "s1.jsonl")
    journal.append(entry("r1", "/w/a", "1", "2"))
    folder.rename(tmp_path / "away")
    folder.write_text("in the way", encoding="utf-8")
    with pytest.raises(OSError, match="directory"):
        journal.append(entry("r1", "/w/a", "2", "3"))
    folder.unlink()
    (tmp_path / "away").rename(folder)
    journal.append(entry("r1", "/w/a", "3", "4"))

    assert journal.run("r1") == RunChanges(
        "r1", (entry("r1", "/w/a", "1", "2"), entry("r1", "/w/a", "3", "4"))
    )


TEXTS = st.text("ab\n\ud800é", max_size=12)
NAMES = st.sampled_from(["/w/a", "/w/b"])
CHANGES = st.one_of(
    st.builds(FileChange, NAMES, st.just("modify"), st.just("editor"), TEXTS, TEXTS),
    st.builds(
        FileChange,
        NAMES,
        st.just("create"),
        st.just("disk"),
        st.none(),
        TEXTS,
        folders=st.just(("/w/x/y", "/w/x")),
    ),
    st.builds(FileChange, NAMES, st.just("delete"), st.just("disk"), TEXTS | st.none(), st.none()),
    st.builds(
        FileChange, NAMES, st.just("rename"), st.just("disk"), st.none(), TEXTS | st.none(), source=NAMES
    ),
)


@settings(deadline=None, max_examples=60)
@given(changes=st.lists(st.tuples(CHANGES, st.integers(0, 2)), max_size=15), data=st.data())
def test_whatever_changes_in_whatever_processes_it_tells_them_all(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[FileChange, int]], data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("journal") / "s1.jsonl"
    writers = [ChangeJournal(path) for _ in range(3)]
    left: dict[str, str] = {}
    told: list[Entry] = []
    for change, writer in changes:
        known = left.get(change.path)
        if change.kind == "modify" and known is not None and data.draw(st.booleans()):
            change = replace(change, before=known)
        told.append(Entry("r1", "c", change))
        writers[writer].append(told[-1])
        left[change.path] = change.after or ""

    assert ChangeJournal(path).run("r1") == (RunChanges("r1", tuple(told)) if told else None)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(TEXTS, st.booleans()), min_size=1, max_size=40), st.integers(600, 2000))
def test_of_what_is_let_go_nothing_is_wrong(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, bool]], limit: int
) -> None:
    path = tmp_path_factory.mktemp("journal") / "s1.jsonl"
    journal = ChangeJournal(path, limit=limit)
    told: dict[str, list[Entry]] = {}
    text, run = "", 0
    for after, another in steps:
        run += another
        told.setdefault(f"r{run}", []).append(entry(f"r{run}", "/w/a", text, after))
        journal.append(told[f"r{run}"][-1])
        text = after

    for name, entries in told.items():
        found = ChangeJournal(path).run(name)
        if found is not None:
            assert found.entries == tuple(entries[len(entries) - len(found.entries) :])
            assert found.complete is (len(found.entries) == len(entries))


def test_a_line_whose_text_was_damaged_does_not_count(path: Path) -> None:
    journal = ChangeJournal(path)
    journal.append(entry("r1", "/w/a", "old\n"))
    path.write_bytes(path.read_bytes().replace(b"old", b"odd"))

    assert journal.run("r1") == RunChanges("r1", (), complete=False)


def test_above_its_limit_the_oldest_runs_go_as_a_whole(path: Path) -> None:
    journal = ChangeJournal(path, limit=2000)
    for number in range(40):
        journal.append(entry(f"r{number // 2}"))
    kept = [number for number in range(20) if journal.run(f"r{number}")]

    assert path.stat().st_size <= 2000
    assert kept == list(range(kept[0], 20))
    assert all(journal.run(f"r{n}") == RunChanges(f"r{n}", (entry(f"r{n}"),) * 2) for n in kept[:-1])


def test_a_run_too_large_for_it_is_known_to_be_incomplete(path: Path) -> None:
    journal = ChangeJournal(path, limit=1000)
    for _ in range(20):
        journal.append(entry("r1"))
    found = journal.run("r1")

    assert found is not None
    assert (found.complete, len(found.entries) < 20, path.stat().st_size <= 1000) == (False, True, True)


def test_old_journals_make_room_and_nobody_else_may_read_one(tmp_path: Path) -> None:
    for number in range(5):
        ChangeJournal(tmp_path / f"s{number}.jsonl", journals=3).append(entry("r"))

    left = sorted(tmp_path.iterdir())
    assert len(left) == 3
    assert {stat.S_IMODE(path.stat().st_mode) for path in left} == {0o600}
