"""Questions that are asked while a call runs, and answers that also stop the run (P3, P4, R216)."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from pilothouse_agent.kernel.events import ToolExecutionEnd
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.ports import ToolContext
from pilothouse_agent.kernel.questions import Answer, PermissionRequest
from pilothouse_agent.kernel.tooling import FileDiff, Hunk, ToolResult
from support.footprints import EVERYTHING, changes
from support.kernel import Bench, FakeTool, asks, bench, call, echo_tool, says
from support.permissions import ALLOW, REJECT, STOP, FakePermissions, FakeUser

MOVED = FileDiff("/a", "one", "two", (Hunk(1, 1, ("-one", "+two")),))
"""A change that was not shown beforehand, so that it is asked about in the file's turn."""
ALLOWED_BUT_STOPPED = Answer("yes", stop=True)


def editing(user: FakeUser, done: list[str]) -> Bench:
    """One call whose change must be asked about again, and one that waits for it."""

    async def body(arguments: JsonObject, context: ToolContext) -> ToolResult:
        assert context.consent is not None
        await context.consent.extend(MOVED)
        await asyncio.sleep(0)
        done.append("changed")
        return ToolResult.text("Edited.")

    tools = [FakeTool("edit", body, footprint=changes("/a")), echo_tool(footprint=EVERYTHING)]
    permissions = FakePermissions(echo="allow")
    turn = asks(call("c1", "edit"), call("c2", "echo"))
    return bench(turn, says("done"), tools=tools, permissions=permissions, approver=user)


def outcomes(b: Bench) -> list[tuple[str, str]]:
    return [(end.tool_call_id, end.outcome) for end in b.events.of(ToolExecutionEnd)]


@pytest.mark.covers("R216", "T8", "P3")
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (STOP, "Denied by the user."),
        (Answer("no", "wrong file", stop=True), "Denied: wrong file"),
        (ALLOWED_BUT_STOPPED, "Denied by the user."),
        (Answer("maybe", stop=True), "Denied by the user."),
    ],
)
async def test_stop_at_a_question_of_a_body_ends_the_run(answer: Answer, said: str) -> None:
    done: list[str] = []
    b = editing(FakeUser(ALLOW, answer), done)
    queue_id = b.agent.follow_up("later")

    result = await b.run("Hi")

    assert (result.stop_reason, [item.queue_id for item in result.returned]) == ("aborted", [queue_id])
    assert b.shown[2:] == [f"R c1:{said}!", "R c2:Aborted: the call did not run.!"]
    assert (outcomes(b), done, len(b.model.requests)) == ([("c1", "denied"), ("c2", "aborted")], [], 1)


@pytest.mark.covers("P3", "R216")
@pytest.mark.parametrize("answer", [REJECT, Answer("maybe"), None, "yes", RuntimeError("no")], ids=repr)
async def test_a_no_at_a_question_of_a_body_denies_its_call_and_the_run_goes_on(answer: object) -> None:
    done: list[str] = []
    b = editing(FakeUser(ALLOW, answer), done)

    assert (await b.run("Hi")).text == "done"
    assert (outcomes(b), done) == ([("c1", "denied"), ("c2", "ok")], [])


@pytest.mark.covers("P3")
async def test_a_yes_at_a_question_of_a_body_lets_it_go_on() -> None:
    done: list[str] = []
    b = editing(FakeUser(ALLOW, ALLOW), done)

    assert (await b.run("Hi")).text == "done"
    assert (outcomes(b), done) == ([("c1", "ok"), ("c2", "ok")], ["changed"])


@pytest.mark.covers("R082", "P4")
async def test_an_allowing_answer_that_also_stops_allows_nothing() -> None:
    tool = echo_tool()
    user = FakeUser(ALLOWED_BUT_STOPPED)
    b = bench(asks(call("c1", "echo")), tools=[tool], permissions=FakePermissions(), approver=user)

    result = await b.run("Hi")

    assert (result.stop_reason, tool.ran, outcomes(b)) == ("aborted", [], [("c1", "denied")])
    assert b.shown[2] == "R c1:Denied by the user.!"


class Uncertain(FakePermissions):
    """Judges an answer by something that is neither yes nor no."""

    def __init__(self, verdict: object) -> None:
        super().__init__()
        self._verdict = verdict

    def settle(self, request: PermissionRequest, option_id: str) -> bool:
        return cast("bool", self._verdict)


@pytest.mark.covers("P4")
@pytest.mark.parametrize("verdict", [None, "yes", 1, object()])
async def test_what_is_not_a_plain_yes_is_a_no(verdict: object) -> None:
    tool = echo_tool()
    permissions = Uncertain(verdict)
    turns = [asks(call("c1", "echo")), says("done")]
    b = bench(*turns, tools=[tool], permissions=permissions, approver=FakeUser(ALLOW))

    assert (await b.run("Hi")).text == "done"
    assert (tool.ran, outcomes(b)) == ([], [("c1", "denied")])
