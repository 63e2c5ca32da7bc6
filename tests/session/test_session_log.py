"""The log of a session: appended to, cut, damaged, locked, moved away, and read again (J1 to J9)."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilothouse_agent.kernel.messages import (
    AssistantMessage,
    BlockPlace,
    CustomMessage,
    ErrorInfo,
    ImageBlock,
    Message,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from pilothouse_agent.session.log.folder import LogFolder
from pilothouse_agent.session.log.forking import fork, path_before
from pilothouse_agent.session.log.log_file import LogFile, SessionLocked, is_locked
from pilothouse_agent.session.log.message_json import message_of, message_to_json
from pilothouse_agent.session.log.records import BadHeader, Header, Record, line_of, object_in
from pilothouse_agent.session.log.restore import restored
from pilothouse_agent.session.log.tree import LogTree, read_log, tree_of

TIME = datetime(2026, 12, 1, 8, 0, tzinfo=UTC)
HEADER = Header("session_1", "/work", ("/work",), "2026-12-01T08:00:00.000Z")
TEXTS = st.text(st.characters(codec=None, exclude_categories=()), max_size=20)


def said(number: int) -> Record:
    message = UserMessage(f"msg_{number}", (TextBlock(f"Prompt {number}"),), TIME)
    parent = f"msg_{number - 1}" if number > 1 else None
    return Record(
        message.id, parent, "2026-12-01T08:00:00.000Z", "message", {"message": message_to_json(message)}
    )


def log_of(path: Path, records: Sequence[Record]) -> Path:
    log = LogFile.create(path, HEADER)
    log.append(b"".join(line_of(record.to_json()) for record in records))
    log.close()
    return path


def texts(tree: LogTree) -> list[str]:
    return [
        "".join(block.text for block in message.content if isinstance(block, TextBlock))
        for message in restored(tree.path()).messages
    ]


def prompts(*numbers: int) -> list[str]:
    return [f"Prompt {number}" for number in numbers]


MESSAGES: list[Message] = [
    UserMessage("u", (TextBlock("Look"), ImageBlock("image/png", "aGk=")), TIME, queue_id="queue_1"),
    AssistantMessage(
        "a",
        (
            ThinkingBlock("Hm", signature="s", data={"id": "rs_1"}, origin="responses"),
            TextBlock("Reading."),
            ToolCall("c1", "read_file", {"path": "a.py"}, extra={"fc": 1}),
            ToolCall("c2", "grep", None, '{"pattern": '),
        ),
        TIME,
        "openai/gpt",
        "error",
        Usage(10, 2, 1, None, 0, Decimal("0.00012")),
        ErrorInfo("rateLimit", "Slow down.", True, 429, 1.5),
    ),
    ToolResultMessage("r", (TextBlock("x = 1"),), TIME, "c1", "read_file", is_error=True),
    CustomMessage("n", (TextBlock("Left out."),), TIME, "leftOut", True, (BlockPlace("u", 1),)),
]


@pytest.mark.covers("J2")
@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_message_comes_back_as_it_was_with_all_that_only_its_provider_understands(message: Message) -> None:
    assert message_of(object_in(line_of(message_to_json(message)))) == message


@pytest.mark.covers("J2")
@given(TEXTS, st.integers())
def test_half_characters_and_large_numbers_come_back_too(text: str, number: int) -> None:
    call = ToolCall("c", "t", {text: number})
    message = AssistantMessage("a", (TextBlock(text), call), TIME, "m", "toolUse")

    assert message_of(object_in(line_of(message_to_json(message)))) == message


@pytest.mark.covers("J1", "J2")
def test_a_log_is_for_its_owner_alone_and_begins_with_its_header(tmp_path: Path) -> None:
    folder = LogFolder(tmp_path / "sessions")
    path = log_of(folder.new("/home/me/My Project", "session_1"), [said(1)])

    assert path.parent.name.startswith("My-Project-")
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert object_in(path.read_bytes().split(b"\n")[0]) == {
        "type": "session",
        "version": 1,
        "id": "session_1",
        "cwd": "/work",
        "folders": ["/work"],
        "created": "2026-12-01T08:00:00.000Z",
    }
    assert (folder.find("session_1"), folder.find("session_2"), folder.find("../x")) == (path, None, None)


@pytest.mark.covers("J2")
def test_what_a_later_release_has_written_is_carried_along(tmp_path: Path) -> None:
    later = Record("entry_9", "msg_1", "2027-01-01T00:00:00.000Z", "hologram", {"depth": 3})
    path = log_of(tmp_path / "log.jsonl", [said(1), later, replace(said(2), parent="entry_9")])

    tree = read_log(path)

    assert (tree.path()[1], texts(tree), tree.damaged) == (later, prompts(1, 2), 0)


@pytest.mark.covers("J4", "J13", "R139")
def test_a_log_cut_anywhere_has_all_whole_lines_and_goes_on_behind_them(tmp_path: Path) -> None:
    data = log_of(tmp_path / "whole.jsonl", [said(number) for number in range(1, 30)]).read_bytes()
    first = data.index(b"\n") + 1
    for size in random.Random(10).sample(range(first, len(data) + 1), 500):
        path = tmp_path / "cut.jsonl"
        path.write_bytes(data[:size])
        torn = path.with_name("cut.jsonl.torn")

        log, tree = LogFile.open(path)
        log.append(line_of(replace(said(30), parent=tree.head).to_json()))
        log.close()

        whole = data.count(b"\n", 0, size) - 1
        assert texts(read_log(path)) == prompts(*range(1, whole + 1), 30)
        cut = data[data.rfind(b"\n", 0, size) + 1 : size]
        assert (torn.read_bytes() if torn.exists() else b"\n") == cut + b"\n"
        torn.unlink(missing_ok=True)


@pytest.mark.covers("J4", "R140")
@pytest.mark.parametrize("damage", [b"", b"{", b"null", b"[]", b'{"id": 1}', b"\x00" * 40, b'{"a":"\xff"}'])
def test_a_damaged_line_in_the_middle_is_counted_and_what_hung_on_it_hangs_before_it(
    damage: bytes, tmp_path: Path
) -> None:
    lines = [line_of(said(number).to_json()) for number in (1, 2, 3)]
    lines[1] = damage + b"\n"

    tree = tree_of([line_of(HEADER.to_json()), *lines])

    assert (texts(tree), tree.damaged, tree.torn) == (prompts(1, 3), 1, 0)


@pytest.mark.covers("J4")
@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "The log is empty: its process ended before the first line was written."),
        (b'{"type":"sess', "The log has no whole line: its process ended while the first one was written."),
        (b'{"id":"x"}\n', "The first line of the log is not the header of a session."),
        (
            b'{"type":"session","id":"x"}\n',
            "The header of the log lacks the session's id, folder or version.",
        ),
    ],
)
def test_what_is_no_log_is_said_in_words(data: bytes, words: str) -> None:
    with pytest.raises(BadHeader) as caught:
        tree_of(data.splitlines(keepends=True))
    assert str(caught.value) == words


@pytest.mark.covers("J4")
def test_a_header_alone_is_a_session_in_which_nothing_was_said(tmp_path: Path) -> None:
    log, tree = LogFile.open(log_of(tmp_path / "log.jsonl", []))
    log.close()

    assert (tree.head, tree.path(), restored(tree.path()).messages) == (None, [], [])


@pytest.mark.covers("J4")
def test_a_log_of_a_newer_release_is_read_and_not_continued(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(line_of(replace(HEADER, version=2).to_json()) + line_of(said(1).to_json()))

    assert texts(read_log(path)) == prompts(1)
    with pytest.raises(BadHeader, match="newer release"):
        LogFile.open(path)
    assert not is_locked(path)


@pytest.mark.covers("J6")
def test_a_log_has_one_writer_and_others_hear_who_that_is(tmp_path: Path) -> None:
    writer = Record("e", None, "", "custom", {"name": "writer", "data": {"pid": os.getpid()}})
    path = tmp_path / "log.jsonl"
    first = LogFile.create(path, HEADER)
    first.append(line_of(writer.to_json()))

    assert is_locked(path)
    with pytest.raises(SessionLocked, match=f"process {os.getpid()}"):
        LogFile.open(path)
    first.close()
    second, _ = LogFile.open(path)
    second.close()
    assert not is_locked(path)


@pytest.mark.covers("J5")
def test_a_folder_that_was_taken_away_is_made_again_with_all_that_stood_in_the_log(tmp_path: Path) -> None:
    path = tmp_path / "sessions" / "work" / "log.jsonl"
    log = LogFile.create(path, HEADER)
    log.append(line_of(said(1).to_json()))
    shutil.rmtree(tmp_path / "sessions")

    log.append(line_of(said(2).to_json()))
    log.close()

    assert texts(read_log(path)) == prompts(1, 2)


@pytest.mark.covers("J5")
def test_a_file_that_somebody_put_in_the_place_of_the_log_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log = LogFile.create(path, HEADER)
    log.append(line_of(said(1).to_json()))
    path.unlink()
    path.write_bytes(b"a backup\n")

    with pytest.raises(FileExistsError, match="another file has taken the place of the log"):
        log.append(line_of(said(2).to_json()))
    path.unlink()
    log.append(line_of(said(3).to_json()))
    log.close()

    assert texts(read_log(path)) == prompts(1, 3)


@pytest.mark.covers("J9")
def test_a_fork_is_whole_in_itself_and_says_where_it_comes_from(tmp_path: Path) -> None:
    folder = LogFolder(tmp_path)
    tree = read_log(log_of(folder.new("/work", "session_1"), [said(1), said(2), said(3)]))

    fork(folder, tree, "session_2", to="msg_2")

    path = folder.find("session_2")
    assert path is not None
    forked = read_log(path)
    assert (texts(forked), forked.header.session_id) == (prompts(1, 2), "session_2")
    assert object_in(path.read_bytes().split(b"\n")[0] or b"") == {
        **HEADER.to_json(),
        "id": "session_2",
        "created": forked.header.created,
        "parent": {"sessionId": "session_1", "entryId": "msg_2"},
    }


@pytest.mark.covers("J2", "J9")
def test_after_a_rewind_the_conversation_goes_on_from_before_a_message_and_the_rest_stays_in_the_file(
    tmp_path: Path,
) -> None:
    path = log_of(tmp_path / "log.jsonl", [said(1), said(2), said(3)])
    before = path_before(read_log(path).path(), "msg_2")
    log, _ = LogFile.open(path)
    log.append(line_of(Record("entry_1", before[-1].id, "", "head", {"to": before[-1].id}).to_json()))
    log.append(line_of(replace(said(4), parent="entry_1").to_json()))
    log.close()

    tree = read_log(path)

    assert (texts(tree), list(tree.records)) == (
        prompts(1, 4),
        ["msg_1", "msg_2", "msg_3", "entry_1", "msg_4"],
    )
    with pytest.raises(KeyError):
        path_before(tree.path(), "msg_3")
