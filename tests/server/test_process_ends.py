"""However and whenever the server ends: the right code, in time, no process left, no file half-written."""

from __future__ import annotations

import json
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from support.bash import runs
from support.daemons import FORK_TWICE, pid_in
from support.nursery import Nursery
from support.raw_client import RawClient, request, started
from support.wire_models import Turn, call

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

ENDS = 100
AT_A_TIME = 8
LIMIT = 3.0
"""Seconds; what the teardown may take."""
MARK = "ENDS_TEST_MARK"
"""A variable that children inherit, by which they are found."""

COMMANDS: list[dict[str, Any]] = [
    {"command": "sleep 100"},
    {"command": "sleep 100 & sleep 100"},
    {"command": "(sleep 100 &) ; sleep 100"},
    {"command": "while :; do echo x; sleep 0.001; done"},
    {"command": "sleep 100", "background": True},
    {"command": "trap '' TERM HUP INT; sleep 100; sleep 100"},
    {"command": "trap '' TERM HUP INT; sleep 100; sleep 100", "background": True},
    {"command": "setsid sleep 100 & sleep 100"},
    {"command": "setsid sleep 100 & nohup setsid sleep 100 >/dev/null 2>&1 &"},
    {"command": '(setsid bash -c "trap : TERM; sleep 100; sleep 100" &); sleep 100', "background": True},
]


def script(folder: Path, *turns: Turn) -> str:
    path = folder / "script.json"
    path.write_text(json.dumps({"turns": turns}), encoding="utf-8")
    return f"scripted/{path}"


def alive(mark: str) -> list[str]:
    """Command lines of the living processes with this mark."""
    found: list[str] = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and f"{MARK}={mark}".encode() in (entry / "environ").read_bytes():
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


def at_random_moments(count: int, one: Callable[[random.Random, int], None]) -> None:
    """Several at a time; each with a source of chance of its own, always the same."""
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        for outcome in [pool.submit(one, random.Random(number), number) for number in range(count)]:
            outcome.result()


def ends_by_signal(client: RawClient) -> int:
    client.signal(signal.SIGTERM)
    return 128 + signal.SIGTERM


def ends_by_end_of_input(client: RawClient) -> int:
    client.close_input()
    return 1


def ends_by_closed_pipe(client: RawClient) -> int:
    client.close_output()
    return 1


def ends_by_exit(client: RawClient) -> int:
    client.notify("exit")
    return 1


@pytest.mark.parametrize(
    ("end", "times"),
    [(ends_by_signal, ENDS), (ends_by_end_of_input, ENDS), (ends_by_closed_pipe, ENDS), (ends_by_exit, 20)],
)
def test_no_process_survives_the_server(
    servers: Nursery, tmp_path: Path, end: Callable[[RawClient], int], times: int
) -> None:
    def one(chance: random.Random, number: int) -> None:
        home = tmp_path / str(number)
        home.mkdir()
        mark = f"{end.__name__}-{number}-{home}"
        calls = [{"name": "bash", "arguments": chance.choice(COMMANDS)} for _ in range(3)]
        model = script(home, {"text": ["a"] * 5, "delayMs": 5, "calls": calls}, {"text": "Done."})
        with servers.started(home, {MARK: mark}) as client:
            client.initialize(options={})
            session = client.session(home, model)
            client.send(request("p", "agent/prompt", sessionId=session, text="Go"))
            if chance.random() < 0.7:
                client.event("tool_execution_start")
            time.sleep(chance.random() * 0.15)
            wanted = end(client)

            assert client.ended(LIMIT) == wanted
            assert alive(mark) == []

    at_random_moments(times, one)


@pytest.mark.covers("R244")
@pytest.mark.parametrize("shell", ["env -i", "env"])
@pytest.mark.parametrize("behind", ["", "sleep 60"])
def test_a_daemon_does_not_survive_the_server_whatever_it_has_thrown_away(
    servers: Nursery, tmp_path: Path, shell: str, behind: str
) -> None:
    daemon = f'{shell} {sys.executable} -c "{FORK_TWICE}"; until [ -e pid ]; do sleep 0.01; done'
    calls = [{"name": "bash", "arguments": {"command": f"{daemon}; echo up; {behind}"}}]
    model = script(tmp_path, {"calls": calls}, {"text": "Done."})
    with servers.started(tmp_path, {}) as client:
        client.initialize(options={})
        session = client.session(tmp_path, model)
        client.send(request("p", "agent/prompt", sessionId=session, text="Go"))
        client.event("tool_execution_update" if behind else "tool_execution_end")
        pid = pid_in(tmp_path)
        client.notify("exit")
        client.ended(LIMIT)

    assert not runs(pid)


LINES = "".join(f"line {number:04} {'-' * 1000}\n" for number in range(5000))


def test_a_file_is_whole_whenever_the_server_is_killed(servers: Nursery, tmp_path: Path) -> None:
    def one(chance: random.Random, number: int) -> None:
        folder = tmp_path / str(number) / "project"
        folder.mkdir(parents=True)
        file = folder / "big.txt"
        file.write_text(f"version 0\n{LINES}end\n", encoding="utf-8")
        model = script(folder.parent, *({"calls": [edit(version)]} for version in range(50)))
        with servers.started(folder.parent) as client:
            client.initialize(options={})
            session = client.session(folder, model)
            client.send(request("p", "agent/prompt", sessionId=session, text="Go"))
            client.event("tool_execution_start" if number % 5 else "tool_execution_end")
            written.append(is_written(client.process.pid, folder))
            time.sleep(chance.random() * 0.03)
            client.process.kill()
            client.ended()

        version, _, rest = file.read_text(encoding="utf-8").partition("\n")
        versions.append(int(version.removeprefix("version ")))
        assert rest == f"{LINES}end\n"
        shutil.rmtree(folder)

    versions: list[int] = []
    written: list[bool] = []
    at_random_moments(ENDS, one)

    assert min(versions) < max(versions)
    assert any(written)


def edit(version: int) -> Turn:
    edits = [{"old_text": f"version {version}\n", "new_text": f"version {version + 1}\n"}]
    return call(f"c{version}", "edit_file", path="big.txt", edits=edits)


def is_written(pid: int, folder: Path) -> bool:
    """Wait until the process has a file open in the folder that is going to take another's place."""
    until = time.monotonic() + 2
    while time.monotonic() < until:
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                if f"{entry.readlink()}".startswith(f"{folder}/#"):
                    return True
    return False


def test_a_killed_server_leaves_nothing_in_the_temporary_folder(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    model = script(tmp_path, {"calls": [call("c", "bash", command="echo hello")]}, {"text": "Done."})
    with started(tmp_path / "home", variables={"TMPDIR": f"{scratch}"}) as client:
        client.initialize(options={})
        session = client.session(tmp_path, model)
        client.ask("p", "agent/prompt", sessionId=session, text="Go")
        client.process.kill()
        client.ended()

    assert list(scratch.iterdir()) == []
