"""A scripted JSON-RPC peer, run as a process: does the steps of its plan for each message it gets."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, TypeAlias

from pilothouse_server.wire.frames import frame

__all__ = ["Plan", "Step", "peer", "received"]

Step: TypeAlias = dict[str, Any]
"""One of: {"answer": result, "to": method}, {"error": error}, {"send": message}, {"raw": text},
{"stderr": text}, {"signal": number} to the process that started it, {"exit": code}. An answer
without `to` is one to the message itself."""
Plan: TypeAlias = dict[str, list[Step]]
"""Steps by method; answers to the peer's own requests come as `answer`. What is not named is answered
with an empty object, and `exit` ends it."""


def peer(folder: Path, plan: Plan) -> list[str]:
    """The command that starts it."""
    (folder / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    (folder / "received.jsonl").touch()
    return [sys.executable, __file__, str(folder)]


def received(folder: Path) -> list[dict[str, Any]]:
    """The messages it got, in order, without the part that is the same in all."""
    lines = (folder / "received.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def _play(folder: Path) -> None:
    plan: Plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    ids: dict[str, Any] = {}
    with (folder / "received.jsonl").open("a", encoding="utf-8") as log:
        while (message := _read()) is not None:
            del message["jsonrpc"]
            log.write(json.dumps(message) + "\n")
            log.flush()
            method = message.get("method", "answer")
            ids[method] = message.get("id")
            default: list[Step] = [{"exit": 0}] if method == "exit" else [{"answer": {}}] * ("id" in message)
            for step in plan.get(method, [] if method == "answer" else default):
                _do(step, method, ids)


def _do(step: Step, method: str, ids: dict[str, Any]) -> None:
    match step:
        case {"answer": result}:
            _send({"id": ids[step.get("to", method)], "result": result})
        case {"error": error}:
            _send({"id": ids[method], "error": error})
        case {"send": message}:
            _send(message)
        case {"raw": text}:
            sys.stdout.buffer.write(text.encode())
            sys.stdout.buffer.flush()
        case {"stderr": text}:
            sys.stderr.write(text)
        case {"signal": number}:
            os.kill(os.getppid(), number)
        case {"exit": code}:
            sys.exit(code)
        case _:
            raise AssertionError(f"no such step: {step}")


def _send(message: dict[str, Any]) -> None:
    sys.stdout.buffer.write(frame(json.dumps({"jsonrpc": "2.0", **message}).encode()))
    sys.stdout.buffer.flush()


def _read() -> dict[str, Any] | None:
    header = sys.stdin.buffer.readline()
    if not header:
        return None
    sys.stdin.buffer.readline()
    return json.loads(sys.stdin.buffer.read(int(header.split(b":")[1])))


if __name__ == "__main__":
    _play(Path(sys.argv[1]))
