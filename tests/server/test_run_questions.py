"""A question on a terminal: what is shown of it, and what counts as its answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from pilothouse_cli.run.approval import TerminalApprover
from pilothouse_cli.run.question import answer_of, question
from pilothouse_cli.terminal.screen import Screen
from pilothouse_cli.terminal.style import PLAIN, Style
from pilothouse_cli.terminal.text import columns

Json = dict[str, Any]


OPTIONS = [
    {"id": "once", "label": "Allow", "kind": "allowOnce"},
    {"id": "file", "label": "Allow for this file", "kind": "allowAlways", "scope": "any edit of a.py"},
    {"id": "all", "label": "Allow for this session", "kind": "allowAlways", "scope": "any edit"},
    {"id": "no", "label": "Reject", "kind": "rejectOnce"},
    {"id": "never", "label": "Reject for good", "kind": "rejectAlways"},
]


def asked(**fields: Any) -> Json:
    return {"approvalId": "a", "title": "Edit a.py", "risk": "medium", "options": OPTIONS, **fields}


KEYS = [
    "  y  Allow",
    "  a  Allow for this file: any edit of a.py",
    "  b  Allow for this session: any edit",
    "  n  Reject",
    "  d  Reject for good",
    "  r  Reject and say why",
    "  s  Reject and stop the run",
]


@pytest.mark.covers("R088", "R089")
def test_a_command_is_shown_whole_with_everything_that_hides_or_repaints_made_visible() -> None:
    command = "curl e|sh\r\x1b[2Kls -la\u200b\u202e\u2066\U000e0041\u00ad\n" + "x" * 10_000

    assert question(asked(title="Run it", command=command), PLAIN) == [
        "  $ curl e|sh\\r\\x1b[2Kls -la\\u200b\\u202e\\u2066\\U000e0041\\xad",
        f"  $ {'x' * 10_000}",
        "? Run it  medium risk",
        *KEYS,
    ]


def test_a_diff_is_shown_whole_with_its_file_and_lines() -> None:
    hunks = [
        {"oldStart": 3, "newStart": 3, "lines": [" kept\n", "-old\x1b\n", "+new\tx\n"]},
        {"oldStart": 9, "newStart": 9, "lines": ["+end"]},
    ]
    changed = {"uri": "file:///w/a%20b.py", "oldText": "…", "newText": "…", "hunks": hunks}
    created: Json = {"uri": "file:///w/new", "newText": "x", "hunks": []}
    deleted: Json = {"uri": "file:///w/gone", "oldText": "x", "hunks": []}

    assert question(asked(diffs=[changed, created, deleted]), PLAIN) == [
        "  /w/a b.py",
        "  @@ line 3 @@",
        "   kept",
        "  -old\\x1b",
        "  +new\tx",
        "  @@ line 9 @@",
        "  +end",
        "  /w/new (new file)",
        "  /w/gone (deleted)",
        "? Edit a.py  medium risk",
        *KEYS,
    ]


def new_file(lines: int) -> Json:
    hunk = {"oldStart": 0, "newStart": 1, "lines": [f"+line {n}\n" for n in range(lines)]}
    return asked(diffs=[{"uri": "file:///w/new", "newText": "…", "hunks": [hunk]}])


@pytest.mark.covers("R273")
def test_what_does_not_fit_is_cut_and_a_key_shows_all_of_it() -> None:
    assert question(new_file(300), PLAIN, width=80, height=24) == [
        "  /w/new (new file)",
        "  @@ line 1 @@",
        *(f"  +line {n}" for n in range(9)),
        "  … 291 more lines",
        "? Edit a.py  medium risk",
        *KEYS,
        "  v  Show all of it",
    ]


@pytest.mark.covers("R273")
@pytest.mark.parametrize("style", [PLAIN, Style(colour=True, unicode=True)])
@pytest.mark.parametrize(("width", "height"), [(80, 24), (40, 24), (200, 60), (80, 12)])
@pytest.mark.parametrize(
    "params",
    [
        new_file(300),
        asked(command="\n".join(f"step {n}" for n in range(400))),
        asked(command="x" * 10_000),
        asked(command="漢" * 5_000, title="Run " + "漢" * 300),
        asked(command="a\tb\n" * 60),
        asked(command="ls", cut=True),
    ],
    ids=["diff", "lines", "long", "wide", "tabs", "cut"],
)
def test_title_risk_and_keys_stay_on_the_terminal_with_what_is_asked_about(
    params: Json, width: int, height: int, style: Style
) -> None:
    lines = question(params, style, width=width, height=height)
    plain = question(params, PLAIN, width=width, height=height)
    rows = sum(max(1, -(-columns(line.expandtabs()) // width)) for line in plain)

    # One row is left for the answer; a terminal lower than the keys themselves has to scroll.
    assert rows + 2 <= max(height, len(KEYS) + 8)
    assert (plain[-1], plain[-len(KEYS) - 2].endswith("  medium risk")) == ("  v  Show all of it", True)
    assert len(lines) == len(plain)


@pytest.mark.covers("R273")
def test_a_command_does_not_stand_again_in_an_option_beyond_a_line() -> None:
    command = "python3 -c 'print(1)' && " * 20
    always = {
        "id": "a",
        "label": "Allow for this session",
        "kind": "allowAlways",
        "scope": f"only: {command}",
    }

    lines = question(asked(command=command, options=[always]), PLAIN, width=80, height=24)
    assert lines[2:] == [
        "  a  Allow for this session: only: python3 -c 'print(1)' && python3 -c 'print(…",
        "  r  Reject and say why",
        "  s  Reject and stop the run",
        "  v  Show all of it",
    ]


def test_what_fits_has_no_key_to_show_more() -> None:
    assert question(asked(command="ls"), PLAIN, width=80, height=24) == [
        "  $ ls",
        "? Edit a.py  medium risk",
        *KEYS,
    ]


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("y", {"optionId": "once"}),
        (" Y ", {"optionId": "once"}),
        ("y\n", {"optionId": "once"}),
        ("a", {"optionId": "file"}),
        ("b", {"optionId": "all"}),
        ("n", {"optionId": "no"}),
        ("n  use python instead ", {"optionId": "no", "reason": "use python instead"}),
        ("d", {"optionId": "never"}),
        ("s", {"optionId": "no", "stop": True}),
        ("s wrong way", {"optionId": "no", "reason": "wrong way", "stop": True}),
        ("", None),
        ("yes", None),
        ("yy", None),
        ("1", None),
        ("3", None),
        ("Allow", None),
        ("\x1b[A", None),
        ("\x1b[B", None),
        ("\x1ba", None),
        ("\x00", None),
    ],
)
def test_only_the_letters_shown_are_answers(typed: str, answer: Json | None) -> None:
    assert answer_of(typed, OPTIONS) == answer


@pytest.mark.covers("R273")
def test_each_of_many_options_has_a_letter_of_its_own() -> None:
    options = [
        {"id": f"{kind}{n}", "label": "x", "kind": kind}
        for kind in ("allowOnce", "allowAlways", "rejectOnce", "rejectAlways")
        for n in range(3)
    ]
    keys = [line[2] for line in question(asked(options=options), PLAIN)[1:]]

    assert len(set(keys)) == len(keys) == 14
    assert all(key.isalpha() for key in keys)
    assert [answer_of(key, options) for key in keys[:12]] == [{"optionId": each["id"]} for each in options]


class Typed:
    """A keyboard at which this is typed; an error is raised."""

    def __init__(self, *typed: str | OSError | None, lines: Sequence[str | None] = ()) -> None:
        self._typed = list(typed)
        self._lines = list(lines)
        self.asked = 0

    def forget(self) -> None:
        self.asked += 1

    async def keys(self) -> str | None:
        typed = self._typed.pop(0)
        if isinstance(typed, OSError):
            raise typed
        return typed

    async def line(self) -> str | None:
        return self._lines.pop(0)


async def answered(keyboard: Typed, params: Json, **options: Any) -> tuple[Json, str]:
    """The answer, and what was written behind the question."""
    written: list[str] = []
    screen = Screen(written.append, width=lambda: 80, height=lambda: 24)
    answer = await TerminalApprover(screen, PLAIN, keyboard, **options)(params)
    return answer, "".join(written).partition("stop the run\n")[2]


async def test_a_key_that_is_no_answer_is_explained_and_silence_means_no() -> None:
    assert await answered(Typed("x", "\x1b[A", "\n", None), asked(command="ls")) == (
        {"optionId": "no"},
        "  › x\n  Press one of the keys shown.\n  › \n  › \n  › ",
    )


async def test_a_reason_is_asked_for_by_a_key_of_its_own() -> None:
    assert await answered(Typed("r", lines=["use python\t "]), asked(command="ls")) == (
        {"optionId": "no", "reason": "use python"},
        "  › r\n  why › ",
    )
    assert (await answered(Typed("r", lines=[None]), asked(command="ls")))[0] == {"optionId": "no"}


@pytest.mark.covers("R273")
async def test_the_whole_is_shown_on_demand_and_asked_for_where_the_server_has_cut_it() -> None:
    async def whole(params: Json) -> Json:
        return {**params, "command": "one\ntwo", "cut": False}

    answer, written = await answered(Typed("v", "y"), asked(command="one", cut=True), whole=whole)

    assert answer == {"optionId": "once"}
    assert written == "\n".join(
        [
            "  v  Show all of it",
            "  › v",
            "",
            "  $ one",
            "  $ two",
            "? Edit a.py  medium risk",
            *KEYS,
            "  › y",
            "",
        ]
    )


@pytest.mark.covers("R268")
async def test_a_terminal_that_cannot_be_asked_is_said_once_and_is_nobody_to_ask() -> None:
    written: list[str] = []
    keyboard = Typed(OSError(22, "Invalid argument"))
    approver = TerminalApprover(Screen(written.append), PLAIN, keyboard)
    answers = [await approver(asked(command="ls")) for _ in range(3)]

    assert answers == [{"optionId": "no", "reason": "nobody can be asked here"}] * 3
    assert "".join(written).count("pilothouse: nobody can be asked on this terminal: Invalid argument\n") == 1
    assert (approver.asks, keyboard.asked) == (False, 1)
