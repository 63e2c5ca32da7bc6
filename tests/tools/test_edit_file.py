"""edit_file: all edits or none, on the newest text, and a result the next edit can be copied from."""

from __future__ import annotations

import asyncio
import codecs
from pathlib import Path

import pytest

from pilothouse_agent.kernel.events import FileChanged, Location
from pilothouse_agent.kernel.json_types import JsonValue
from pilothouse_agent.kernel.messages import TextBlock
from pilothouse_agent.kernel.tooling import (
    FileDiff,
    Footprint,
    Hunk,
    InvalidArguments,
    Preview,
    ToolError,
    ToolResult,
    Touch,
)
from support.context import RecordingContext
from support.file_tools import FileTools


async def test_the_result_shows_the_changed_place_and_tells_of_it(tools: FileTools, folder: Path) -> None:
    path = folder / "a.py"
    path.write_text("1\n2\n3\n4\n5\n6\n7\n8\n9\n")
    call = await tools.bind(
        "edit_file", path="a.py", edits=[{"old_text": "5", "new_text": "five\nfive and a half"}]
    )
    text = (
        "Edited a.py: 2 lines added, 1 removed.\n"
        "[lines 2-9 are now]\n2\n3\n4\nfive\nfive and a half\n6\n7\n8\n"
    )
    lines: list[JsonValue] = [" 2\n", " 3\n", " 4\n", "-5\n", "+five\n", "+five and a half\n"]
    lines += [" 6\n", " 7\n", " 8\n"]
    assert await call.execute(RecordingContext("c1")) == ToolResult(
        (TextBlock(text),),
        details={
            "path": str(path),
            "change": "modify",
            "hunks": [{"oldStart": 2, "newStart": 2, "lines": lines}],
        },
        locations=(Location(str(path), 5),),
        effects=(FileChanged(str(path), "modify", "disk", 2, 1, "c1"),),
    )


@pytest.mark.covers("R038")
async def test_the_reported_diff_is_made_of_the_real_lines(tools: FileTools, folder: Path) -> None:
    path = folder / "a"
    path.write_bytes(b"one\r\ntwo\nprog\rress\rdone\n")
    result = await tools.run("edit_file", path="a", old_text="two", new_text="2")
    assert path.read_bytes() == b"one\r\n2\nprog\rress\rdone\n"
    assert result.details == {
        "path": str(path),
        "change": "modify",
        "hunks": [
            {"oldStart": 1, "newStart": 1, "lines": [" one\r\n", "-two\n", "+2\n", " prog\rress\rdone\n"]}
        ],
    }


@pytest.mark.covers("R029", "K109")
async def test_one_edit_that_fails_keeps_all_from_being_made(tools: FileTools, folder: Path) -> None:
    (folder / "a").write_text("1 2")
    assert (await tools.edit_refused("a", ("1", "one"), ("zzz", "y"))).startswith(
        "Edit 2 of 2: old_text is not in a."
    )
    assert (await tools.edit_refused("a", ("1", "1"))).startswith("This changes nothing")
    assert (folder / "a").read_text() == "1 2"


@pytest.mark.covers("R028")
async def test_calls_on_two_files_succeed_and_fail_on_their_own(tools: FileTools, folder: Path) -> None:
    (folder / "ok").write_text("old")
    (folder / "bad").write_text("other")
    ends = await asyncio.gather(
        tools.edit("ok", ("old", "new")), tools.edit("bad", ("old", "new")), return_exceptions=True
    )
    assert [type(end) for end in ends] == [str, ToolError]
    assert ((folder / "ok").read_text(), (folder / "bad").read_text()) == ("new", "other")


@pytest.mark.covers("R052")
async def test_an_empty_old_text_neither_replaces_nor_creates(tools: FileTools, folder: Path) -> None:
    (folder / "a").write_text("keep")
    assert "use write_file" in await tools.edit_refused("a", ("", "new"))
    assert "does not exist" in await tools.edit_refused("missing", ("", "new"))
    assert (folder / "a").read_text() == "keep"
    assert not (folder / "missing").exists()


@pytest.mark.covers("R053")
@pytest.mark.parametrize("replace_all", [False, True])
async def test_the_new_text_stands_literally(tools: FileTools, folder: Path, replace_all: bool) -> None:
    (folder / "a").write_text('log("done");')
    new = r'log("$& $1 \1 \g<0> $$ ok");'
    await tools.run("edit_file", path="a", old_text='log("done");', new_text=new, replace_all=replace_all)
    assert (folder / "a").read_text() == new


@pytest.mark.covers("R037", "K108")
async def test_lf_text_of_the_model_edits_a_crlf_file(tools: FileTools, folder: Path) -> None:
    (folder / "a").write_bytes(b"a\r\nb\r\nc\r\n")
    await tools.edit("a", ("a\nb", "a\nB"))
    assert (folder / "a").read_bytes() == b"a\r\nB\r\nc\r\n"


@pytest.mark.covers("R041")
async def test_a_mark_is_kept_and_the_first_line_matches(tools: FileTools, folder: Path) -> None:
    (folder / "f").write_bytes(codecs.BOM_UTF8 + b"hello\n")
    await tools.read("f")
    await tools.edit("f", ("hello", "hello2"))
    assert (folder / "f").read_bytes() == codecs.BOM_UTF8 + b"hello2\n"
    await tools.write("f", "all new")
    assert (folder / "f").read_bytes() == codecs.BOM_UTF8 + b"all new"


@pytest.mark.covers("R044")
@pytest.mark.parametrize(
    ("mark", "encoding"), [(codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")]
)
async def test_utf_16_is_edited_in_place(tools: FileTools, folder: Path, mark: bytes, encoding: str) -> None:
    (folder / "a").write_bytes(mark + "eins zwei\r\n".encode(encoding))
    assert "eins zwei" in await tools.read("a")
    await tools.edit("a", ("zwei", "drei"))
    assert (folder / "a").read_bytes() == mark + "eins drei\r\n".encode(encoding)


@pytest.mark.covers("R043")
async def test_a_shift_jis_file_stays_one_or_is_left_alone(tools: FileTools, folder: Path) -> None:
    text = "# coding: shift_jis\n名前\n"
    (folder / "a").write_bytes(text.encode("shift_jis"))
    await tools.edit("a", ("名前\n", "名前\n漢字\n"))
    assert (folder / "a").read_bytes().decode("shift_jis") == text + "漢字\n"
    assert "does not exist in shift_jis" in await tools.edit_refused("a", ("漢字", "😋"))
    assert (folder / "a").read_bytes().decode("shift_jis") == text + "漢字\n"


@pytest.mark.covers("R047")
async def test_tabs_stay_and_text_copied_from_a_result_matches(tools: FileTools, folder: Path) -> None:
    (folder / "Makefile").write_text("all:\n\techo hi\n")
    copied = (await tools.read("Makefile")).splitlines()[2]
    assert copied == "\techo hi"
    shown = (await tools.edit("Makefile", ("echo hi", "echo ho"))).splitlines()[3]
    await tools.edit("Makefile", (shown, shown + "!"))
    assert (folder / "Makefile").read_bytes() == b"all:\n\techo ho!\n"


@pytest.mark.covers("R049")
async def test_straight_quotes_become_curly(tools: FileTools, folder: Path) -> None:
    (folder / "a").write_text("'%s'")
    await tools.edit("a", ("'%s'", "‘%s’"))
    assert (folder / "a").read_bytes() == b"\xe2\x80\x98%s\xe2\x80\x99"


@pytest.mark.covers("R050")
async def test_indentation_is_shown_not_guessed(tools: FileTools, folder: Path) -> None:
    (folder / "a").write_text("\tif  x:\n")
    assert "in line 1:\n→if··x:\nwhile old_text has:\n····if·x:\n" in await tools.edit_refused(
        "a", ("    if x:", "    if y:")
    )
    assert (folder / "a").read_text() == "\tif  x:\n"


@pytest.mark.covers("F3", "R005")
async def test_edits_one_after_another_keep_the_file_known(tools: FileTools, folder: Path) -> None:
    (folder / "a").write_text("1 2 3")
    await tools.read("a")
    await tools.edit("a", ("1", "one"))
    await tools.edit("a", ("2", "two"))
    await tools.write("a", "done")
    assert (folder / "a").read_text() == "done"


@pytest.mark.covers("F3")
async def test_lines_shown_by_the_result_are_read_and_no_others(tools: FileTools, folder: Path) -> None:
    (folder / "short").write_text("1\n2\n3\n")
    (folder / "long").write_text("".join(f"{number}\n" for number in range(1, 11)))
    await tools.edit("short", ("2", "two"))
    await tools.write("short", "x")
    await tools.edit("long", ("2\n", "two\n"))
    assert "only lines 1-5 of its 10 lines have been read" in await tools.refused(
        "write_file", path="long", content="x"
    )


@pytest.mark.covers("T10")
async def test_a_large_change_is_shown_in_part(tools: FileTools, folder: Path) -> None:
    (folder / "a").write_text("x\n")
    text = await tools.edit("a", ("x", "".join(f"{number}\n" for number in range(5000))))
    assert text.startswith("Edited a: 5001 lines added, 1 removed.\n[lines 1-80 are now]\n0\n1\n")
    assert text.endswith("\n79\n[More was changed than is shown here.]\n")


async def test_a_text_without_final_newline_is_told(tools: FileTools, folder: Path) -> None:
    (folder / "a").write_text("1\n2")
    assert await tools.edit("a", ("2", "two")) == (
        "Edited a: 1 line added, 1 removed.\n[lines 1-2 are now]\n1\ntwo\n"
        "[No newline at the end of the file.]\n"
    )


@pytest.mark.parametrize(
    "arguments",
    [
        {"edits": [{"old_text": "1", "new_text": "one"}]},
        {"edits": {"old_text": "1", "new_text": "one"}},
        {"edits": '[{"old_text": "1", "new_text": "one"}]'},
        {"old_text": "1", "new_text": "one"},
        {"old_text": 1, "new_text": "one", "replace_all": "true", "edits": []},
    ],
)
async def test_an_edit_may_come_in_several_shapes(
    tools: FileTools, folder: Path, arguments: dict[str, str]
) -> None:
    (folder / "a").write_text("1")
    await tools.call("edit_file", path="a", **arguments)
    assert (folder / "a").read_text() == "one"


async def test_arguments_that_do_not_fit_are_all_listed(tools: FileTools) -> None:
    with pytest.raises(InvalidArguments) as caught:
        await tools.bind("edit_file", edits=[{"old_text": "a"}, {"new_text": "b", "more": 1}])
    assert [violation.path for violation in caught.value.violations] == [
        "path",
        "edits.0.new_text",
        "edits.1.old_text",
        "edits.1.more",
    ]
    with pytest.raises(InvalidArguments, match="give either edits, or old_text"):
        await tools.bind(
            "edit_file", path="a", old_text="a", new_text="b", edits=[{"old_text": "1", "new_text": "2"}]
        )
    with pytest.raises(InvalidArguments, match=r"edits: .* at least 1"):
        await tools.bind("edit_file", path="a", edits=[])


async def test_the_preview_is_made_from_the_planned_text(tools: FileTools, folder: Path) -> None:
    path = str(folder / "a")
    Path(path).write_text("1\n2\n")
    planned = tools.files.plan()
    first = await tools.bind("edit_file", path="a", old_text="2", new_text="two")
    second = await tools.bind("edit_file", path="./a", old_text="two", new_text="zwei")
    assert await first.preview(planned) == Preview(
        (FileDiff(path, "1\n2\n", "1\ntwo\n", (Hunk(1, 1, (" 1\n", "-2\n", "+two\n")),)),)
    )
    assert await second.preview(planned) == Preview(
        (FileDiff(path, "1\ntwo\n", "1\nzwei\n", (Hunk(1, 1, (" 1\n", "-two\n", "+zwei\n")),)),)
    )
    assert Path(path).read_text() == "1\n2\n"


@pytest.mark.covers("R017")
async def test_an_edit_that_cannot_match_asks_nobody(tools: FileTools, folder: Path) -> None:
    (folder / "n").write_text("0\n1\n2\n")
    stale = await tools.bind("edit_file", path="n", old_text="1\n2\n3", new_text="x")
    missing = await tools.bind("edit_file", path="missing", old_text="1", new_text="x")
    planned = tools.files.plan()
    with pytest.raises(ToolError, match="old_text is not in n"):
        await stale.preview(planned)
    with pytest.raises(ToolError, match="does not exist"):
        await missing.preview(planned)
    planned.mark_uncertain()
    assert [await call.preview(planned) for call in (stale, missing)] == [None, None]


@pytest.mark.covers("R025")
async def test_the_call_tells_which_file_it_changes(tools: FileTools, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("A")
    (folder / "link").symlink_to(tmp_path / "outside")
    call = await tools.bind("edit_file", path="link", old_text="A", new_text="B")
    assert (call.title, call.command) == ("Edit link", None)
    assert call.footprint == Footprint(writes=(Touch(str(tmp_path / "outside")),))
    assert call.locations == (Location(str(tmp_path / "outside")),)


@pytest.mark.covers("R031")
async def test_edits_of_one_file_at_once_are_made_in_call_order(tools: FileTools, folder: Path) -> None:
    (folder / "n").write_text("".join(f"{number}\n" for number in range(1, 101)))
    first = await tools.bind("edit_file", path="n", old_text="50\n", new_text="FIFTY\n")
    second = await tools.bind("edit_file", path="n", old_text="75\n", new_text="SEVENTY-FIVE\n")
    await asyncio.gather(tools.execute(first), tools.execute(second))
    lines = (folder / "n").read_text().splitlines()
    assert (lines[49], lines[74], len(lines)) == ("FIFTY", "SEVENTY-FIVE", 100)


@pytest.mark.covers("R064")
async def test_paths_mean_the_same_to_every_tool_in_several_folders(tmp_path: Path) -> None:
    app, sdk = tmp_path / "ws" / "app", tmp_path / "ws" / "libs" / "sdk"
    for place in (app, sdk):
        place.mkdir(parents=True)
        (place / "package.json").write_text("{}")
    tools = await asyncio.to_thread(FileTools, app, sdk)
    for name, arguments in (("read_file", {}), ("edit_file", {"old_text": "{}", "new_text": "[]"})):
        with pytest.raises(InvalidArguments, match=f"{app}/package.json, {sdk}/package.json"):
            await tools.bind(name, path="package.json", **arguments)
    assert "{}" in await tools.read("libs/sdk/package.json")
    await tools.edit("sdk/package.json", ("{}", "[]"))
    assert ((app / "package.json").read_text(), (sdk / "package.json").read_text()) == ("{}", "[]")
