"""What the user is shown before saying yes is what will be done (P3)."""

from __future__ import annotations

from typing import cast

import pytest

from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.ports import FilePort, FileText, PlannedFiles
from pilothouse_agent.kernel.request import Delta
from pilothouse_agent.kernel.tooling import Preview, ToolError
from support.footprints import EVERYTHING, changes, looks_at
from support.kernel import Bench, FakeTool, asks, bench, call, echo_tool, says
from support.permissions import ALLOW, REJECT, FakePermissions, FakeUser


class Plans:
    """The part of a file port that previews need: overlays over one text."""

    def __init__(self, text: str) -> None:
        self.made: list[Plan] = []
        self._text = text

    def plan(self) -> Plan:
        self.made.append(Plan(self._text))
        return self.made[-1]


class Plan:
    def __init__(self, text: str) -> None:
        self.uncertain = False
        self._text = text

    def mark_uncertain(self) -> None:
        self.uncertain = True

    async def text(self, path: str) -> FileText:
        return FileText(path, self._text, "utf-8")

    def put(self, path: str, text: str | None) -> None:
        self._text = text or ""


async def appended(arguments: JsonObject, planned: PlannedFiles) -> Preview:
    """Shows, as if it were a command, the text the file will have; refuses to add `bad`."""
    if arguments["v"] == "bad":
        raise ToolError("It cannot be added.")
    file = await planned.text("/a")
    assert file is not None
    planned.put("/a", f"{file.text}{arguments['v']}")
    return Preview(command=f"{file.text}{arguments['v']}{'?' if planned.uncertain else ''}")


def planning(*calls: Delta, user: FakeUser, permissions: FakePermissions) -> Bench:
    tools = [
        FakeTool("add", echo_tool().body, preview=appended, footprint=changes("/a")),
        FakeTool("add_freely", echo_tool().body, preview=appended, footprint=changes("/a")),
        FakeTool("look", echo_tool().body, preview=appended, footprint=looks_at("/a")),
        FakeTool("bash", echo_tool().body, footprint=EVERYTHING),
    ]
    return bench(
        asks(*calls),
        says("done"),
        tools=tools,
        permissions=permissions,
        approver=user,
        files=cast("FilePort", Plans("0")),
    )


@pytest.mark.covers("P3")
async def test_a_preview_is_made_from_what_earlier_approved_calls_will_leave() -> None:
    user = FakeUser(ALLOW, REJECT, ALLOW)
    b = planning(
        call("c1", "add_freely", {"v": "1"}),
        call("c2", "add", {"v": "2"}),
        call("c3", "add", {"v": "3"}),
        call("c4", "look", {"v": ""}),
        call("c5", "add", {"v": "5"}),
        user=user,
        permissions=FakePermissions(add_freely="allow", look="allow"),
    )

    await b.run("Hi")

    assert [question.preview for question in user.questions] == [
        Preview(command="012"),
        Preview(command="0123"),
        Preview(command="0125"),
    ]


@pytest.mark.covers("P3")
@pytest.mark.parametrize("before", [call("c1", "bash"), call("c1", "add_freely", {"v": "bad"})])
async def test_a_preview_says_when_an_earlier_call_may_have_changed_anything(before: Delta) -> None:
    user = FakeUser(ALLOW)
    permissions = FakePermissions(bash="allow", add_freely="allow")
    b = planning(before, call("c2", "add", {"v": "2"}), user=user, permissions=permissions)

    await b.run("Hi")

    assert [question.preview for question in user.questions] == [Preview(command="02?")]


@pytest.mark.covers("P3")
async def test_nobody_is_asked_about_a_call_that_cannot_succeed() -> None:
    user = FakeUser()
    b = planning(call("c1", "add", {"v": "bad"}), user=user, permissions=FakePermissions())

    await b.run("Hi")

    assert (user.questions, b.shown[2:]) == ([], ["R c1:It cannot be added.!", "A:done"])
