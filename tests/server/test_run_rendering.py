from __future__ import annotations

from typing import Any

import pytest

from pilothouse_cli.terminal.progress import Line, Progress, Words
from pilothouse_cli.terminal.style import PLAIN, Style, style_of
from pilothouse_cli.terminal.text import clip, duration, last_line, one_line, prose
from support.wire_events import BEGIN, START, TURN, begins, ends, failed, message, phase, result, said

Json = dict[str, Any]


COLOURED = Style(colour=True, unicode=True)
ASCII = Style(colour=False, unicode=False)


def told(*events: Json, live: bool = False, style: Style = PLAIN, width: int | None = None) -> list[str]:
    """What is shown of the events: lines as they are, words in quotation marks."""
    progress = Progress(style, live=live, place="/w", width=lambda: width)
    return [
        f'"{item.text}"' if isinstance(item, Words) else item.text
        for event in events
        for item in progress.event(event)
    ]


def test_a_live_run_shows_the_words_as_they_come_and_a_line_for_each_tool() -> None:
    assert told(
        START,
        phase("idle", "turn", "prompt"),
        TURN,
        message("user", "Hi"),
        BEGIN,
        said("Let me "),
        said("look.\n"),
        message("assistant", "Let me look.\n", calls=2),
        begins("c0", "Read a.py"),
        begins("c1", "Search 'x'", "search"),
        ends("c1", ms=3),
        ends("c0", ms=1500),
        message("toolResult", "text", toolCallId="c0", toolName="echo", isError=False),
        live=True,
    ) == [
        "pilothouse scripted/play.json in /w",
        '"Let me "',
        '"look.\n"',
        "  ✓ Search 'x'  3 ms",
        "  ✓ Read a.py  1.5 s",
    ]


@pytest.mark.covers("R267")
def test_a_logged_run_shows_whole_messages_but_neither_phases_nor_the_answer() -> None:
    assert told(
        START,
        phase("idle", "turn", "prompt"),
        BEGIN,
        said("Let me look."),
        message("assistant", "Let me look.", calls=1),
        BEGIN,
        said("Done."),
        message("assistant", "Done."),
        phase("turn", "idle", "completed"),
    ) == [
        "pilothouse scripted/play.json in /w",
        '"Let me look."',
    ]


def test_words_that_came_without_deltas_are_shown_when_the_message_ends() -> None:
    assert told(BEGIN, message("assistant", "All at once."), live=True) == ['"All at once."']


@pytest.mark.parametrize(
    ("outcome", "line"),
    [
        ("ok", "  ✓ Read a  12 ms"),
        ("error", "  ✗ Read a  12 ms"),
        ("denied", "  ⊘ Read a  denied"),
        ("blocked", "  ⊘ Read a  blocked"),
        ("aborted", "  ■ Read a  aborted"),
    ],
)
def test_each_outcome_has_a_sign_and_only_a_call_that_ran_has_a_time(outcome: str, line: str) -> None:
    assert told(begins("c", "Read a"), ends("c", outcome)) == [line]


def test_a_failed_tool_shows_the_beginning_of_its_message_and_a_failed_command_the_end_of_its_output() -> (
    None
):
    lines = "\n".join(f"line {n}" for n in range(1, 7))

    assert told(TURN, begins("c", "Read a"), ends("c", "error"), failed("c", lines)) == [
        "  ✗ Read a  12 ms",
        "    └ line 1",
        "      line 2",
        "      line 3",
        "      line 4",
    ]
    assert told(
        TURN,
        begins("c", "Run x", "execute"),
        ends("c", "error"),
        failed("c", f"{lines}\n-----\n\n[exit code 1]"),
    ) == [
        "  ✗ Run x  12 ms",
        "    └ line 4",
        "      line 5",
        "      line 6",
        "      [exit code 1]",
    ]


def test_in_a_batch_an_error_names_its_call_unless_the_call_was_shown_last() -> None:
    assert told(
        TURN,
        begins("c0", "Read a"),
        begins("c1", "Read b"),
        ends("c0", "error"),
        ends("c1", "error"),
        failed("c0", "no a"),
        failed("c1", "no b"),
    ) == ["  ✗ Read a  12 ms", "  ✗ Read b  12 ms", "    └ Read a:", "      no a", "    └ no b"]


def test_a_change_of_a_file_shows_counts_and_the_changed_lines_up_to_a_limit() -> None:
    change = {"type": "file_changed", "path": "/w/a", "linesAdded": 9, "linesRemoved": 1, "toolCallId": "c"}
    lines = [" kept\n", "-old\n", *(f"+new {n}\n" for n in range(9)), " kept\n"]
    hunks = [{"oldStart": 1, "newStart": 1, "lines": lines}]

    assert told(begins("c", "Edit a", "edit"), change, ends("c", details={"hunks": hunks})) == [
        "  ✓ Edit a  +9 −1  12 ms",
        "    -old",
        *(f"    +new {n}" for n in range(7)),
        "    … 2 more changed lines",
    ]


def test_todos_are_listed_when_the_list_is_new_and_counted_when_one_is_done() -> None:
    def todos(*status: str) -> Json:
        names = ("find", "mend", "check")
        return {
            "type": "todo_update",
            "todos": [{"content": name, "status": now} for name, now in zip(names, status, strict=True)],
        }

    assert told(
        begins("c", "Write 3 todos", "think"),
        todos("in_progress", "pending", "pending"),
        ends("c"),
        todos("completed", "in_progress", "pending"),
        todos("completed", "completed", "completed"),
    ) == ["  ▸ find", "  ☐ mend", "  ☐ check", "  ☑ 1 of 3 done  ▸ mend", "  ☑ 3 of 3 done"]


def test_retries_compactions_resumes_notices_and_delivered_messages_each_get_a_line() -> None:
    broken = {"kind": "connectionLost", "message": "the connection was lost", "retryable": True}
    assert told(
        {"type": "retry_scheduled", "attempt": 1, "maxAttempts": 3, "delayMs": 2000, "reason": "overloaded"},
        BEGIN,
        message("assistant", "Half an ans", stopReason="interrupted", error=broken),
        message("custom", "Go on where you stopped.", name="resume"),
        message("user", "also b", queueId="q1"),
        {"type": "compaction_start", "reason": "threshold"},
        {"type": "compaction_end", "reason": "threshold", "tokensBefore": 80000, "tokensAfter": 900},
        {"type": "compaction_end", "reason": "manual", "tokensBefore": 1, "tokensAfter": 1, "error": broken},
        {"type": "notice", "level": "info", "message": "for your information", "code": "a"},
        {"type": "notice", "level": "warning", "message": "take care", "code": "b"},
        {"type": "notice", "level": "error", "message": "this is bad", "code": "c"},
        {"type": "some_later_event", "x": 1},
    ) == [
        "  ↻ retry 1 of 3 in 2.0 s: overloaded",
        '"Half an ans"',
        "  ! the answer broke off: the connection was lost",
        "  · the model is told: Go on where you stopped.",
        "  › also b",
        "  · context compacted from 80,000 to 900 tokens",
        "  ! the context could not be compacted: the connection was lost",
        "  · for your information",
        "  ! take care",
        "  ✗ this is bad",
    ]


def test_nothing_a_model_or_tool_says_acts_on_the_terminal() -> None:
    nasty = "a\x1b[2Kb\rc\x07\u202ed"
    assert told(
        BEGIN,
        said(f"{nasty} 👩‍🚀 ⚠️\n\tok"),
        begins("c", f"Run {nasty}", "execute"),
        ends("c", "error"),
        failed("c", f"{nasty}\u200b"),
        {"type": "notice", "level": "info", "message": f"{nasty}\nmore", "code": "a"},
        live=True,
    ) == [
        '"a\\x1b[2Kb\\rc\\x07\\u202ed 👩‍🚀 ⚠️\n\tok"',
        "  ✗ Run a\\x1b[2Kb c\\x07\\u202ed  12 ms",
        "    └ a\\x1b[2Kb",
        "      c\\x07\\u202ed\\u200b",
        "  · a\\x1b[2Kb c\\x07\\u202ed more",
    ]


def test_a_tool_line_is_cut_at_the_width_of_the_terminal() -> None:
    title = "Run " + "x" * 100
    assert told(begins("c", title), ends("c"), width=60) == [f"  ✓ Run {'x' * 31}…  12 ms"]


def test_colours_are_used_only_where_the_style_has_them_and_signs_have_plain_forms() -> None:
    events = (begins("c", "Read a"), ends("c"))

    assert told(*events, style=COLOURED) == ["  \x1b[32m✓\x1b[0m Read a  \x1b[2m12 ms\x1b[0m"]
    assert told(*events, style=ASCII) == ["  + Read a  12 ms"]


class FakeStream:
    def __init__(self, *, tty: bool, encoding: str = "utf-8") -> None:
        self.encoding = encoding
        self._tty = tty

    def isatty(self) -> bool:
        return self._tty


@pytest.mark.parametrize(
    ("stream", "environment", "style"),
    [
        (FakeStream(tty=True), {}, COLOURED),
        (FakeStream(tty=True), {"NO_COLOR": "1"}, PLAIN),
        (FakeStream(tty=True), {"NO_COLOR": ""}, COLOURED),
        (FakeStream(tty=True), {"TERM": "dumb"}, PLAIN),
        (FakeStream(tty=False), {"FORCE_COLOR": "1"}, PLAIN),
        (FakeStream(tty=False, encoding="ascii"), {}, ASCII),
    ],
)
def test_colours_need_a_terminal_and_no_NO_COLOR(  # noqa: N802
    stream: FakeStream, environment: dict[str, str], style: Style
) -> None:
    assert style_of(stream, environment) == style


@pytest.mark.covers("R274")
@pytest.mark.parametrize(
    ("given", "lines"),
    [
        (
            result("completed", usage={"input": 1234, "output": 56, "cost": "0.0102"}),
            ["✓ completed  2 turns · 1 tool call · 1,234 tokens in · 56 tokens out · $0.0102 · 3.4 s"],
        ),
        (result("aborted", usage=None), ["■ stopped  2 turns · 1 tool call · 3.4 s"]),
        (
            result("error", error={"kind": "auth", "message": "No key\nwas given.", "retryable": False}),
            ["✗ failed  2 turns · 1 tool call · 3.4 s", "  No key was given."],
        ),
        (
            result("maxTurns", error={"kind": "maxTurns", "message": "The limit is 2.", "retryable": False}),
            ["! stopped at the turn limit  2 turns · 1 tool call · 3.4 s", "  The limit is 2."],
        ),
        (
            result("length", returned=[{"queueId": "q", "kind": "steering", "content": []}]),
            ["! cut at the output limit  2 turns · 1 tool call · 3.4 s", "  1 queued message not delivered"],
        ),
        (result("refused"), ["! refused by the model  2 turns · 1 tool call · 3.4 s"]),
    ],
)
def test_the_end_of_a_run_says_how_it_ended_and_what_it_took(given: Json, lines: list[str]) -> None:
    progress = Progress(PLAIN, live=True)
    for event in (
        TURN,
        begins("c", "x"),
        {"type": "turn_start", "turn": 2},
        {"type": "agent_end", "durationMs": 3400},
    ):
        progress.event(event)

    assert progress.result(given) == [Line(line) for line in lines]


def test_a_run_that_never_began_has_no_numbers() -> None:
    assert Progress(PLAIN, live=True).result(result("aborted")) == [Line("■ stopped")]


@pytest.mark.parametrize(
    ("text", "width", "clipped"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdef", 5, "abcd…"),
        ("漢字漢", 6, "漢字漢"),
        ("漢字漢", 5, "漢字…"),
        ("漢字漢", 4, "漢…"),
    ],
)
def test_text_is_clipped_by_columns(text: str, width: int, clipped: str) -> None:
    assert clip(text, width) == clipped


def test_small_texts() -> None:
    assert [duration(ms) for ms in (0, 99.4, 100, 1234, 9_950, 59_400, 61_000, 3_600_000)] == [
        "0 ms",
        "99 ms",
        "0.1 s",
        "1.2 s",
        "9.9 s",
        "59 s",
        "1 min 01 s",
        "60 min 00 s",
    ]
    assert [last_line(text) for text in ("", "\n \n", "a\nb\n", "10%\r50%\r", "a\x1bb")] == [
        "",
        "",
        "b",
        "50%",
        "a\\x1bb",
    ]
    assert one_line("a\n  b\tc\x00") == "a b c\\x00"
    assert prose("a\r\nb\rc\x7f") == "a\nb\\rc\\x7f"
