"""Standard output is for frames alone; the rest goes to standard error or the log, secrets to neither."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

import support.noisy_server
from support.chat_turns import chat_answer
from support.model_server import ModelServer
from support.raw_client import RawClient, request, started
from support.wire_models import Turn, call

pytestmark = pytest.mark.slow

SENTINEL = "SENTINEL-123"


def script(folder: Path, *turns: Turn) -> str:
    path = folder / "script.json"
    path.write_text(json.dumps({"turns": turns}), encoding="utf-8")
    return f"scripted/{path}"


def result_of(client: RawClient, call_id: str) -> str:
    """The text of the call's result."""
    while True:
        message = client.event("message_end")["message"]
        if message.get("toolCallId") == call_id:
            return message["content"][0]["text"]


@pytest.mark.covers("R119")
def test_a_child_of_a_tool_has_neither_the_input_nor_the_output_of_the_server(
    client: RawClient, tmp_path: Path
) -> None:
    command = "cat; echo OUT; echo ERR >&2; readlink /proc/self/fd/0; ls -l /proc/self/fd | grep -c pipe"
    model = script(tmp_path, {"calls": [call("c1", "bash", command=command)]}, {"text": "Done."})
    client.initialize(options={})
    session = client.session(tmp_path, model)
    client.send(request(1, "agent/prompt", sessionId=session, text="Go"), request(2, "agent/state"))
    shown = result_of(client, "c1")
    settled, state = client.answer(1), next(seen for seen in client.seen if seen.get("id") == 2)

    # The pipe to grep, and the one for its errors.
    assert shown == "OUT\nERR\n/dev/null\n2"
    assert (settled["result"]["stopReason"], len(state["result"]["sessions"])) == ("completed", 1)


@pytest.mark.covers("R119", "R179")
def test_whatever_prints_in_the_server_prints_to_standard_error(tmp_path: Path) -> None:
    model = script(tmp_path, {"calls": [call("c1", "glob_file", pattern="*")]}, {"text": "Done."})
    noisy = [sys.executable, str(support.noisy_server.__file__)]
    with started(tmp_path, argv=noisy, stderr=subprocess.PIPE) as client:
        client.initialize(options={})
        session = client.session(tmp_path, model)
        settled = client.ask(1, "agent/prompt", sessionId=session, text="Go")
        client.ask(2, "shutdown")
        client.notify("exit")
        stdout, code = client.rest(), client.ended(2)
        assert client.process.stderr is not None
        stderr = client.process.stderr.read().decode()

    assert (settled["result"]["text"], stdout, code) == ("Done.", [], 0)
    for said in [
        *["printed", "written", "written to the descriptor", "written by a library", "from a child"],
        *["a progress bar", "a warning", "an error", "from a thread"],
    ]:
        assert said in stderr


@pytest.mark.covers("R179")
def test_a_crash_at_the_start_leaves_standard_output_empty(tmp_path: Path) -> None:
    (tmp_path / "orjson.py").write_text("raise ValueError('a broken installation')")
    with started(tmp_path, variables={"PYTHONPATH": str(tmp_path)}, stderr=subprocess.PIPE) as client:
        stdout, code = client.rest(), client.ended()
        assert client.process.stderr is not None
        stderr = client.process.stderr.read()

    assert (stdout, code) == ([], 1)
    assert b"a broken installation" in stderr


@pytest.mark.covers("R179")
def test_a_server_that_cannot_be_loaded_says_so_and_goes_on(tmp_path: Path) -> None:
    (tmp_path / "pydantic.py").write_text("raise ValueError('a broken installation')")
    with started(tmp_path, variables={"PYTHONPATH": str(tmp_path)}, stderr=subprocess.PIPE) as client:
        client.initialize()
        answers = [client.ask(number, "agent/state") for number in range(2)]
        client.ask("end", "shutdown")
        client.notify("exit")
        code = client.ended(2)
        assert client.process.stderr is not None
        stderr = client.process.stderr.read()

    text = "The server could not be loaded. The log has the details."
    assert (answers, code) == ([{"error": {"code": -32603, "message": text}}] * 2, 0)
    assert b"a broken installation" in stderr


@pytest.mark.covers("R175")
@pytest.mark.parametrize(
    "turn",
    [
        {"text": "Done."},
        {"error": {"status": 401, "message": f"Incorrect API key provided: {SENTINEL}."}},
        {"error": {"status": 400, "message": f"Bearer {SENTINEL}"}},
        {"cut": True},
    ],
    ids=["success", "401", "400", "cut"],
)
async def test_a_key_is_in_no_message_no_log_and_no_error(tmp_path: Path, turn: Turn) -> None:
    async with ModelServer(*[chat_answer(turn)] * 10) as server:
        everything = await asyncio.to_thread(everything_said, tmp_path, server.url)
        sent = server.requests[0].headers["authorization"]

    assert sent == f"Bearer {SENTINEL}"
    assert SENTINEL not in everything


@pytest.mark.covers("R175")
def test_a_key_is_in_no_word_about_an_address_where_nobody_answers(tmp_path: Path) -> None:
    address = f"http://user:{SENTINEL}@127.0.0.1:9/v1?key={SENTINEL}"

    assert SENTINEL not in everything_said(tmp_path, address)


def everything_said(home: Path, address: str) -> str:
    """All messages, standard error and all files of a run and some bad requests."""
    project = home / "project"
    project.mkdir()
    variables = {
        "OPENAI_BASE_URL": address,
        "OPENAI_API_KEY": SENTINEL,
        "PILOTHOUSE_SET_RETRY_ATTEMPTS": "0",
    }
    with started(home, variables=variables, stderr=subprocess.PIPE) as client:
        client.initialize(options={"approvals": SENTINEL})
        session = client.session(project, "openai-chat/x")
        client.ask(1, "agent/prompt", sessionId=session, text="Hi")
        client.ask(2, "session/new", model={"apiKey": SENTINEL})
        client.ask(3, "textDocument/hover", apiKey=SENTINEL)
        client.notify("textDocument/didOpen", apiKey=SENTINEL)
        client.notify("workspace/didChangeConfiguration", settings={"pilothouse": {"model": [SENTINEL]}})
        client.ask("end", "shutdown")
        client.notify("exit")
        code = client.ended(2)
        assert client.process.stderr is not None
        stderr = client.process.stderr.read().decode()
    log = (home / "state" / "server.log").read_text(encoding="utf-8")
    files = [path.read_text(encoding="utf-8") for path in home.rglob("*") if path.is_file()]

    assert (code, "The server ends: exit" in log) == (0, True)
    return json.dumps([client.seen, stderr, files])
