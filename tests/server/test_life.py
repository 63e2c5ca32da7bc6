"""What ends the process, and that it then ends, with the right code and in time."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest

import support.stubborn_server
from pilothouse_server.transport.parent import gone, gone_by_polling
from support.raw_client import RawClient, request, started
from support.wire_models import call

pytestmark = pytest.mark.slow

LIMIT, LIMIT_AFTER_EXIT = 3.0, 1.5


def stubborn(home: Path, how: str) -> RawClient:
    return started(home, argv=[sys.executable, str(support.stubborn_server.__file__), how])


STUBBORN = ["threads", "task", "teardown", "failing teardown", "blocked loop"]
ENDS: list[tuple[Callable[[RawClient], object], int, float]] = [
    (lambda client: client.notify("exit"), 1, LIMIT_AFTER_EXIT),
    (lambda client: client.close_input(), 1, LIMIT),
    (lambda client: client.signal(signal.SIGTERM), 143, LIMIT),
]


@pytest.mark.parametrize("how", STUBBORN)
@pytest.mark.parametrize(("end", "code", "limit"), ENDS, ids=["exit", "end of input", "signal"])
def test_nothing_in_the_process_can_hold_up_its_end(
    tmp_path: Path, how: str, end: Callable[[RawClient], object], code: int, limit: float
) -> None:
    with stubborn(tmp_path, how) as client:
        client.initialize()
        client.send(request(1, "begin"))
        client.answer(1) if how != "task" else None
        end(client)

        assert client.ended(limit) == code


def test_not_even_a_loop_that_is_blocked_outlives_the_end_of_input(tmp_path: Path) -> None:
    with stubborn(tmp_path, "blocked") as client:
        client.initialize()
        client.send(request(1, "begin"))
        client.close_input()

        assert client.ended(7) == 1


def test_a_task_that_tries_to_end_the_process_does_not(tmp_path: Path) -> None:
    with stubborn(tmp_path, "exit") as client:
        client.initialize()
        answers = [client.ask(number, "begin") for number in range(3)]
        client.ask("end", "shutdown")
        client.notify("exit")

        assert (answers, client.ended(LIMIT_AFTER_EXIT)) == ([{"result": "begun"}] * 3, 0)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_settles_the_run_and_ends_with_its_number(
    client: RawClient, tmp_path: Path, number: signal.Signals
) -> None:
    prompting(client, tmp_path)
    client.signal(number)

    assert client.answer("prompt")["result"]["stopReason"] == "aborted"
    assert (client.rest(), client.ended(LIMIT)) == ([], 128 + number)


def prompting(client: RawClient, folder: Path) -> None:
    """A run is in the middle of a command."""
    script = folder / "script.json"
    script.write_text(json.dumps({"turns": [{"calls": [call("c1", "bash", command="sleep 100")]}]}))
    client.initialize(options={})
    session = client.session(folder, f"scripted/{script}")
    client.send(request("prompt", "agent/prompt", sessionId=session, text="Go"))
    client.event("tool_execution_start")


def test_shutdown_settles_the_run_before_it_is_answered(client: RawClient, tmp_path: Path) -> None:
    prompting(client, tmp_path)
    client.send(request("shutdown", "shutdown"))
    stopped = client.answer("prompt")["result"]["stopReason"]
    answer = client.answer("shutdown")
    client.notify("exit")

    assert (stopped, answer) == ("aborted", {"result": None})
    assert (client.rest(), client.ended(LIMIT_AFTER_EXIT)) == ([], 0)


def test_shutdown_and_exit_in_one_go_end_with_success(client: RawClient, tmp_path: Path) -> None:
    prompting(client, tmp_path)
    client.send(request("shutdown", "shutdown"), {"jsonrpc": "2.0", "method": "exit"})

    assert client.answer("prompt")["result"]["stopReason"] == "aborted"
    assert client.answer("shutdown") == {"result": None}
    assert client.ended(LIMIT_AFTER_EXIT) == 0


@pytest.mark.covers("R181")
def test_the_server_ends_when_its_parent_is_gone_though_the_pipe_is_held_open(client: RawClient) -> None:
    parent = subprocess.Popen(["sleep", "100"])
    client.initialize(process_id=parent.pid)
    alive = client.ask(1, "agent/state")
    parent.kill()
    parent.wait()

    assert (alive, client.ended(LIMIT)) == ({"result": {"sessions": []}}, 1)


@pytest.mark.covers("R181")
def test_a_parent_that_was_dead_from_the_beginning_ends_the_server(client: RawClient) -> None:
    parent = subprocess.Popen(["true"])
    parent.wait()
    client.send(request(1, "initialize", processId=parent.pid, capabilities={}))

    assert (client.answer(1)["result"]["serverInfo"]["name"], client.ended(LIMIT)) == ("pilothouse", 1)


@pytest.mark.parametrize("process_id", [None, 0, -1, True, 1.5, "1", [], 2**80])
def test_a_parent_that_makes_no_sense_is_none(client: RawClient, process_id: object) -> None:
    client.send(request(1, "initialize", processId=process_id, capabilities={}))
    client.answer(1)

    assert client.ask(2, "agent/state") == {"result": {"sessions": []}}


@pytest.mark.covers("R181")
@pytest.mark.parametrize("wait", [gone, partial(gone_by_polling, every=0.01)])
async def test_the_end_of_a_process_is_noticed(wait: Callable[[int], Awaitable[None]]) -> None:
    process = await asyncio.create_subprocess_exec("sleep", "100")
    waiting = asyncio.ensure_future(wait(process.pid))
    await asyncio.sleep(0.05)
    alive = not waiting.done()
    process.kill()
    await process.wait()
    await asyncio.wait_for(waiting, 5)

    assert alive


def test_a_client_that_closes_its_end_of_the_output_ends_an_idle_server(client: RawClient) -> None:
    client.initialize()
    client.close_output()

    assert client.ended(LIMIT) == 1


def test_an_idle_server_takes_no_time(client: RawClient) -> None:
    client.initialize(process_id=1)
    client.ask(1, "agent/state")
    before = ticks(client.process.pid)
    time.sleep(1)

    assert ticks(client.process.pid) - before <= 1


def ticks(pid: int) -> int:
    """Processor time, in hundredths of a second."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])
