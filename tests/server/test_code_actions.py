"""What can be asked of a place in a file."""

from __future__ import annotations

from typing import Any

import pytest

from pilothouse_agent.kernel.events import Option
from pilothouse_agent.kernel.messages import ToolCall
from pilothouse_agent.kernel.questions import Question
from pilothouse_server.code_actions import chat_actions, file_actions, fitting
from pilothouse_server.document import Document
from pilothouse_server.editor_prompts import Spot
from pilothouse_server.positions import Position
from pilothouse_server.sync_params import Opened

URI = "file:///ws/a.py"


def spot(text: str, start: tuple[int, int], end: tuple[int, int]) -> Spot:
    document = Document(URI, "utf-16")
    document.open(URI, Opened("python", 1, text))
    return Spot(document, "a.py", Position(*start), Position(*end))


def asked(actions: list[dict[str, Any]]) -> dict[str, str]:
    """The prompt behind each title."""
    return {
        each["title"]: each["command"]["arguments"][0]["text"]
        for each in actions
        if "arguments" in each["command"]
    }


@pytest.mark.parametrize(
    "line",
    [
        "x = 1  # pilothouse: rename x",
        "// Pilothouse: rename x",
        "/* pilothouse:rename x */",
        "<!-- pilothouse: rename x -->",
        "-- pilothouse: rename x",
    ],
)
def test_a_note_in_a_comment_is_a_prompt(line: str) -> None:
    actions = list(file_actions(spot(f"one\n{line}\n", (1, 0), (1, 0)), []))

    assert asked(actions) == {
        "Pilothouse: Do “rename x”": (
            "In `a.py`, line 2, there is a note for you:\n\n> rename x\n\n"
            "Do what it asks, and take the note out."
        )
    }


@pytest.mark.parametrize("line", ["pilothouse: 1", "the pilothouse: a room", "# pilothouse:", "x"])
def test_other_lines_are_no_notes(line: str) -> None:
    actions = list(file_actions(spot(line, (0, 0), (0, 0)), []))

    assert [each["title"] for each in actions] == ["Pilothouse: Open the chat"]


def test_a_selection_is_quoted_with_its_lines() -> None:
    actions = list(file_actions(spot("a\n😀 b\nc\nd\n", (1, 3), (3, 0)), []))

    assert asked(actions) == {
        "Pilothouse: Explain the selection": (
            "Explain what is selected in `a.py`, lines 2 to 3:\n\n```python\nb\nc\n```"
        ),
        "Pilothouse: Ask about the selection in the chat": (
            "In `a.py`, lines 2 to 3:\n\n```python\nb\nc\n```"
        ),
    }


def test_a_diagnostic_can_be_fixed() -> None:
    found: dict[str, Any] = {"message": "x is\n  undefined", "source": "lint", "code": "F821"}
    actions = list(file_actions(spot("print(x)\n", (0, 6), (0, 6)), [found, {"message": 1}, "odd"]))

    assert [(each["kind"], each["diagnostics"]) for each in actions[:1]] == [("quickfix", [found])]
    assert asked(actions)["Pilothouse: Fix “x is\\n  undefined”"] == (
        "Fix this problem in `a.py`, line 1:\n\n> x is undefined (lint F821)\n\n```python\nprint(x)\n```"
    )


def test_only_the_kinds_that_are_asked_for_are_given() -> None:
    def kinds(only: object) -> list[str]:
        place = spot("x\n", (0, 0), (0, 1))
        actions = fitting(file_actions(place, [{"message": "m"}]), only, literals=True)
        return [each.get("kind", "") for each in actions]

    assert [kinds(only) for only in (["quickfix"], ["source.organizeImports"], ["source"])] == [
        ["quickfix"],
        [],
        [],
    ]
    assert kinds(None) == kinds([]) == kinds([""]) == ["quickfix", "", "", ""]


def test_an_editor_that_knows_only_commands_gets_commands() -> None:
    actions = fitting(file_actions(spot("", (0, 0), (0, 0)), []), None, literals=False)

    assert actions == [{"title": "Pilothouse: Open the chat", "command": "pilothouse.openChat"}]


@pytest.mark.parametrize(
    ("state", "titles"),
    [
        ({}, []),
        ({"draft": "x"}, ["Send"]),
        ({"draft": "x", "begun": True}, ["Send", "New chat"]),
        ({"busy": True, "begun": True, "undo": {"runId": "r"}}, ["Stop"]),
        (
            {"busy": True, "draft": "x"},
            ["Steer: tell the agent now", "Follow up: send this after the run", "Stop"],
        ),
        (
            {"begun": True, "undo": {"runId": "r"}},
            ["Undo run", "Undo run, keep later changes in its files", "New chat"],
        ),
    ],
)
def test_the_chat_offers_what_can_be_done_now(state: dict[str, Any], titles: list[str]) -> None:
    usual: dict[str, Any] = {"draft": "", "busy": False, "questions": [], "undo": None, "begun": False}
    actions = chat_actions(**{**usual, **state})

    assert [each["title"].removeprefix("Pilothouse: ") for each in actions] == titles


@pytest.mark.covers("R076")
def test_an_open_question_is_answered_from_the_chat_rejecting_first() -> None:
    options = (
        Option("allow", "Allow", "allowOnce"),
        Option("allowFile", "Allow for this file", "allowAlways", "any edit of a.py"),
        Option("reject", "Reject", "rejectOnce"),
    )
    question = Question("q1", ToolCall("c1", "edit_file", {}), "edit", "Edit a.py", "medium", options)
    actions = chat_actions(draft="", busy=True, questions=[question], undo=None, begun=True)

    assert [(each["title"], each["command"].get("arguments")) for each in actions] == [
        ("Pilothouse: Reject: Edit a.py", [{"approvalId": "q1"}]),
        ("Pilothouse: Reject and stop: Edit a.py", [{"approvalId": "q1", "stop": True}]),
        ("Pilothouse: Allow: Edit a.py", [{"approvalId": "q1", "optionId": "allow"}]),
        (
            "Pilothouse: Allow for this file: any edit of a.py",
            [{"approvalId": "q1", "optionId": "allowFile"}],
        ),
        ("Pilothouse: Stop", None),
    ]
