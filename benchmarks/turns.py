"""Runs of many tool turns: what one costs, how that grows, and the memory at the end."""

from __future__ import annotations

import time
from itertools import pairwise
from statistics import median
from typing import Any, TypeAlias

from benchmarks.bench import Bench, Child
from benchmarks.client import Client
from benchmarks.report import Report, growth

__all__ = ["read_turns", "todo_turns"]

Json: TypeAlias = dict[str, Any]

_PEAK = 90
"""MB."""


def todo_turns(bench: Bench) -> Report:
    """With `todo_write`, which only notes what it is given: the loop by itself."""
    return _turns(bench, "todo")


def read_turns(bench: Bench) -> Report:
    """With `read_file` of a small file, which both sides read from the disk."""
    return _turns(bench, "read")


def _turns(bench: Bench, kind: str) -> Report:
    report = Report()
    for count in bench.sizes.turns:
        for _ in range(bench.sizes.repeats):
            _pair(bench, report, f"{kind}-{count}", count)
        report.compare(f"pilothouse {count} cpu ms/turn", f"bare {count} cpu ms/turn", at_most=2)
    most = max(bench.sizes.turns)
    ours, theirs = f"pilothouse {most} growth us/turn", f"bare {most} growth us/turn"
    report.compare(ours, theirs, at_most=1.5, by=median)
    report.limit(f"pilothouse {most} peak MB", at_most=_PEAK)
    return report


def _pair(bench: Bench, report: Report, script: str, count: int) -> None:
    """One run of each side, each in a new process that has had one turn to warm up."""
    client, session = bench.ready()
    with client, bench.bare() as bare:
        _ours(client, session, bench.model(script.partition("-")[0] + "-1"))
        model = bench.model(script)
        session = client.ask("session/new", {"cwd": str(bench.folder)})["sessionId"]
        _note(report, f"pilothouse {count}", _ours(client, session, model))
        report.add(f"pilothouse {count} peak MB", client.peak_memory)
        opening, last = bench.requests(model)
        _note(report, f"bare {count}", _theirs(bare, opening, bench.model(script), last))
        report.add(f"bare {count} peak MB", bare.do("memory")["peak"])


def _ours(client: Client, session: str, model: str) -> list[Json]:
    """Seconds of each turn, from its start event to that of the next."""
    marks: list[tuple[float, float]] = []

    def hear(event: Json) -> None:
        if event["type"] == "turn_start":
            marks.append((time.perf_counter(), client.cpu))

    params = {"sessionId": session, "text": "Go.", "model": f"openai-chat/{model}"}
    client.ask("agent/prompt", params, hear)
    return [{"wall": after[0] - before[0], "cpu": after[1] - before[1]} for before, after in pairwise(marks)]


def _theirs(bare: Child, opening: Json, model: str, last: Json) -> list[Json]:
    """The same requests; the last one must have as many messages."""
    bare.do("turns", opening=opening, model=f"todo-1.{model}")
    done = bare.do("turns", opening=opening, model=model)
    if done["messages"] != len(last["messages"]):
        raise RuntimeError(f"The bare loop sent {done['messages']} messages, not {len(last['messages'])}.")
    return done["turns"]


def _note(report: Report, who: str, turns: list[Json]) -> None:
    for what in ("cpu", "wall"):
        seconds = [turn[what] for turn in turns]
        report.add(f"{who} {what} ms/turn", sum(seconds) / len(seconds) * 1000)
    report.add(f"{who} growth us/turn", growth([turn["cpu"] for turn in turns]) * 1e6)
