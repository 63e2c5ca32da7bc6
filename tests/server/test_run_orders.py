"""The orders of kernel.md E3 as they leave the command, the same from the script and from the wire."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from support.door import Door
from support.wire_models import MODELS, Model, call
from support.wire_run import Outcome, run_json, settled_home

pytestmark = pytest.mark.slow

Turn = dict[str, Any]


def todos(*status: str) -> list[Turn]:
    return [{"content": f"step {number}", "status": now} for number, now in enumerate(status, 1)]


START = ["AS", "PH idle→turn", "TS1", "MS(U)", "ME(U,Hi)"]
ANSWER = ["MS(A)", "MU", "ME(A,stop)"]
CALLS = ["MS(A)", "MU", "ME(A,toolUse)"]


def end(stop: str = "completed") -> list[str]:
    return ["PH turn→idle", f"AE {stop}"]


def one_call(outcome: str, *effects: str) -> list[str]:
    """A turn with the call c1, from its start to its end; the last turn answers."""
    kind = "ok" if outcome == "ok" else "error"
    events = ["XS c1", *effects, f"XE c1 {outcome}", "MS(R)", f"ME(R,c1 {kind})"]
    return [*START, *CALLS, *events, "TE1", "TS2", *ANSWER, "TE2", *end()]


@dataclass(frozen=True)
class Case:
    name: str
    rules: tuple[str, ...]
    turns: list[Turn]
    lines: list[str]
    code: int = 0
    options: tuple[str, ...] = ()
    text: str = "Done."
    doors: dict[str, str] = field(default_factory=dict[str, str])
    """A named pipe that is opened, by the line after which it is."""


DONE: Turn = {"text": ["Do", "ne."]}
BROKEN = {"message": "This request is not valid.", "code": "invalid_request_error"}

CASES = [
    Case("plain", ("E3", "E6", "K1", "K132"), [DONE], [*START, *ANSWER, "TE1", *end()]),
    Case(
        "one tool",
        ("E3",),
        [{"text": "Let me see.", "calls": [call("c1", "read_file", path="a.txt")]}, DONE],
        one_call("ok"),
    ),
    Case(
        "three overlapping tools",
        ("E3", "T2", "T3", "K15", "K18"),
        [
            {
                "calls": [
                    call("c1", "bash", command="grep -q x first"),
                    call("c2", "bash", command="grep -q x second"),
                    call("c3", "read_file", path="a.txt"),
                ]
            },
            DONE,
        ],
        [
            *[*START, *CALLS, "XS c1", "XS c2", "XS c3", "XE c3 ok", "XE c2 ok", "XE c1 ok"],
            *["MS(R)", "ME(R,c1 ok)", "MS(R)", "ME(R,c2 ok)", "MS(R)", "ME(R,c3 ok)", "TE1"],
            *["TS2", *ANSWER, "TE2", *end()],
        ],
        doors={"XE c3 ok": "second", "XE c2 ok": "first"},
    ),
    Case("unknown tool", ("E3", "T5"), [{"calls": [call("c1", "fly")]}, DONE], one_call("error")),
    Case(
        "invalid arguments",
        ("E3", "T5"),
        [{"calls": [call("c1", "read_file", offset="near the end")]}, DONE],
        one_call("error"),
    ),
    Case(
        "failing tool",
        ("E3", "T5"),
        [{"calls": [call("c1", "read_file", path="missing.txt")]}, DONE],
        one_call("error"),
    ),
    Case(
        "a change of a file",
        ("E2", "E3"),
        [
            {"calls": [call("c1", "edit_file", path="a.txt", edits=[{"old_text": "one", "new_text": "1"}])]},
            DONE,
        ],
        one_call("ok", "FC modify"),
    ),
    Case(
        "provider error before the first text",
        ("E3", "K82"),
        [{"error": {"status": 400, **BROKEN}}],
        [*START, "MS(A)", "ME(A,error)", "TE1", *end("error")],
        code=1,
        text="",
    ),
    Case(
        "provider error after the first text",
        ("E3", "L6", "K74"),
        [{"text": ["Par", "t"], "error": {"afterDeltas": 2, **BROKEN}}],
        [*START, "MS(A)", "MU", "ME(A,error)", "TE1", *end("error")],
        code=1,
        text="Part",
    ),
    Case(
        "retry",
        ("E3", "L7", "K78"),
        [
            {"error": {"status": 503, "message": "overloaded"}},
            {"error": {"status": 529, "message": "overloaded"}},
            DONE,
        ],
        [
            *[
                *START,
                "PH turn→retry",
                "RS 1/3",
                "PH retry→turn",
                "PH turn→retry",
                "RS 2/3",
                "PH retry→turn",
            ],
            *[*ANSWER, "TE1", *end()],
        ],
    ),
    Case(
        "cut stream with resume",
        ("E3", "L6", "K76"),
        [{"text": ["Do"], "cut": True}, {"text": "ne."}],
        [
            *[*START, "MS(A)", "MU", "ME(A,interrupted)", "TE1"],
            *["TS2", "MS(C)", "ME(C,resume)", "PH turn→retry", "RS 1/3", "PH retry→turn"],
            *[*ANSWER, "TE2", *end()],
        ],
        text="ne.",
    ),
    Case(
        "todo guard",
        ("E3", "L8"),
        [
            {"calls": [call("c1", "todo_write", todos=todos("completed", "pending"))]},
            {"text": "That is all."},
            {"calls": [call("c2", "complete_step", index=2)]},
            DONE,
        ],
        [
            *[*START, *CALLS, "XS c1", "TU 2", "XE c1 ok", "MS(R)", "ME(R,c1 ok)", "TE1"],
            *["TS2", *ANSWER, "TE2"],
            *[
                "TS3",
                "MS(C)",
                "ME(C,guard)",
                *CALLS,
                "XS c2",
                "TU 2",
                "XE c2 ok",
                "MS(R)",
                "ME(R,c2 ok)",
                "TE3",
            ],
            *["TS4", *ANSWER, "TE4", *end()],
        ],
    ),
    Case(
        "max turns",
        ("E3",),
        [{"text": "Let me see.", "calls": [call("c1", "read_file", path="a.txt")]}, DONE],
        [*START, *CALLS, "XS c1", "XE c1 ok", "MS(R)", "ME(R,c1 ok)", "TE1", *end("maxTurns")],
        code=3,
        options=("--max-turns", "1"),
        text="Let me see.",
    ),
]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("one\ntwo\n")
    return folder


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=pytest.mark.covers(*case.rules), id=case.name) for case in CASES]
)
async def test_a_run_tells_its_events_in_the_order_that_the_contract_says(
    case: Case, model: Model, project: Path, tmp_path: Path
) -> None:
    doors = {name: Door(project / name) for name in case.doors.values()}
    async with model(case.turns, tmp_path) as (name, variables):
        outcome = await run_json(
            *("--model", name, "--cwd", str(project), "--approve", "all", "--set", "retry.baseDelay=0.01"),
            *(*case.options, "-m", "Hi"),
            environment={**settled_home(tmp_path), **variables},
            on={line: doors[name].open for line, name in case.doors.items()},
        )

    assert outcome.lines == case.lines
    assert (outcome.code, outcome.result["text"]) == (case.code, case.text)
    agrees_with_itself(outcome)


def agrees_with_itself(outcome: Outcome) -> None:
    """E2, E6: numbers rise by one; the result is what agent_end said."""
    assert [event["seq"] for event in outcome.events] == list(range(1, len(outcome.events) + 1))
    last, session, run = outcome.events[-1], outcome.result["sessionId"], outcome.result["runId"]
    assert {(event["sessionId"], event["runId"]) for event in outcome.events} == {(session, run)}
    told = {key: last[key] for key in ("stopReason", "text", "usage", "returned", "error") if key in last}
    assert outcome.result == {"sessionId": session, "runId": run, **told}
