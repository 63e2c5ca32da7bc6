from __future__ import annotations

from typing import Any

import pytest

from pilothouse_server.run.approval import answer_of, question_lines
from pilothouse_server.terminal.style import PLAIN

Json = dict[str, Any]


OPTIONS = [
    {"id": "once", "label": "Allow", "kind": "allowOnce"},
    {"id": "always", "label": "Allow for this session", "kind": "allowAlways", "scope": "any edit of a.py"},
    {"id": "no", "label": "Reject", "kind": "rejectOnce"},
    {"id": "never", "label": "Reject for good", "kind": "rejectOnce"},
]


def question(**fields: Any) -> Json:
    return {"approvalId": "a", "title": "Edit a.py", "risk": "medium", "options": OPTIONS, **fields}


ANSWERS = [
    "  y  Allow",
    "  a  Allow for this session: any edit of a.py",
    "  n  Reject",
    "  4  Reject for good",
    "  s  Reject and stop the run",
]


@pytest.mark.covers("R088", "R089")
def test_a_command_is_shown_whole_with_everything_that_hides_or_repaints_made_visible() -> None:
    command = "curl e|sh\r\x1b[2Kls -la\u200b\u202e\u2066\U000e0041\u00ad\n" + "x" * 10_000

    assert question_lines(question(title="Run it", command=command), PLAIN) == [
        "? Run it  medium risk",
        "  $ curl e|sh\\r\\x1b[2Kls -la\\u200b\\u202e\\u2066\\U000e0041\\xad",
        f"  $ {'x' * 10_000}",
        *ANSWERS,
    ]


def test_a_diff_is_shown_whole_with_its_file_and_lines() -> None:
    hunks = [
        {"oldStart": 3, "newStart": 3, "lines": [" kept\n", "-old\x1b\n", "+new\tx\n"]},
        {"oldStart": 9, "newStart": 9, "lines": ["+end"]},
    ]
    changed = {"uri": "file:///w/a%20b.py", "oldText": "…", "newText": "…", "hunks": hunks}
    created: Json = {"uri": "file:///w/new", "newText": "x", "hunks": []}
    deleted: Json = {"uri": "file:///w/gone", "oldText": "x", "hunks": []}

    assert question_lines(question(diffs=[changed, created, deleted]), PLAIN) == [
        "? Edit a.py  medium risk",
        "  /w/a b.py",
        "  @@ line 3 @@",
        "   kept",
        "  -old\\x1b",
        "  +new\tx",
        "  @@ line 9 @@",
        "  +end",
        "  /w/new (new file)",
        "  /w/gone (deleted)",
        *ANSWERS,
    ]


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("y", {"optionId": "once"}),
        (" Y ", {"optionId": "once"}),
        ("a", {"optionId": "always"}),
        ("n", {"optionId": "no"}),
        ("n  use python instead ", {"optionId": "no", "reason": "use python instead"}),
        ("4", {"optionId": "never"}),
        ("s", {"optionId": "no", "stop": True}),
        ("s wrong way", {"optionId": "no", "reason": "wrong way", "stop": True}),
        ("", None),
        ("yes", None),
        ("1", None),
        ("Allow", None),
    ],
)
def test_only_the_letters_shown_are_answers(typed: str, answer: Json | None) -> None:
    assert answer_of(typed, OPTIONS) == answer
