"""Steering, follow-ups and aborts over JSON-RPC with a real server, from both models."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pilothouse_cli.headless import RpcError
from support.door import Door
from support.wire_models import MODELS, Model, Turn, call
from support.wire_session import WireSession, soon, wire_session

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("model", MODELS)]

Open = Callable[..., AbstractAsyncContextManager[WireSession]]

START = ["AS", "PH idle→turn", "TS1", "MS(U)", "ME(U,Hi)"]
ANSWER = ["MS(A)", "MU", "ME(A,stop)"]
CALLS = ["MS(A)", "MU", "ME(A,toolUse)"]
ABORTED = ["PH turn→idle", "AE aborted"]
COMPLETED = ["PH turn→idle", "AE completed"]

DONE: Turn = {"text": "Done."}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def door(project: Path) -> Door:
    return Door(project / "door")


@pytest.fixture
def session(model: Model, project: Path, tmp_path: Path) -> Open:
    """A session in which the model plays these turns."""

    @asynccontextmanager
    async def opened(*turns: Turn, mode: str = "all") -> AsyncGenerator[WireSession]:
        async with (
            model(list(turns), tmp_path) as (name, variables),
            wire_session(project, name, mode=mode, variables=variables) as session,
        ):
            yield session

    return opened


def result(session: WireSession, **fields: Any) -> dict[str, Any]:
    run_id = session.events[0]["runId"]
    common: dict[str, Any] = {"sessionId": session.id, "runId": run_id, "usage": None, "returned": []}
    return {**common, "stopReason": "completed", "text": "Done.", **fields}


@pytest.mark.covers("Q1", "E3", "K45")
async def test_steering_in_the_middle_of_tools_is_delivered_in_a_new_turn_after_them(
    session: Open, door: Door
) -> None:
    calls = [call("c1", "bash", command=door.command), call("c2", "glob_file", pattern="*")]
    async with session({"calls": calls}, DONE) as wire:
        prompt = wire.prompt("Hi")
        await wire.seen("XE c2 ok")
        steered = await soon(wire.request("agent/steer", text="also b"))
        door.open()
        settled = await soon(prompt)

    assert (steered["delivery"], steered["runId"], settled) == ("steered", settled["runId"], result(wire))
    assert wire.lines == [
        *[*START, *CALLS, "XS c1", "XS c2", "XE c2 ok", "QU [also b] []", "XE c1 ok"],
        *["MS(R)", "ME(R,c1 ok)", "MS(R)", "ME(R,c2 ok)", "TE1"],
        *["TS2", "MS(U)", "ME(U,also b)", "QU [] []", *ANSWER, "TE2", *COMPLETED],
    ]


@pytest.mark.covers("Q1", "E3", "K48")
async def test_a_follow_up_is_delivered_when_the_model_has_ended(session: Open, door: Door) -> None:
    async with session({"calls": [call("c1", "bash", command=door.command)]}, DONE, DONE) as wire:
        prompt = wire.prompt("Hi")
        await wire.seen("XS c1")
        queued = await soon(wire.request("agent/followUp", text="then b"))
        door.open()
        settled = await soon(prompt)

    assert (queued["delivery"], settled) == ("queued", result(wire))
    assert wire.lines == [
        *[*START, *CALLS, "XS c1", "QU [] [then b]", "XE c1 ok", "MS(R)", "ME(R,c1 ok)", "TE1"],
        *["TS2", *ANSWER, "TE2", "TS3", "MS(U)", "ME(U,then b)", "QU [] []", *ANSWER, "TE3", *COMPLETED],
    ]


@pytest.mark.covers("A5", "E3", "K58", "R163")
async def test_an_abort_in_the_middle_of_text_keeps_the_text_and_answers_after_the_last_event(
    session: Open,
) -> None:
    async with session({"text": "Half", "stall": True}, DONE) as wire:
        prompt = wire.prompt("Hi")
        await wire.seen("MU")
        aborted = await soon(wire.request("agent/abort"))
        lines, settled = wire.lines, await soon(prompt)
        again = await soon(wire.prompt("again"))

    assert (aborted, settled) == (
        {"aborted": True, "runId": settled["runId"], "returned": []},
        result(wire, stopReason="aborted", text="Half"),
    )
    assert lines == [*START, "MS(A)", "MU", "ME(A,aborted)", "TE1", *ABORTED]
    assert again["stopReason"] == "completed"


@pytest.mark.covers("T8", "E3", "Q3", "K60")
async def test_an_abort_in_a_tool_ends_it_sends_nothing_more_and_hands_back_what_was_queued(
    session: Open, door: Door
) -> None:
    async with session({"calls": [call("c1", "bash", command=door.command)]}, DONE) as wire:
        prompt = wire.prompt("Hi")
        await wire.seen("XS c1")
        steered = await soon(wire.request("agent/steer", text="also b"))
        aborted = await soon(wire.request("agent/abort"))
        settled = await soon(prompt)

    content = [{"type": "text", "text": "also b"}]
    returned = [{"queueId": steered["queueId"], "kind": "steering", "content": content}]
    assert (aborted["returned"], settled) == (
        returned,
        result(wire, stopReason="aborted", text="", returned=returned),
    )
    assert wire.lines == [
        *[*START, *CALLS, "XS c1", "QU [also b] []", "XE c1 aborted", "MS(R)", "ME(R,c1 error)", "TE1"],
        *["QU [] []", *ABORTED],
    ]


@pytest.mark.covers("P2", "T8", "E3", "R079")
async def test_an_abort_in_an_approval_withdraws_the_question_and_runs_nothing(
    session: Open, project: Path
) -> None:
    async with session({"calls": [call("c1", "bash", command="touch made")]}, DONE, mode="ask") as wire:
        prompt = wire.prompt("Hi")
        question, answer = await soon(wire.approvals.get())
        await soon(wire.request("agent/abort"))
        settled = await soon(prompt)
        await soon(asyncio.wait({answer}))

    assert (question["command"], answer.cancelled()) == ("touch made", True)
    assert settled == result(wire, stopReason="aborted", text="")
    assert wire.lines == [
        *[*START, *CALLS, "XS c1", "AQ c1", "AR c1 cancelled", "XE c1 aborted"],
        *["MS(R)", "ME(R,c1 error)", "TE1", *ABORTED],
    ]
    assert list(project.iterdir()) == []


@pytest.mark.covers("P2", "R080")
async def test_an_answer_of_the_client_decides_and_a_reject_lets_the_run_go_on(
    session: Open, project: Path
) -> None:
    calls = [call("c1", "bash", command="touch one"), call("c2", "bash", command="touch two")]
    async with session({"calls": calls}, DONE, mode="ask") as wire:
        prompt = wire.prompt("Hi")
        for kind in ("rejectOnce", "allowOnce"):
            question, answer = await soon(wire.approvals.get())
            chosen = next(option["id"] for option in question["options"] if option["kind"] == kind)
            answer.set_result({"optionId": chosen})
        settled = await soon(prompt)

    assert settled == {**result(wire), "denied": 1}
    assert wire.lines == [
        *[*START, *CALLS, "XS c1", "AQ c1", "AR c1 denied", "XE c1 denied"],
        *["XS c2", "AQ c2", "AR c2 allowed", "XE c2 ok"],
        *["MS(R)", "ME(R,c1 error)", "MS(R)", "ME(R,c2 ok)", "TE1", "TS2", *ANSWER, "TE2", *COMPLETED],
    ]
    assert [path.name for path in project.iterdir()] == ["two"]


@pytest.mark.covers("A1", "K97")
async def test_of_two_prompts_in_one_packet_one_runs_and_the_other_is_busy(session: Open) -> None:
    async with session(DONE) as wire:
        first, second = wire.prompt("Hi"), wire.prompt("Ho")
        settled = await soon(first)
        with pytest.raises(RpcError) as refused:
            await soon(second)

    assert (refused.value.code, refused.value.kind) == (-31001, "busy")
    assert (settled, wire.lines) == (result(wire), [*START, *ANSWER, "TE1", *COMPLETED])


@pytest.mark.covers("A5", "K69")
async def test_an_abort_in_the_packet_of_its_prompt_is_not_lost(session: Open) -> None:
    async with session(DONE) as wire:
        prompt, abort = wire.prompt("Hi"), wire.request("agent/abort")
        aborted, settled = await soon(abort), await soon(prompt)

    assert (aborted["aborted"], settled) == (True, result(wire, stopReason="aborted", text=""))
    assert wire.lines[-2:] == ABORTED
    assert "MS(A)" not in wire.lines


@pytest.mark.covers("A1")
async def test_cancelling_the_request_of_a_prompt_aborts_its_run(session: Open) -> None:
    async with session({"text": "Half", "stall": True}) as wire:
        prompt = wire.prompt("Hi")
        await wire.seen("MU")
        prompt.cancel()
        await wire.seen("AE aborted")

    assert wire.lines == [*START, "MS(A)", "MU", "ME(A,aborted)", "TE1", *ABORTED]


@pytest.mark.covers("R207", "A5")
async def test_a_prompt_in_the_packet_of_a_stop_waits_for_the_slot(session: Open) -> None:
    async with session({"text": "Half", "stall": True}, DONE) as wire:
        first = wire.prompt("Hi")
        await wire.seen("MU")
        stop, second, third = wire.request("agent/abort"), wire.prompt("Ho"), wire.prompt("Hu")
        stopped, settled, again = await soon(stop), await soon(first), await soon(second)
        with pytest.raises(RpcError) as refused:
            await soon(third)

    assert (stopped["runId"], settled["stopReason"], refused.value.kind) == (
        settled["runId"],
        "aborted",
        "busy",
    )
    assert (again["stopReason"], again["text"]) == ("completed", "Done.")
    assert [line for line in wire.lines if line[:3] in ("AS", "AE ")] == [
        "AS",
        "AE aborted",
        "AS",
        "AE completed",
    ]


@pytest.mark.covers("P2", "R082", "T8")
async def test_a_stop_in_the_answer_to_a_question_ends_the_run(session: Open, project: Path) -> None:
    calls = [call("c1", "bash", command="touch one"), call("c2", "bash", command="touch two")]
    async with session({"calls": calls}, DONE, mode="ask") as wire:
        prompt = wire.prompt("Hi")
        question, answer = await soon(wire.approvals.get())
        chosen = next(option["id"] for option in question["options"] if option["kind"] == "allowOnce")
        answer.set_result({"optionId": chosen, "stop": True, "reason": "no more"})
        settled = await soon(prompt)

    assert settled == result(wire, stopReason="aborted", text="", denied=1)
    assert wire.lines == [
        *[*START, *CALLS, "XS c1", "AQ c1", "AR c1 denied", "XE c1 denied", "XS c2", "XE c2 aborted"],
        *["MS(R)", "ME(R,c1 error)", "MS(R)", "ME(R,c2 error)", "TE1", *ABORTED],
    ]
    assert list(project.iterdir()) == []


@pytest.mark.covers("R263", "P4")
@pytest.mark.parametrize("field", ["option_id", "optionid", "OptionId", "option"])
async def test_an_answer_that_spells_its_field_otherwise_allows_nothing(
    session: Open, project: Path, field: str
) -> None:
    async with session({"calls": [call("c1", "bash", command="touch one")]}, DONE, mode="ask") as wire:
        prompt = wire.prompt("Hi")
        question, answer = await soon(wire.approvals.get())
        chosen = next(option["id"] for option in question["options"] if option["kind"] == "allowOnce")
        with pytest.raises(RpcError) as refused:
            await soon(wire.request("agent/answer", approvalId=question["approvalId"], **{field: chosen}))
        answer.set_result({field: chosen})
        settled = await soon(prompt)

    assert (refused.value.code, settled) == (-32602, result(wire, denied=1))
    assert list(project.iterdir()) == []


@pytest.mark.covers("R263", "P4")
@pytest.mark.parametrize("spelt", [str.upper, str.title, " {}".format, "{}s".format])
async def test_an_option_that_was_not_offered_allows_nothing(
    session: Open, project: Path, spelt: Callable[[str], str]
) -> None:
    async with session({"calls": [call("c1", "bash", command="touch one")]}, DONE, mode="ask") as wire:
        prompt = wire.prompt("Hi")
        question, answer = await soon(wire.approvals.get())
        chosen = next(option["id"] for option in question["options"] if option["kind"] == "allowOnce")
        answer.set_result({"optionId": spelt(chosen)})
        settled = await soon(prompt)

    assert settled == result(wire, denied=1)
    assert list(project.iterdir()) == []
