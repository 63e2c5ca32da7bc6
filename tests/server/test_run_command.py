"""The command against a scripted server: what it sends, shows and ends with."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pilothouse_cli.run.command import exit_code, run_prompt
from pilothouse_cli.run.options import RunOptions
from pilothouse_cli.run.stops import Stop
from support.rpc_peer import Plan, Step, peer, received
from support.wire_events import BEGIN, START, TURN, message, result, said

SESSION: list[Step] = [{"answer": {"sessionId": "s1", "epoch": "e"}}]
ABORTED: list[Step] = [
    {"answer": result("aborted", text="so far"), "to": "agent/prompt"},
    {"answer": {"aborted": True, "returned": []}},
]

Run = Callable[..., tuple[int, str, str]]


def event(params: dict[str, Any]) -> Step:
    return {"send": {"method": "agent/event", "params": params}}


@pytest.fixture
def run(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Run:
    """Runs the prompt Hi with a server that has this plan: exit code, standard output, standard error."""

    def act(plan: Plan, **options: Any) -> tuple[int, str, str]:
        server = peer(tmp_path, {"session/new": SESSION, **plan})
        defaults: dict[str, Any] = {"text": "Hi", "cwd": tmp_path}
        code = run_prompt(RunOptions(**{**defaults, **options}), server=server)
        out, err = capfd.readouterr()
        return code, out, err

    return act


def test_the_conversation_declares_what_was_asked_for_and_ends_the_server(run: Run, tmp_path: Path) -> None:
    settings = {"run.maxTurns": 3, "retry.baseDelay": 0.01}
    code, _, _ = run(
        {"agent/prompt": [{"answer": result("completed")}]},
        model="scripted/x.json",
        approve="edits",
        settings=settings,
    )

    folder = {"uri": tmp_path.as_uri(), "name": tmp_path.name}
    about_us = {
        "processId": os.getpid(),
        "clientInfo": {"name": "pilothouse-headless"},
        "rootUri": folder["uri"],
        "workspaceFolders": [folder],
        "capabilities": {},
        "initializationOptions": {"pilothouse": {"settings": settings}},
    }
    session = {"cwd": str(tmp_path), "mode": "edits", "model": "scripted/x.json"}
    assert code == 0
    assert received(tmp_path) == [
        {"id": 1, "method": "initialize", "params": about_us},
        {"method": "initialized", "params": {}},
        {"id": 2, "method": "session/new", "params": session},
        {"id": 3, "method": "agent/prompt", "params": {"sessionId": "s1", "text": "Hi"}},
        {"id": 4, "method": "shutdown", "params": {}},
        {"method": "exit", "params": {}},
    ]


@pytest.mark.covers("R085")
@pytest.mark.parametrize(("approve", "mode"), [(None, "none"), ("ask", "ask"), ("all", "all")])
def test_without_a_terminal_nothing_is_offered_to_answer_and_the_default_is_none(
    run: Run, tmp_path: Path, approve: str | None, mode: str
) -> None:
    run({"agent/prompt": [{"answer": result("completed")}]}, approve=approve)

    initialize, _, session = received(tmp_path)[:3]
    assert initialize["params"]["initializationOptions"] == {"pilothouse": {"settings": {}}}
    assert session["params"] == {"cwd": str(tmp_path), "mode": mode}


def test_json_is_every_event_as_it_came_and_last_the_result(run: Run) -> None:
    events = [
        {**params, "sessionId": "s1", "seq": number}
        for number, params in enumerate([START, TURN, said("Dø")], 1)
    ]
    ending = result("maxTurns", usage={"input": 1})
    plan: Plan = {"agent/prompt": [*map(event, events), {"answer": ending}]}
    code, out, err = run(plan, json=True)

    assert [json.loads(line) for line in out.splitlines()] == [*events, {"type": "result", **ending}]
    assert (code, err) == (3, "")


def test_standard_output_has_the_answer_alone_and_standard_error_the_rest(run: Run) -> None:
    events = [START, TURN, BEGIN, said("Done."), message("assistant", "Done.")]
    code, out, err = run({"agent/prompt": [*map(event, events), {"answer": result("completed")}]})

    assert (code, out) == (0, "Done.\n")
    assert err.splitlines()[1:] == ["✓ completed  1 turn · 0 tool calls · 0 ms"]


def test_the_answer_is_not_changed_on_its_way_to_a_pipe(run: Run) -> None:
    text = "\x1b[31mred\r\n\u202e\ttab\n"
    _, out, _ = run({"agent/prompt": [{"answer": result("completed", text=text)}]}, quiet=True)

    assert out == text


REFUSAL = {"code": -31005, "message": "No model is chosen.", "data": {"kind": "unknownModel"}}


@pytest.mark.parametrize(
    ("plan", "kind", "words"),
    [
        ({"session/new": [{"error": REFUSAL}]}, "unknownModel", "No model is chosen."),
        (
            {"agent/prompt": [{"error": {"code": -32602, "message": "text: empty"}}]},
            "internal",
            "text: empty",
        ),
        (
            {"initialize": [{"stderr": "no such module"}, {"exit": 1}]},
            "internal",
            "The server ended with exit code 1. Its last words: no such module",
        ),
        ({"agent/prompt": [{"exit": 9}]}, "internal", "The server ended with exit code 9."),
    ],
)
def test_without_a_result_the_last_line_says_why_and_the_exit_code_is_1(
    run: Run, plan: Plan, kind: str, words: str
) -> None:
    code, out, err = run(plan, json=True)

    error = {"kind": kind, "message": words, "retryable": False}
    assert json.loads(out) == {
        "type": "result",
        "stopReason": "error",
        "text": "",
        "returned": [],
        "error": error,
    }
    assert (code, err) == (1, f"pilothouse: {words}\n")


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_the_first_signal_aborts_the_run_and_its_result_is_still_shown(
    run: Run, tmp_path: Path, number: int, code: int
) -> None:
    plan: Plan = {"agent/prompt": [{"signal": number}], "agent/abort": ABORTED}

    assert run(plan, quiet=True) == (code, "so far\n", "")
    assert {"id": 4, "method": "agent/abort", "params": {"sessionId": "s1"}} in received(tmp_path)


def test_the_second_signal_kills_the_server(run: Run, tmp_path: Path) -> None:
    plan: Plan = {"agent/prompt": [{"signal": signal.SIGINT}], "agent/abort": [{"signal": signal.SIGINT}]}
    code, out, err = run(plan)

    assert (code, out) == (130, "")
    assert err.splitlines() == ["■ stopping; press Ctrl-C again to end at once", "■ stopped"]
    assert received(tmp_path)[-1]["method"] == "agent/abort"


def test_a_signal_before_there_is_a_session_ends_the_command(run: Run, tmp_path: Path) -> None:
    code, out, _ = run({"session/new": [{"signal": signal.SIGINT}]}, json=True)

    assert (code, json.loads(out)) == (
        130,
        {"type": "result", "stopReason": "aborted", "text": "", "returned": []},
    )
    assert [sent["method"] for sent in received(tmp_path)][2:] == [
        "session/new",
        "$/cancelRequest",
        "shutdown",
        "exit",
    ]


def test_the_time_limit_aborts_the_run_and_counts_as_stopped_early(run: Run) -> None:
    code, out, err = run({"agent/prompt": [], "agent/abort": ABORTED}, timeout=0.01)

    assert (code, out) == (3, "so far\n")
    assert err.splitlines() == ["■ the time that --timeout gives is over; stopping", "■ stopped"]


@pytest.mark.parametrize(
    ("stop_reason", "stop", "code"),
    [
        ("completed", None, 0),
        ("completed", Stop.INTERRUPTED, 0),
        ("error", None, 1),
        ("maxTurns", None, 3),
        ("length", None, 3),
        ("refused", None, 3),
        ("aborted", None, 130),
        ("aborted", Stop.INTERRUPTED, 130),
        ("aborted", Stop.TIMED_OUT, 3),
        ("aborted", Stop.READER_GONE, 3),
    ],
)
def test_the_exit_code_says_how_the_run_ended(stop_reason: str, stop: Stop | None, code: int) -> None:
    assert exit_code(result(stop_reason), stop) == code
