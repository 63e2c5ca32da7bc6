"""The mode, the model and the thinking of a prompt hold for its run, and nonsense is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from support.nursery import Nursery
from support.raw_client import RawClient
from support.wire_models import Turn, call

pytestmark = [pytest.mark.slow, pytest.mark.covers("R201")]

Json: TypeAlias = dict[str, Any]

WRITES: list[Turn] = [{"calls": [call("c1", "write_file", path="a.txt", content="x")]}, {"text": "Done."}]


def script(folder: Path, *turns: Turn, name: str = "script") -> str:
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"turns": turns}), encoding="utf-8")
    return f"scripted/{path}"


def project_in(folder: Path) -> Path:
    project = folder / "project"
    project.mkdir()
    return project


def ends(client: RawClient) -> list[str]:
    """How the tool calls so far have ended."""
    events = [message["params"] for message in client.seen if message.get("method") == "agent/event"]
    return [event["outcome"] for event in events if event["type"] == "tool_execution_end"]


@pytest.mark.parametrize(
    ("sessions", "of_prompt"), [("all", "none"), ("edits", "readOnly"), ("all", "readOnly")]
)
def test_a_prompt_of_a_stricter_mode_changes_nothing_and_the_next_one_does(
    client: RawClient, tmp_path: Path, sessions: str, of_prompt: str
) -> None:
    project = project_in(tmp_path)
    client.initialize(options={})
    session = client.session(project, script(tmp_path, *WRITES, *WRITES), mode=sessions)

    strict = client.ask(1, "agent/prompt", sessionId=session, text="Go", mode=of_prompt)["result"]
    written = (project / "a.txt").exists()
    client.ask(2, "agent/prompt", sessionId=session, text="Go")
    state = client.ask(3, "agent/state", sessionId=session)["result"]["sessions"][0]

    assert (strict["stopReason"], written, (project / "a.txt").exists()) == ("completed", False, True)
    assert (ends(client), state["mode"]) == (["denied", "ok"], sessions)


def test_a_prompt_of_a_looser_mode_is_not_asked_about_and_the_next_one_is_not_let_through(
    client: RawClient, tmp_path: Path
) -> None:
    project = project_in(tmp_path)
    client.initialize(options={})
    session = client.session(project, script(tmp_path, *WRITES, *WRITES), mode="none")
    client.ask(1, "agent/prompt", sessionId=session, text="Go", mode="all")
    client.ask(2, "agent/prompt", sessionId=session, text="Go")

    assert ends(client) == ["ok", "denied"]


@pytest.mark.parametrize("session_id", ["an open one", "none"])
@pytest.mark.parametrize(
    "wrong",
    [
        {"mode": "bogus"},
        {"mode": ""},
        {"mode": "ALL"},
        {"mode": 7},
        {"mode": ["all"]},
        {"thinking": "very"},
        {"thinking": ""},
        {"thinking": True},
        {"model": ""},
        {"model": 7},
        {"wait": "later"},
    ],
)
def test_what_is_not_known_is_refused_by_its_name_and_no_session_is_left(
    client: RawClient, tmp_path: Path, session_id: str, wrong: Json
) -> None:
    client.initialize(options={})
    model = script(tmp_path, {"text": "Hi."})
    params: Json = {"text": "Go", "model": model, **wrong}
    if session_id == "an open one":
        params["sessionId"] = client.session(tmp_path, model)
    before = client.ask(1, "agent/state")
    error = client.ask(2, "agent/prompt", **params)["error"]

    assert error["code"] == -32602
    assert [violation["path"] for violation in error["data"]["violations"]] == list(wrong)
    assert client.ask(3, "agent/state") == before


def test_a_new_session_does_not_keep_what_its_first_prompt_chose(servers: Nursery, tmp_path: Path) -> None:
    usual, other = script(tmp_path, {"text": "usual"}), script(tmp_path, {"text": "other"}, name="other")
    with servers.started(tmp_path, {"PILOTHOUSE_MODEL": usual}) as client:
        client.initialize(options={})
        first = client.ask(
            1, "agent/prompt", text="Go", model=other, mode="all", thinking="high", wait="settled"
        )["result"]
        state = client.ask(2, "agent/state")["result"]["sessions"][0]
        second = client.ask(3, "agent/prompt", text="Go", sessionId=first["sessionId"])["result"]

    assert (first["text"], second["text"]) == ("other", "usual")
    assert (state["model"], state["mode"], state["thinking"]) == (usual, "ask", "off")


def test_where_no_model_is_chosen_a_new_session_keeps_that_of_its_first_prompt(
    client: RawClient, tmp_path: Path
) -> None:
    client.initialize(options={})
    model = script(tmp_path, {"text": "one"}, {"text": "two"})
    first = client.ask(1, "agent/prompt", text="Go", model=model)["result"]
    second = client.ask(2, "agent/prompt", text="Go", sessionId=first["sessionId"])["result"]

    assert (first["text"], second["text"]) == ("one", "two")
