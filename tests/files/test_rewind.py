"""Undo of a run: what is still the agent's goes back, what others have changed is never lost."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pilothouse_agent.files.undo.rewind import Rewound, RewoundFile
from pilothouse_agent.kernel.tooling import ToolError
from support.undo import Runs

LINES = b"one\ntwo\nthree\nfour\nfive\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "w"
    path.mkdir()
    return path


@pytest.fixture
def runs(folder: Path, tmp_path: Path) -> Runs:
    return Runs(folder, tmp_path / "state")


async def test_every_kind_of_change_goes_back(runs: Runs, folder: Path) -> None:
    (folder / "changed").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    (folder / "moved").write_bytes(b"m\n")
    (folder / "gone.sh").write_bytes(b"\xff\0binary")
    (folder / "gone.sh").chmod(0o755)
    before = runs.held()
    await runs.edit("changed", "one", "1")
    await runs.edit("changed", "two", "2")
    await runs.write("new/file", "n\n")
    await runs.move("moved", "elsewhere")
    await runs.edit("elsewhere", "m", "M")
    await runs.delete("gone.sh")

    outcome = await runs.undo()

    assert runs.held() == before
    assert stat.S_IMODE((folder / "gone.sh").stat().st_mode) == 0o755
    assert (outcome.run_id, outcome.complete) == ("r1", True)
    assert [(Path(file.path).name, file.action) for file in outcome.files] == [
        ("gone.sh", "created"),
        ("moved", "restored"),
        ("file", "deleted"),
        ("changed", "restored"),
    ]


async def test_folders_that_were_made_for_files_go_with_them_while_they_are_empty(
    runs: Runs, folder: Path
) -> None:
    (folder / "old").mkdir()
    (folder / "a").write_bytes(b"a\n")
    await runs.write("made/deep/one", "1\n")
    await runs.write("made/deep/two", "2\n")
    await runs.move("a", "old/new/a")
    await runs.write("kept/one", "1\n")
    (folder / "kept" / "notes").write_bytes(b"the user's\n")

    await runs.undo()

    assert sorted(str(path.relative_to(folder)) for path in folder.rglob("*")) == [
        *("a", "kept", "kept/notes", "old")
    ]


async def test_only_the_last_run_goes_back_and_then_the_one_before(runs: Runs, folder: Path) -> None:
    (folder / "a").write_bytes(b"1\n")
    await runs.edit("a", "1", "2")
    runs.name = "r2"
    await runs.edit("a", "2", "3")

    first = await runs.undo()
    after_first = runs.held()
    second, third = await runs.undo(), await runs.undo()

    assert (first.run_id, after_first) == ("r2", {"a": b"2\n"})
    assert (second.run_id, runs.held()) == ("r1", {"a": b"1\n"})
    assert third == Rewound(None)


async def test_undoing_a_run_twice_by_its_id_changes_nothing_more(runs: Runs, folder: Path) -> None:
    (folder / "a").write_bytes(b"1\n")
    (folder / "b").write_bytes(b"b\n")
    await runs.edit("a", "1", "2")
    await runs.edit("a", "2", "3")
    await runs.write("new", "n")
    await runs.delete("b")
    await runs.undo("r1")
    again = await runs.undo("r1")

    assert runs.held() == {"a": b"1\n", "b": b"b\n"}
    assert runs.actions(again) == {"a": "unchanged", "new": "unchanged", "b": "unchanged"}


async def test_a_file_that_is_no_text_and_is_back_is_no_conflict_of_a_second_undo(
    runs: Runs, folder: Path
) -> None:
    (folder / "picture").write_bytes(b"\xff\0")
    await runs.write("new", "n\n")
    await runs.delete("picture")
    (folder / "new").write_bytes(b"the user's\n")
    first = await runs.undo()
    (folder / "new").unlink()
    second = await runs.undo()
    third = await runs.undo()

    assert runs.actions(first) == {"new": "conflict", "picture": "created"}
    assert runs.actions(second) == {"new": "unchanged", "picture": "unchanged"}
    assert (runs.held(), third) == ({"picture": b"\xff\0"}, Rewound(None))


async def test_another_file_that_is_no_text_in_the_place_of_a_deleted_one_is_a_conflict(
    runs: Runs, folder: Path
) -> None:
    (folder / "picture").write_bytes(b"\xff\0")
    await runs.delete("picture")
    (folder / "picture").write_bytes(b"\xff\1")
    outcome = await runs.undo()

    assert (runs.actions(outcome), runs.held()) == ({"picture": "conflict"}, {"picture": b"\xff\1"})


async def test_where_the_user_has_typed_since_the_text_without_the_runs_change_is_offered(
    runs: Runs, folder: Path
) -> None:
    (folder / "a").write_bytes(LINES)
    await runs.edit("a", "two", "TWO")
    (folder / "a").write_bytes(b"one\nTWO\nthree\nfour\nfive, by the user\n")
    standing, wanted = runs.held(), LINES.replace(b"five", b"five, by the user")

    offered = await runs.undo()
    untouched = runs.held()
    merged = await runs.undo(merge=True)

    assert offered.files == (RewoundFile(str(folder / "a"), "offered", text=wanted.decode()),)
    assert untouched == standing
    assert runs.actions(merged) == {"a": "restored"}
    assert runs.held() == {"a": wanted}


async def test_where_the_same_lines_were_changed_since_nothing_is_done(runs: Runs, folder: Path) -> None:
    (folder / "a").write_bytes(LINES)
    (folder / "b").write_bytes(LINES)
    await runs.edit("a", "two", "TWO")
    await runs.edit("b", "two", "TWO")
    (folder / "a").write_bytes(LINES.replace(b"two", b"mine"))

    outcome = await runs.undo(merge=True)

    assert runs.actions(outcome) == {"b": "restored", "a": "conflict"}
    assert outcome.files[1].reason == "Nothing was done, since the same lines have been changed since."
    assert runs.held() == {"a": LINES.replace(b"two", b"mine"), "b": LINES}


async def test_what_the_user_typed_between_two_edits_of_a_run_stays(runs: Runs, folder: Path) -> None:
    (folder / "a").write_bytes(LINES)
    await runs.edit("a", "one", "ONE")
    (folder / "a").write_bytes(LINES.replace(b"one", b"ONE").replace(b"three", b"three!"))
    await runs.edit("a", "five", "FIVE")

    outcome = await runs.undo(merge=True)

    assert runs.actions(outcome) == {"a": "restored"}
    assert runs.held() == {"a": LINES.replace(b"three", b"three!")}


async def test_new_files_that_were_changed_and_names_that_were_taken_are_left_alone(
    runs: Runs, folder: Path
) -> None:
    (folder / "gone").write_bytes(b"old\n")
    (folder / "from").write_bytes(b"f\n")
    (folder / "lost").write_bytes(b"l\n")
    await runs.write("new", "n\n")
    await runs.delete("gone")
    await runs.move("from", "to")
    await runs.edit("lost", "l", "L")
    (folder / "new").write_bytes(b"n\nand the user's\n")
    (folder / "gone").write_bytes(b"the user's\n")
    (folder / "from").write_bytes(b"the user's\n")
    (folder / "lost").unlink()
    standing = runs.held()

    outcome = await runs.undo(merge=True)

    assert runs.held() == standing
    assert set(runs.actions(outcome).values()) == {"conflict"}


async def test_a_moved_file_comes_back_with_what_the_user_wrote_into_it(runs: Runs, folder: Path) -> None:
    (folder / "a").write_bytes(b"a\n")
    await runs.move("a", "b")
    (folder / "b").write_bytes(b"a\nand more\n")

    outcome = await runs.undo()

    assert outcome.files == (RewoundFile(str(folder / "a"), "moved", str(folder / "b")),)
    assert runs.held() == {"a": b"a\nand more\n"}


async def test_an_end_of_the_last_line_that_a_save_has_added_is_no_change_of_the_user(
    runs: Runs, folder: Path
) -> None:
    (folder / "a").write_bytes(b"1")
    await runs.edit("a", "1", "2")
    await runs.write("new", "n")
    (folder / "a").write_bytes(b"2\n")

    outcome = await runs.undo()

    assert runs.actions(outcome) == {"new": "deleted", "a": "restored"}
    assert runs.held() == {"a": b"1\n"}


async def test_a_name_that_changed_hands_in_a_run_has_its_first_owner_again(runs: Runs, folder: Path) -> None:
    (folder / "a").write_bytes(b"first\n")
    await runs.move("a", "b")
    await runs.write("a", "second\n")
    await runs.delete("b")
    await runs.write("b", "third\n")
    await runs.edit("b", "third", "fourth")

    outcome = await runs.undo()

    assert runs.held() == {"a": b"first\n"}
    assert [file.action for file in outcome.files] == ["restored", "deleted"]


async def test_a_run_of_an_earlier_process_goes_back(runs: Runs, folder: Path, tmp_path: Path) -> None:
    (folder / "a").write_bytes(b"1\n")
    await runs.edit("a", "1", "2")
    later = Runs(folder, tmp_path / "state")

    assert later.actions(await later.undo("r1")) == {"a": "restored"}
    assert later.held() == {"a": b"1\n"}


async def test_a_run_of_which_nothing_is_known_is_an_error(runs: Runs) -> None:
    assert await runs.undo() == Rewound(None)
    with pytest.raises(KeyError):
        await runs.undo("r9")


@pytest.mark.parametrize("name", ["a", "b", "c"])
async def test_a_change_outside_a_run_and_one_that_failed_are_not_recorded(
    runs: Runs, folder: Path, name: str
) -> None:
    (folder / "a").write_bytes(b"1\n")
    runs.name = None
    await runs.edit("a", "1", "2")
    runs.name = "r1"
    await runs.edit("a", "no such text", "x")
    with pytest.raises(ToolError):
        await runs.delete("b")

    assert await runs.undo() == Rewound(None)


NAMES = st.sampled_from(["a", "b", "c"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), NAMES, st.text("xy\n", max_size=4)),
        st.tuples(st.just("edit"), NAMES, st.text("xy\n", max_size=4)),
        st.tuples(st.just("move"), NAMES, NAMES),
        st.tuples(st.just("delete"), NAMES, st.none()),
    ),
    max_size=8,
)


@pytest.mark.slow
@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
@example(steps=[("delete", "a", None), ("move", "b", "a"), ("delete", "a", None), ("write", "b", "")])
@example(steps=[("move", "a", "c"), ("write", "a", ""), ("delete", "c", None)])
async def test_whatever_a_run_did_alone_goes_back_to_how_it_was(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str, str | None]]
) -> None:
    folder = tmp_path_factory.mktemp("w")
    runs = Runs(folder, tmp_path_factory.mktemp("state"))
    for name in ("a", "b"):
        (folder / name).write_text(f"{name} 1\n{name} 2\n", encoding="utf-8")
    before = runs.held()
    for kind, name, other in steps:
        try:
            await _step(runs, kind, name, other or "")
        except ToolError:
            continue

    outcome = await runs.undo()
    back = runs.held()
    again = await runs.undo(outcome.run_id)

    assert (back, runs.held()) == (before, before)
    assert {file.action for file in again.files} <= {"unchanged", "conflict"}


async def _step(runs: Runs, kind: str, name: str, other: str) -> None:
    match kind:
        case "write":
            await runs.write(name, other)
        case "edit":
            await runs.edit(name, "1", other)
        case "move":
            await runs.move(name, other)
        case _:
            await runs.delete(name)
