from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pilothouse_cli.run.text_view import QuietView, TextView
from pilothouse_cli.terminal.screen import Screen
from pilothouse_cli.terminal.status import Status
from pilothouse_cli.terminal.style import PLAIN
from pilothouse_cli.terminal.text import columns
from support.wire_events import BEGIN, START, TURN, begins, ends, message, phase, result, said

Json = dict[str, Any]


def on_screen(act: Callable[[Screen], None]) -> str:
    written: list[str] = []
    act(Screen(written.append))
    return "".join(written)


def test_words_and_lines_are_kept_apart_by_a_blank_line() -> None:
    def act(screen: Screen) -> None:
        screen.line("one")
        screen.line("two")
        screen.say("some ")
        screen.say("words")
        screen.say("")
        screen.line("three")
        screen.say("more\n")
        screen.line("four")
        screen.say("end")
        screen.end()

    assert on_screen(act) == "one\ntwo\n\nsome words\n\nthree\n\nmore\n\nfour\n\nend\n"


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_words_are_wrapped_between_words_however_they_come_but_code_is_left_alone(size: int) -> None:
    text = (
        "The average of no legs at all was a division by zero.\n\n"
        "  an indented line that is longer than the terminal\n"
        "```\nls -la | grep something-long-and-more\n```\n"
        "漢字漢字漢字 漢字漢字漢字 averyveryverylongwordthatfitsnowhere end"
    )
    written: list[str] = []
    screen = Screen(written.append, width=lambda: 24)
    for start in range(0, len(text), size):
        screen.say(text[start : start + size])
    screen.end()

    assert "".join(written).split("\n") == [
        "The average of no legs",
        "at all was a division by",
        "zero.",
        "",
        "  an indented line that is longer than the terminal",
        "```",
        "ls -la | grep something-long-and-more",
        "```",
        "漢字漢字漢字",
        "漢字漢字漢字",
        "averyveryverylongwordthatfitsnowhere",
        "end",
        "",
    ]


def test_the_status_is_taken_away_before_anything_else_is_written() -> None:
    def act(screen: Screen) -> None:
        screen.status("busy 1")
        screen.status("busy 1")
        screen.status("busy 2")
        screen.line("one")
        screen.status("busy 3")
        screen.say("word")
        screen.status("")
        screen.status("busy 4")
        screen.end()

    erase = "\r\x1b[K"
    assert on_screen(act) == f"busy 1{erase}busy 2{erase}one\nbusy 3{erase}\nword\nbusy 4{erase}"


def test_no_status_is_shown_while_a_question_is_open() -> None:
    def act(screen: Screen) -> None:
        screen.say("word")
        screen.ask("> ")
        screen.status("busy")
        screen.answered("y")
        screen.line("after yes")
        screen.ask("> ")
        screen.entered()
        screen.line("after a line with its end")
        screen.ask("> ")
        screen.answered(None)
        screen.line("after nothing")

    assert on_screen(act) == "word\n> y\nafter yes\n> after a line with its end\n> \nafter nothing\n"


def test_the_status_says_the_phase_what_runs_and_for_how_long() -> None:
    status = Status(PLAIN, 0.0)
    seen: list[str] = [status.text(0.0, 60)]

    def at(now: float, event: Json, *, seconds: float = 0) -> None:
        status.event(event, now)
        seen.append(status.text(now + seconds, 60))

    call = {"kind": "toolCall", "contentIndex": 0, "text": "", "toolCallId": "c0", "toolName": "bash"}
    at(1, phase("idle", "turn", "prompt"))
    at(1, TURN, seconds=2)
    at(3, {"type": "message_update", "messageId": "m", "delta": {"kind": "thinking", "text": "hm"}})
    at(4, said("words"))
    at(5, {"type": "message_update", "messageId": "m", "delta": call})
    at(6, begins("c0", "Run x", "execute"), seconds=3)
    at(10, {"type": "tool_execution_update", "toolCallId": "c0", "progress": {"text": "one\ntwo\n\n"}})
    at(10, begins("c1", "Read y"))
    at(11, ends("c0"))
    at(12, ends("c1"))
    at(12, message("toolResult", "x"))
    at(13, {"type": "retry_scheduled", "attempt": 1, "maxAttempts": 3, "delayMs": 2000, "reason": "x"})
    at(14, phase("retry", "turn", "retry"))
    at(15, phase("turn", "compaction", "threshold"))
    at(16, phase("turn", "idle", "completed"))

    assert [text[2:] for text in seen] == [
        "starting",
        "waiting for the model",
        "turn 1 · waiting for the model · 2 s",
        "turn 1 · thinking",
        "",
        "turn 1 · preparing bash",
        "Run x · 3 s",
        "Run x · 4 s │ two",
        "2 tools: Run x, Read y · 4 s │ two",
        "Read y · 5 s",
        "turn 1 · preparing bash · 6 s",
        "turn 1 · waiting for the model",
        "turn 1 · retry: 1 of 3, waiting 2.0 s",
        "turn 1 · waiting for the model",
        "turn 1 · compacting the context",
        "",
    ]


def test_the_status_never_takes_more_than_its_columns() -> None:
    status = Status(PLAIN, 0.0)
    status.event(begins("c", "Run 漢字漢字漢字漢字漢字漢字", "execute"), 0)

    assert [columns(status.text(0.0, width)) for width in (12, 13, 20, 80)] == [11, 13, 19, 30]


def test_a_status_may_have_all_columns_but_the_last() -> None:
    assert Screen(print, width=lambda: 24).room == 23


RUN = [START, BEGIN, said("Done."), message("assistant", "Done."), {"type": "agent_end", "durationMs": 5}]


def test_in_a_log_the_answer_comes_once_on_standard_output_and_then_how_it_ended() -> None:
    written: list[str] = []
    view = TextView(
        Screen(written.append), PLAIN, live=False, answer=lambda text: written.append(f"<{text}>"), place="/w"
    )
    for event in [TURN, *RUN]:
        view.event(event)
    view.result(result("completed"))

    assert written == [
        "pilothouse scripted/play.json in /w\n",
        "<Done.>",
        "✓ completed  1 turn · 0 tool calls · 5 ms\n",
    ]


async def test_on_one_terminal_the_answer_that_was_streamed_is_not_repeated() -> None:
    written: list[str] = []
    view = TextView(Screen(written.append), PLAIN, live=True, answer=None, place="/w", clock=lambda: 0.0)
    for event in [TURN, *RUN]:
        view.event(event)
    view.stopping("stopping")
    view.result(result("completed"))

    erase = "\r\x1b[K"
    assert "".join(written) == (
        "⠋ turn 1 · starting"
        f"{erase}pilothouse scripted/play.json in /w\n⠋ turn 1 · starting"
        f"{erase}\nDone.\n\n■ stopping\n✓ completed  1 turn · 0 tool calls · 5 ms\n"
    )


@pytest.mark.parametrize(
    ("given", "written"),
    [
        (result("completed"), ["<Done.>"]),
        (
            result("error", error={"kind": "auth", "message": "No key.", "retryable": False}),
            ["<Done.>", "pilothouse: No key.\n"],
        ),
    ],
)
def test_a_quiet_run_shows_the_answer_and_what_went_wrong(given: Json, written: list[str]) -> None:
    seen: list[str] = []
    view = QuietView(Screen(seen.append), lambda text: seen.append(f"<{text}>"))
    for event in RUN:
        view.event(event)
    view.stopping("stopping")
    view.result(given)

    assert seen == written
