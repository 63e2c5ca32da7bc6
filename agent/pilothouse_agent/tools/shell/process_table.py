"""The processes of this machine, as far as they can be seen. All but `now` block."""

from __future__ import annotations

import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from pilothouse_agent.tools.visible import visible

__all__ = ["Process", "environment_of", "now", "processes", "title_of"]

_PROC = Path("/proc")
_LONGEST_TITLE = 60
_LIMIT = 2.0


@dataclass(frozen=True, slots=True)
class Process:
    pid: int
    parent: int
    group: int
    session: int
    """0 where the system does not tell."""
    ended: bool
    """Dead, and not collected yet."""
    started: int
    """By the clock of `now`; with the pid it tells processes apart. 0 where it is not known."""


def now() -> int:
    """In the ticks that `Process.started` counts; 0 where the system has no such clock. Does not block."""
    clock: int | None = getattr(time, "CLOCK_BOOTTIME", None)
    return 0 if clock is None else int(time.clock_gettime(clock) * os.sysconf("SC_CLK_TCK"))


def processes(first: int = 0) -> list[Process]:
    """With `first`, the pid of one of them, that and all that were started later, perhaps more."""
    try:
        latest = int((_PROC / "loadavg").read_bytes().split()[-1])
    except OSError:
        return _listed()
    # Pids are given out in turn; below `first` are later ones only when the numbers began anew.
    least = first if latest >= first else 0
    pids = [int(entry) for entry in os.listdir(_PROC) if entry.isdigit()]
    return [process for pid in pids if pid >= least and (process := _read(pid)) is not None]


def environment_of(pid: int) -> bytes:
    """As it was when the program started; empty where it cannot be read."""
    try:
        return (_PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return b""


def title_of(pid: int) -> str:
    """For people and the model: `1234 (sleep 300)`."""
    try:
        words = (_PROC / str(pid) / "cmdline").read_bytes()[: 4 * _LONGEST_TITLE]
    except OSError:
        words = b""
    shown = visible(words.rstrip(b"\0").replace(b"\0", b" ").decode("utf-8", "replace"))
    shown = shown if len(shown) <= _LONGEST_TITLE else shown[: _LONGEST_TITLE - 1] + "…"
    return f"{pid} ({shown})" if shown else str(pid)


def _read(pid: int) -> Process | None:
    try:
        stat = (_PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return None
    fields = stat.rpartition(b")")[2].split()
    parent, group, session = map(int, fields[1:4])
    return Process(pid, parent, group, session, fields[0] in (b"Z", b"X"), int(fields[19]))


def _listed() -> list[Process]:
    argv = ["ps", "-A", "-o", "pid=,ppid=,pgid=,stat="]
    try:
        shown = subprocess.run(argv, capture_output=True, check=False, timeout=_LIMIT).stdout
    except (OSError, subprocess.TimeoutExpired):
        return []
    rows = [line.split() for line in shown.decode("ascii", "replace").splitlines()]
    return [
        Process(int(row[0]), int(row[1]), int(row[2]), 0, row[3].startswith("Z"), 0)
        for row in rows
        if len(row) >= 4
    ]
