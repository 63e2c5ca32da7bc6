"""What a session writes into its log while it runs, and what becomes of it when the disk refuses."""

from __future__ import annotations

import asyncio
import errno
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pilothouse_agent.kernel.events import (
    AgentEnd,
    AgentStart,
    Event,
    MessageEnd,
    QueuedItem,
    QueueUpdate,
    SessionUpdate,
    Todo,
    TodoUpdate,
)
from pilothouse_agent.kernel.messages import (
    AssistantMessage,
    TextBlock,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from pilothouse_agent.session.log.log_file import LogFile
from pilothouse_agent.session.log.records import Header, Record
from pilothouse_agent.session.log.restore import Restored, restored
from pilothouse_agent.session.log.scribe import Scribe, Standing
from pilothouse_agent.session.log.tree import read_log
from pilothouse_agent.session.log.writer import LogWriter

TIME = datetime(2026, 12, 1, 8, 0, tzinfo=UTC)
HEADER = Header("session_1", "/work", ("/work",), "2026-12-01T08:00:00.000Z")
ASKED = UserMessage("msg_1", (TextBlock("Mend the parser, please\nand the tests"),), TIME)
CALLED = AssistantMessage(
    "msg_2",
    (ToolCall("c1", "bash", {}), ToolCall("c2", "grep", {})),
    TIME,
    "m/1",
    "toolUse",
    Usage(10, 2),
)
RESULT = ToolResultMessage("msg_3", (TextBlock("ok"),), TIME, "c1", "bash")
START = AgentStart("run_1", "m/1", ("msg_1",))
END = AgentEnd(
    run_id="run_1", stop_reason="completed", text="Done.", usage=None, returned=(), error=None, duration_ms=12
)


class Disk:
    """A place for a log that can refuse, and wait."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.refuses = False
        self.may_go_on = threading.Event()
        self.may_go_on.set()

    def make(self) -> LogFile:
        self.may_go_on.wait(10)
        if self.refuses:
            raise OSError(errno.ENOSPC, "No space left on device")
        return LogFile.create(self.path, HEADER)


def scribe_on(
    disk: Disk,
    troubles: Callable[[str | None], None] = lambda reason: None,
) -> Scribe:
    return Scribe(
        LogWriter(disk.make, troubled=troubles),
        standing=Standing(),
        opening=[{"type": "model", "model": "m/1"}],
        messages=lambda: (),
        system=lambda: "Be brief.",
        model=lambda: "m/1",
    )


async def tell(scribe: Scribe, *events: Event) -> None:
    for event in events:
        waiting = scribe(event)
        if waiting is not None:
            await asyncio.wait_for(waiting, 5)


async def records(disk: Disk) -> list[Record]:
    return (await asyncio.to_thread(read_log, disk.path)).path()


async def left_by(disk: Disk) -> Restored:
    return restored(await records(disk))


@pytest.mark.covers("J2", "J11")
async def test_a_run_is_in_the_log_with_everything_that_changed_in_it(tmp_path: Path) -> None:
    disk = Disk(tmp_path / "log.jsonl")
    scribe = scribe_on(disk)
    todos = (Todo("Parse", "in_progress"), Todo("Test", "pending"))

    await tell(scribe, SessionUpdate(thinking="high"), START, MessageEnd(ASKED))
    await tell(scribe, TodoUpdate(todos), END)
    assert await scribe.close(5)

    state = await left_by(disk)
    assert [record.type for record in await records(disk)] == [
        "model",
        "thinking",
        "system",
        "run",
        "message",
        "title",
        "todos",
        "run",
    ]
    assert (state.messages, state.title, state.model, state.thinking, state.todos, state.unfinished_run) == (
        [ASKED],
        "Mend the parser, please",
        "m/1",
        "high",
        todos,
        None,
    )


@pytest.mark.covers("J3")
async def test_a_message_is_in_the_file_when_the_listeners_behind_hear_of_it(tmp_path: Path) -> None:
    disk = Disk(tmp_path / "log.jsonl")
    scribe = scribe_on(disk)

    await tell(scribe, MessageEnd(ASKED))

    assert (await left_by(disk)).messages == [ASKED]
    assert await scribe.close(5)


async def test_a_session_in_which_nothing_was_said_leaves_no_file(tmp_path: Path) -> None:
    disk = Disk(tmp_path / "log.jsonl")
    scribe = scribe_on(disk)

    await tell(scribe, SessionUpdate(model="m/2"))
    assert await scribe.close(5)

    assert not disk.path.exists()


@pytest.mark.covers("J7")
async def test_a_killed_run_leaves_results_for_its_calls_and_gives_back_what_nobody_received(
    tmp_path: Path,
) -> None:
    disk = Disk(tmp_path / "log.jsonl")
    scribe = scribe_on(disk)
    first = QueuedItem("queue_1", "steering", (TextBlock("Faster"),))
    second = QueuedItem("queue_2", "followUp", (TextBlock("Then the docs"),))
    heard = UserMessage("msg_4", first.content, TIME, "queue_1")

    await tell(scribe, START, MessageEnd(ASKED), QueueUpdate((first,), (second,)), MessageEnd(CALLED))
    await tell(scribe, MessageEnd(RESULT), MessageEnd(heard))

    state = await left_by(disk)
    assert (state.returned, state.unfinished_run, state.standing.usage) == ([second], "run_1", Usage(10, 2))
    assert [(result.tool_call_id, result.is_error) for result in state.interrupted] == [("c2", True)]
    assert state.messages == [ASKED, CALLED, RESULT, heard, *state.interrupted]
    assert await scribe.close(5)


@pytest.mark.covers("J5")
async def test_what_the_disk_refuses_is_told_once_and_written_in_order_when_there_is_room(
    tmp_path: Path,
) -> None:
    disk = Disk(tmp_path / "log.jsonl")
    disk.refuses = True
    troubles: asyncio.Queue[str | None] = asyncio.Queue()
    scribe = scribe_on(disk, troubles.put_nowait)

    await tell(scribe, START, MessageEnd(ASKED), MessageEnd(CALLED))
    assert await asyncio.wait_for(troubles.get(), 5) == "No space left on device"
    disk.refuses = False

    assert await asyncio.wait_for(troubles.get(), 5) is None
    assert ((await left_by(disk)).messages[:2], troubles.empty()) == ([ASKED, CALLED], True)
    assert await scribe.close(5)


@pytest.mark.covers("J3", "J5")
async def test_a_disk_that_does_not_answer_holds_a_run_up_for_a_second_at_a_time(tmp_path: Path) -> None:
    disk = Disk(tmp_path / "log.jsonl")
    disk.may_go_on.clear()
    scribe = scribe_on(disk)

    await tell(scribe, MessageEnd(ASKED))
    assert not disk.path.exists()
    disk.may_go_on.set()

    assert await scribe.close(5)
    assert (await left_by(disk)).messages == [ASKED]
