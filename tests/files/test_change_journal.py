"""The journal of changes: whole after a restart, whatever became of its last line, and bounded."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from pilothouse_agent.files.journal import ChangeJournal, Entry, RunChanges
from pilothouse_agent.files.recorder import Remains
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
