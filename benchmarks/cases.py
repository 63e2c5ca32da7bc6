"""The cases, by name."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from benchmarks.actions import actions
from benchmarks.bench import Bench
from benchmarks.client import Client
from benchmarks.edits import edits
from benchmarks.kept import kept_sessions
from benchmarks.report import Report, percentile
from benchmarks.requests import custom_messages
from benchmarks.turns import read_turns, todo_turns

__all__ = ["CASES", "Case"]

Json: TypeAlias = dict[str, Any]
Case: TypeAlias = Callable[[Bench], Report]

_SPAWN_TO_ANSWER = 0.25
_STREAMING = 300
"""Deltas seen before an abort."""
_DELTA = len(" measured")
_LONG_TEXTS = {"openai": "responses", "openai-chat": "text", "anthropic": "messages"}
"""By wire format: the script of one long text."""


def start(bench: Bench) -> Report:
    """To the answer of `initialize`, and to that of the first request for the agent; beside stock pygls."""
    report = Report()
    for _ in range(bench.sizes.repeats):
        with bench.stock() as client:
            client.ask("initialize", bench.introduction())
            _since_start(report, "stock pygls", client)
        with bench.pilothouse() as client:
            client.ask("initialize", bench.introduction())
            _since_start(report, "pilothouse", client)
            client.notify("initialized", {})
            client.ask("agent/state", {})
            _since_start(report, "pilothouse to agent/state", client)
        with bench.pilothouse() as client:
            client.ask("initialize", bench.introduction(editor=True))
            client.notify("initialized", {})
            client.ask("agent/state", {})
            client.settled(client.send("textDocument/hover", {}))
            _since_start(report, "pilothouse with editor parts", client)
    report.compare("pilothouse cpu ms", "stock pygls cpu ms", at_most=1)
    report.compare("pilothouse to agent/state cpu ms", "stock pygls cpu ms", at_most=1.3)
    report.limit("pilothouse cpu ms", at_most=_SPAWN_TO_ANSWER * 1000)
    return report


def first_delta(bench: Bench) -> Report:
    """From the spawn (cold), from the first prompt of a session that has been open for a while (rested),
    and from the prompt in a session that has had one (warm)."""
    report = Report()
    for _ in range(bench.sizes.repeats):
        wall = time.perf_counter()
        with bench.bare() as bare:
            bare.do("read", model="text-1")
            report.add_wall("bare cold", time.perf_counter() - wall)
            report.add_cpu("bare cold", bare.cpu)
            used = [bare.do("read", model="text-1") for _ in range(5)]
            report.add_wall("bare warm", min(one["first"] for one in used))
            report.add_cpu("bare warm", min(one["cpu"] for one in used))
        client, session = bench.ready()
        with client:
            _to_first_delta(client, session)
            _since_start(report, "pilothouse cold", client)
            used = [_to_first_delta(client, session) for _ in range(5)]
            report.add_wall("pilothouse warm", min(wall for wall, _ in used))
            report.add_cpu("pilothouse warm", min(cpu for _, cpu in used))
        client, session = bench.ready()
        with client:
            time.sleep(bench.sizes.pause)
            wall, cpu = _to_first_delta(client, session)
            report.add_wall("pilothouse rested", wall)
            report.add_cpu("pilothouse rested", cpu)
    return report


def _to_first_delta(client: Client, session: str) -> tuple[float, float]:
    """Seconds of wall to the delta, and of CPU to the end of the answer."""
    wall, cpu = time.perf_counter(), client.cpu
    first: list[float] = []

    def hear(event: Json) -> None:
        if event["type"] == "message_update" and not first:
            first.append(time.perf_counter() - wall)

    client.ask("agent/prompt", _prompt(session, "text-1"), hear)
    return first[0], client.cpu - cpu


def stream(bench: Bench) -> Report:
    """One long answer, end to end at the client; a chunk for each delta, and several deltas in one."""
    report = Report()
    client, session = bench.ready()
    with client, bench.bare() as bare:
        for kind in ("text", "packed"):
            model = f"{kind}-{bench.sizes.deltas}"
            for _ in range(2 * bench.sizes.repeats + 1):
                used = bare.do("read", model=model)
                report.add_cpu(f"bare {kind}", used["cpu"])
                report.add_wall(f"bare {kind}", used["wall"])
                _stream(report, client, kind, _prompt(session, model), used["characters"])
    for values in report.values.values():
        del values[0]  # the first of each kind warms both sides
    report.compare("pilothouse text cpu ms", "bare text cpu ms", at_most=2)
    report.compare("pilothouse packed cpu ms", "bare packed cpu ms", at_most=2)
    return report


def _stream(report: Report, client: Client, kind: str, prompt: Json, characters: int) -> None:
    received = 0

    def hear(event: Json) -> None:
        nonlocal received
        if event["type"] == "message_update":
            received += len(event["delta"]["text"])

    wall, cpu, own = time.perf_counter(), client.cpu, time.process_time()
    client.ask("agent/prompt", prompt, hear)
    report.add_cpu(f"client {kind}", time.process_time() - own)
    report.add_cpu(f"pilothouse {kind}", client.cpu - cpu)
    report.add_wall(f"pilothouse {kind}", time.perf_counter() - wall)
    if received != characters:
        raise RuntimeError(f"{received} characters came, {characters} were sent.")


def reader(bench: Bench) -> Report:
    """One long answer in each wire format: our provider, from bytes to events, beside a bare reader."""
    report = Report()
    with bench.reader() as ours, bench.bare() as bare:
        for wire_format, kind in _LONG_TEXTS.items():
            command = {"model": f"{kind}-{bench.sizes.deltas}", "format": wire_format}
            for _ in range(2 * bench.sizes.repeats + 1):
                read = {"bare": bare.do("text", **command), "pilothouse": ours.do("text", **command)}
                for who, used in read.items():
                    report.add_cpu(f"{who} {wire_format}", used["cpu"])
                    report.add_wall(f"{who} {wire_format}", used["wall"])
                if len({used["characters"] for used in read.values()}) != 1:
                    raise RuntimeError(f"The two sides did not read the same {wire_format} text.")
    for values in report.values.values():
        del values[0]  # the first of each format warms both sides
    for wire_format in _LONG_TEXTS:
        report.compare(f"pilothouse {wire_format} cpu ms", f"bare {wire_format} cpu ms", at_most=2)
    return report


def shell(bench: Bench) -> Report:
    """Shell calls of 0.2 s, all in one message."""
    report = Report()
    client, session = bench.ready()
    with client:
        for _ in range(bench.sizes.repeats):
            model = bench.model(f"shell-{bench.sizes.shells}")
            wall, cpu = time.perf_counter(), client.cpu
            client.ask("agent/prompt", _prompt(session, model))
            report.add_wall("pilothouse", time.perf_counter() - wall)
            report.add_cpu("pilothouse", client.cpu - cpu)
    return report


def abort(bench: Bench) -> Report:
    """From the abort's request to its answer while deltas stream as fast as they can."""
    report = Report()
    client, session = bench.ready()
    times: list[float] = []
    with client:
        for _ in range(bench.sizes.aborts):
            run = client.send("agent/prompt", _prompt(session, "endless"))
            seen = 0
            while seen < _STREAMING:
                seen += len(client.event().get("delta", {}).get("text", "")) // _DELTA
            wall = time.perf_counter()
            client.ask("agent/abort", {"sessionId": session})
            times.append((time.perf_counter() - wall) * 1000)
            client.settled(run)
    report.add("p50 ms", percentile(times, 0.5))
    report.add("p99 ms", percentile(times, 0.99))
    report.add("longest ms", max(times))
    report.limit("p99 ms", at_most=50)
    return report


def idle(bench: Bench) -> Report:
    """A server with a session that has had a prompt, and nothing to do."""
    report = Report()
    client, session = bench.ready()
    with client:
        client.ask("agent/prompt", _prompt(session, "text-1"))
        time.sleep(0.5)
        cpu = client.cpu
        time.sleep(bench.sizes.idle)
        report.add("pilothouse cpu ms/s", (client.cpu - cpu) * 1000 / bench.sizes.idle)
    report.limit("pilothouse cpu ms/s", at_most=0)
    return report


def _since_start(report: Report, who: str, client: Client) -> None:
    report.add_wall(who, time.perf_counter() - client.started)
    report.add_cpu(who, client.cpu)


def _prompt(session: str, model: str) -> Json:
    return {"sessionId": session, "text": "Go.", "model": f"openai-chat/{model}"}


CASES: Mapping[str, Case] = {
    "start": start,
    "first-delta": first_delta,
    "stream": stream,
    "reader": reader,
    "turns": todo_turns,
    "read-turns": read_turns,
    "shell": shell,
    "edits": edits,
    "actions": actions,
    "abort": abort,
    "idle": idle,
    "custom-messages": custom_messages,
    "kept-sessions": kept_sessions,
}
