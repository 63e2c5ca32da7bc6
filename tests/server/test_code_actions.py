"""What can be asked of a place in a file."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from pilothouse_agent.kernel.events import Option
from pilothouse_agent.kernel.messages import ToolCall
from pilothouse_agent.kernel.questions import Question
from pilothouse_server.chat.code_actions import chat_actions, file_actions, fitting
from pilothouse_server.chat.editor_prompts import Spot
from pilothouse_server.client.positions import Position
from pilothouse_server.documents.document import Document
from pilothouse_server.documents.sync_params import Opened

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


@pytest.mark.covers("R261")
def test_of_a_large_file_only_the_lines_at_the_place_are_looked_at() -> None:
    place = spot("# pilothouse: rename x\n" * 200_000, (150_000, 0), (150_000, 0))

    tracemalloc.start()
    actions = list(file_actions(place, []))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert "Pilothouse: Do “rename x”" in asked(actions)
    assert peak < 50_000, "bytes; the file has 4,600,000"


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

    assert [(each["kind"], each["diagnostics"]) for each in actions[1:2]] == [("quickfix", [found])]
    assert asked(actions)["Pilothouse: Fix “x is\\n  undefined”"] == (
        "Fix this problem in `a.py`, line 1:\n\n> x is undefined (lint F821)\n\n```python\nprint(x)\n```"
    )


@pytest.mark.covers("R286")
@pytest.mark.parametrize(
    ("only", "kinds"),
    [
        (["quickfix"], ["quickfix"]),
        (["refactor"], ["refactor.rewrite"]),
        (["refactor.extract"], []),
        (["source"], ["source"]),
        (["source.organizeImports"], []),
        (["quickfix", "source"], ["source", "quickfix"]),
        (None, ["source", "refactor.rewrite", "quickfix"]),
        ([], ["source", "refactor.rewrite", "quickfix"]),
        ([""], ["source", "refactor.rewrite", "quickfix"]),
    ],
)
def test_only_the_kinds_that_are_asked_for_are_given(only: object, kinds: list[str]) -> None:
    place = spot("x  # pilothouse: rename x\n", (0, 0), (0, 0))
    actions = fitting(file_actions(place, [{"message": "m"}]), only, literals=True)

    assert [each["kind"] for each in actions] == kinds


@pytest.mark.covers("R286")
def test_an_editor_that_hides_source_actions_is_given_them_as_fixes() -> None:
    actions = fitting(file_actions(spot("", (0, 0), (0, 0)), []), None, literals=True, usual="quickfix")

    assert [(each["title"], each["kind"]) for each in actions] == [("Pilothouse: Open the chat", "quickfix")]


LINES = "  total = price-tax + a.b_c\n\nüber, größe\n"
NOT_SELECTED = {
    "nothing": ((0, 4), (0, 4)),
    "a word": ((0, 2), (0, 7)),
    "a word with a hyphen": ((0, 10), (0, 19)),
    "a word with a dot": ((0, 22), (0, 27)),
    "a word with umlauts": ((2, 6), (2, 11)),
    "a line": ((0, 0), (0, 27)),
    "a line without its indentation": ((0, 2), (0, 27)),
    "a line with its end": ((0, 0), (1, 0)),
    "an empty line": ((1, 0), (2, 0)),
    "behind the text": ((7, 0), (9, 5)),
}


@pytest.mark.covers("R286")
@pytest.mark.parametrize("what", NOT_SELECTED)
def test_what_editors_send_where_nothing_is_selected_is_no_selection(what: str) -> None:
    actions = file_actions(spot(LINES, *NOT_SELECTED[what]), [])

    assert [each["title"] for each in actions] == ["Pilothouse: Open the chat"]


SELECTED = {
    "part of a word": (((0, 2), (0, 5)), "tot"),
    "part of a word from its middle": (((0, 4), (0, 7)), "tal"),
    "an expression": (((0, 10), (0, 27)), "price-tax + a.b_c"),
    "two lines": (((0, 22), (2, 4)), "a.b_c\n\nüber"),
}


@pytest.mark.covers("R286")
@pytest.mark.parametrize("what", SELECTED)
def test_what_is_really_selected_can_be_explained(what: str) -> None:
    (start, end), text = SELECTED[what]
    actions = list(file_actions(spot(LINES, start, end), []))

    assert [each["title"].removeprefix("Pilothouse: ") for each in actions] == [
        "Open the chat",
        "Explain the selection",
        "Ask about the selection in the chat",
    ]
    assert f"```python\n{text}\n```" in asked(actions)["Pilothouse: Explain the selection"]


def test_a_diagnostic_is_told_with_its_own_line_wherever_the_cursor_is() -> None:
    where = {"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 1}}
    (fix,) = asked(
        [*file_actions(spot("a\nb\nc\n", (0, 0), (3, 0)), [{"message": "odd", "range": where}])][1:2]
    ).values()

    assert fix == "Fix this problem in `a.py`, line 2:\n\n> odd\n\n```python\nb\n```"


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
