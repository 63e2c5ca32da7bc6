"""Undo as a session sees it: not during a run, told to the model, and recorded whatever the disk says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pilothouse_agent.files.queue import WriteQueue
from pilothouse_agent.files.undo.journal import ChangeJournal
from pilothouse_agent.files.undo.rewind import Rewound, RewoundFile
from pilothouse_agent.kernel.errors import AgentBusy
from pilothouse_agent.kernel.events import MessageEnd, Notice
from pilothouse_agent.kernel.messages import CustomMessage, TextBlock
from pilothouse_agent.kernel.ports import FileChange
from pilothouse_agent.kernel.request import Delta, Finished
from pilothouse_agent.models.scripted.provider import ScriptedModel
from pilothouse_agent.permissions.approval_mode import ApprovalMode
from pilothouse_agent.session.agent_session import AgentSession
from pilothouse_agent.session.create import SessionOptions, create_session
from pilothouse_agent.session.recording import RunRecorder
from pilothouse_agent.settings.places import changes_file
from pilothouse_agent.settings.settings import Settings
from support.footprints import turns_of_the_loop
from support.kernel import Bench, Gate, bench, block, says, soon
from support.recorder import Recorder

BACK = Rewound("r1", (RewoundFile("/w/a", "restored"), RewoundFile("/w/b", "offered", text="b")))


class Undoing:
    """An undo that the test lets go on."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.may_end = asyncio.Event()
        self.fails = False

    async def __call__(self, run_id: str | None = None, *, merge: bool = False) -> Rewound:
        self.begun.set()
        if self.fails:
            raise KeyError(run_id)
        await self.may_end.wait()
        return BACK


def session_of(b: Bench, undo: Undoing) -> AgentSession:
    async def release() -> None:
        pass

    return AgentSession("s1", b.agent, cwd="/w", mode=ApprovalMode.ASK, release=release, undo=undo)


async def test_undo_is_refused_during_a_run() -> None:
    gate = Gate()
    b = bench([Delta("text", 0, "a"), gate, Finished("stop")])
    session = session_of(b, Undoing())
    started = session.prompt(block("go"))
    await gate.arrival()

    with pytest.raises(AgentBusy):
        await session.rewind()
    gate.open()
    await soon(started.result)


async def test_a_prompt_and_a_second_undo_are_refused_while_one_is_going_on() -> None:
    undo = Undoing()
    session = session_of(bench(says("ok")), undo)
    first = asyncio.create_task(session.rewind())
    await soon(undo.begun.wait())

    with pytest.raises(AgentBusy):
        session.prompt(block("go"))
    with pytest.raises(AgentBusy):
        await session.rewind()
    undo.may_end.set()

    assert await soon(first) == BACK
    assert (await soon(session.prompt(block("go")).result)).text == "ok"


async def test_an_undo_that_ends_badly_frees_the_session() -> None:
    undo = Undoing()
    session = session_of(bench(says("ok")), undo)
    cancelled = asyncio.create_task(session.rewind())
    await soon(undo.begun.wait())
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await soon(cancelled)
    undo.fails = True
    with pytest.raises(KeyError):
        await session.rewind("no-such")

    assert (await soon(session.prompt(block("go")).result)).text == "ok"


async def test_the_model_is_told_what_is_as_before_again() -> None:
    undo = Undoing()
    undo.may_end.set()
    b = bench(says("ok"))
    await soon(session_of(b, undo).rewind())
    (message,) = b.agent.state.messages

    assert isinstance(message, CustomMessage)
    assert (message.name, message.for_model) == ("rewind", True)
    assert message.content == (
        TextBlock(
            "The user has undone changes that you made to files. As before are again:\n- /w/a (restored)"
        ),
    )


async def test_a_note_is_given_once_before_its_prompt() -> None:
    b = bench(says("one"), says("two"), says("three"))
    session = session_of(b, Undoing())
    for note in ("sees a", "sees a", "sees b"):
        await soon(session.prompt(block("go"), note=note).result)

    assert [type(message).__name__ for message in b.agent.state.messages] == [
        *("CustomMessage", "UserMessage", "AssistantMessage"),
        *("UserMessage", "AssistantMessage"),
        *("CustomMessage", "UserMessage", "AssistantMessage"),
    ]


SCRIPT = {
    "turns": [
        {"calls": [{"id": "c1", "name": "write_file", "arguments": {"path": "a", "content": "a\n"}}]},
        {"text": "Done."},
    ]
}


@pytest.fixture
async def session(tmp_path: Path) -> AsyncIterator[AgentSession]:
    script = tmp_path / "script.json"
    script.write_text(json.dumps(SCRIPT), encoding="utf-8")
    options = SessionOptions(
        session_id="s1",
        folders=(str(tmp_path),),
        model=f"scripted/{script}",
        mode=ApprovalMode.EDITS,
        settings=Settings(),
        environment={"PILOTHOUSE_HOME": str(tmp_path / "home")},
    )
    made, _ = await asyncio.to_thread(
        create_session, options, provider=ScriptedModel(), queue=WriteQueue(), approver=None
    )
    yield made
    await made.close(2)


async def test_what_a_run_wrote_goes_back(session: AgentSession, tmp_path: Path) -> None:
    result = await soon(session.prompt(block("go")).result)
    outcome = await soon(session.rewind())

    assert outcome == Rewound(result.run_id, (RewoundFile(str(tmp_path / "a"), "deleted"),))
    assert not (tmp_path / "a").exists()


async def test_a_change_that_cannot_be_recorded_is_made_all_the_same_and_said(
    session: AgentSession, tmp_path: Path
) -> None:
    recorder = Recorder()
    session.agent.subscribe(recorder)
    (tmp_path / "home").write_text("in the way", encoding="utf-8")
    result = await soon(session.prompt(block("go")).result)

    assert (result.stop_reason, (tmp_path / "a").read_text(encoding="utf-8")) == ("completed", "a\n")
    assert [event.message for event in recorder.events if isinstance(event, Notice)] == [
        f"The change of {tmp_path / 'a'} cannot be undone later: Not a directory."
    ]


async def test_whoever_else_is_to_know_is_told_of_undone_changes_too(tmp_path: Path) -> None:
    told: list[FileChange] = []

    async def also(change: FileChange) -> None:
        told.append(change)

    journal = ChangeJournal(tmp_path / "s.jsonl")
    recorder = RunRecorder(journal, also=also)
    recorder.run_id = lambda: "r1"
    change = FileChange("/w/a", "modify", "disk", "1", "2")
    await recorder.record(change, "", None)

    assert (told, journal.run()) == ([change], None)


@pytest.mark.covers("R218")
@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(3)], ids=["error", "exit"])
async def test_whoever_fails_to_hear_of_a_change_does_not_make_it_a_failure(
    tmp_path: Path, error: BaseException
) -> None:
    async def also(change: FileChange) -> None:
        raise error

    journal = ChangeJournal(tmp_path / "s.jsonl")
    recorder = RunRecorder(journal, also=also)
    recorder.run_id = lambda: "r1"

    await recorder.record(FileChange("/w/a", "modify", "disk", "1", "2"), "c1", None)

    kept = await asyncio.to_thread(journal.run)
    assert kept is not None
    assert kept.run_id == "r1"


@pytest.mark.parametrize("session_id", ["../x", "", "a/b", "a\n", "x" * 101])
def test_an_id_from_outside_leads_nowhere_else(session_id: str) -> None:
    with pytest.raises(ValueError, match="not the id of a session"):
        changes_file({"PILOTHOUSE_HOME": "/h"}, session_id)


@pytest.mark.covers("R206")
@pytest.mark.parametrize("kind", ["steering", "followUp"])
async def test_a_message_that_comes_during_an_undo_starts_its_run_behind_it(kind: str) -> None:
    undo, b = Undoing(), bench(says("ok"))
    session = session_of(b, undo)
    undoing = asyncio.create_task(session.rewind())
    await soon(undo.begun.wait())

    send = session.steer if kind == "steering" else session.follow_up
    first, second = send(block("one")), send(block("two"))
    await turns_of_the_loop(10)
    before = list(b.lines)
    undo.may_end.set()
    await soon(undoing)
    await soon(session.settled())

    assert ([first.delivery, second.delivery], first.run_id) == (["prompted"] * 2, second.run_id)
    assert (before, b.shown[0][:9], b.shown[1:]) == ([], "C rewind:", ["U:one", "U:two", "A:ok"])


@pytest.mark.covers("R206")
async def test_a_message_that_came_during_an_undo_that_failed_is_not_lost() -> None:
    undo, b = Undoing(), bench(says("ok"))
    undo.fails = True
    session = session_of(b, undo)
    undoing = asyncio.create_task(session.rewind())
    await asyncio.sleep(0)

    session.steer(block("one"))
    with pytest.raises(KeyError):
        await soon(undoing)
    await soon(session.settled())

    assert b.shown == ["U:one", "A:ok"]


@pytest.mark.covers("R206", "A5")
async def test_an_abort_during_an_undo_ends_the_run_that_waits_for_it_before_its_request() -> None:
    undo, b = Undoing(), bench(says("never"))
    session = session_of(b, undo)
    undoing = asyncio.create_task(session.rewind())
    await soon(undo.begun.wait())

    delivery = session.steer(block("one"))
    aborting = session.abort()
    undo.may_end.set()
    await soon(undoing)
    outcome = await soon(aborting)

    assert (outcome.aborted, outcome.run_id) == (True, delivery.run_id)
    assert (b.shown[1:], b.model.requests, b.lines[-1]) == (["U:one"], [], "AE aborted")


@pytest.mark.covers("R206")
async def test_closing_a_session_waits_for_its_undo() -> None:
    undo, b = Undoing(), bench()
    session = session_of(b, undo)
    undoing = asyncio.create_task(session.rewind())
    await soon(undo.begun.wait())

    closing = asyncio.create_task(session.close(5))
    await turns_of_the_loop(10)
    closed_before = closing.done()
    undo.may_end.set()
    await soon(closing)

    assert (closed_before, await soon(undoing)) == (False, BACK)


@pytest.mark.covers("R215", "B3", "E1")
async def test_what_the_model_is_told_of_an_undo_is_heard_like_any_other_message() -> None:
    undo, b = Undoing(), bench(says("ok"))
    session = session_of(b, undo)
    undo.may_end.set()

    await soon(session.rewind())
    await soon(session.prompt(block("go")).result)

    assert b.lines[:3] == ["MS(C)", "ME(C,rewind)", "AS"]
    assert [event.message for event in b.events.of(MessageEnd)] == list(b.agent.state.messages)
