"""Starts many servers quickly: each is forked from a process that has already loaded everything.

They are whole processes with their own descriptors, loop and end; only the imports are shared.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, NoReturn

from support.raw_client import RawClient
from support.wire_run import settled_home

__all__ = ["Nursery", "nursery"]

_HEAVY = (
    "pilothouse_agent.settings.places",
    "pilothouse_server.lsp_types",
    "pilothouse_server.server",
    "pilothouse_server.serving",
    "pilothouse_agent.models.scripted.script_file",
)


class Nursery:
    """Servers may be started by several threads at a time."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line

    def started(self, home: Path, variables: Mapping[str, str] | None = None) -> RawClient:
        environment = json.dumps({"PILOTHOUSE_HOME": str(home), **(variables or {})}).encode()
        (stdin_end, stdin), (stdout, stdout_end), (status, status_end) = os.pipe(), os.pipe(), os.pipe()
        ends = [stdin_end, stdout_end, status_end]
        socket.send_fds(self._line, [environment], ends)
        for end in ends:
            os.close(end)
        return RawClient(_Forked(os.fdopen(stdin, "wb", 0), os.fdopen(stdout, "rb", 0), status))


class _Forked:
    """Its status pipe brings its pid, and when it has ended its exit code."""

    def __init__(self, stdin: IO[bytes], stdout: IO[bytes], status: int) -> None:
        self.stdin: IO[bytes] | None = stdin
        self.stdout: IO[bytes] | None = stdout
        self.stderr: IO[bytes] | None = None
        self._status = status
        self._code: int | None = None
        self.pid = self._number(None)

    def wait(self, timeout: float | None = None) -> int:
        if self._code is None:
            self._code = self._number(timeout)
            os.close(self._status)
        return self._code

    def kill(self) -> None:
        if self._code is None:
            os.kill(self.pid, signal.SIGKILL)

    def _number(self, limit: float | None) -> int:
        until = None if limit is None else time.monotonic() + limit
        text = b""
        while not text.endswith(b"\n"):
            left = None if until is None else max(0, until - time.monotonic())
            if not select.select([self._status], [], [], left)[0]:
                raise subprocess.TimeoutExpired("a forked server", limit or 0)
            text += os.read(self._status, 1)
        return int(text)


@contextmanager
def nursery(home: Path) -> Generator[Nursery]:
    """Its servers import the product from where the tests do."""
    paths = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        process = subprocess.Popen(
            [sys.executable, __file__, str(theirs.fileno())],
            env={**settled_home(home), "PYTHONPATH": os.pathsep.join(filter(None, paths))},
            pass_fds=[theirs.fileno()],
        )
        theirs.close()
        yield Nursery(ours)
    process.wait(10)


def _tend(line: socket.socket) -> None:
    for name in _HEAVY:
        __import__(name)
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while (order := socket.recv_fds(line, 1 << 16, 3))[0]:
        if os.fork() == 0:
            line.close()
            _watch(json.loads(order[0]), *order[1])
        for descriptor in order[1]:
            os.close(descriptor)


def _watch(environment: dict[str, str], stdin: int, stdout: int, status: int) -> NoReturn:
    """The parent of one server; says how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.dup2(stdin, 0)
    os.dup2(stdout, 1)
    os.close(stdin)
    os.close(stdout)
    pid = os.fork()
    if pid == 0:
        os.close(status)
        os.environ.update(environment)
        from pilothouse_server.serving import serve

        serve()
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    with suppress(OSError):
        os.write(status, b"%d\n" % pid)
        ended = os.waitpid(pid, 0)[1]
        os.write(status, b"%d\n" % os.waitstatus_to_exitcode(ended))
    os._exit(0)


if __name__ == "__main__":
    _tend(socket.socket(fileno=int(sys.argv[1])))
