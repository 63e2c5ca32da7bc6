"""Edits of a large document that is open in the editor."""

from __future__ import annotations

import time
from typing import Any, TypeAlias

from benchmarks.bench import Bench
from benchmarks.client import Client
from benchmarks.report import Report, percentile

__all__ = ["edits"]

Json: TypeAlias = dict[str, Any]

_LINES = 5000
_MOST = 5.0
"""Milliseconds of the server's CPU for one edit, from the call's start to its end."""


def edits(bench: Bench) -> Report:
    """From the start of the call to its end, with the edit applied and told by the client between."""
    report = Report()
    lines = [f"line {number} of a file that people work on\n" for number in range(1, _LINES + 1)]
    lines[_LINES // 2] = "edited 0000 times\n"
    file = bench.folder / "large.txt"
    file.write_text("".join(lines), encoding="utf-8")
    introduction = bench.introduction(editor=True)
    introduction["capabilities"]["workspace"] = {"applyEdit": True}
    for _ in range(bench.sizes.repeats):
        with bench.pilothouse() as client:
            client.ask("initialize", introduction)
            client.notify("initialized", {})
            document = {"uri": file.as_uri(), "languageId": "text", "version": 1, "text": "".join(lines)}
            client.notify("textDocument/didOpen", {"textDocument": document})
            session: str = client.ask("session/new", {"cwd": str(bench.folder)})["sessionId"]
            _run(bench, report, client, session)
    report.limit("pilothouse cpu ms/edit", at_most=_MOST)
    return report


def _run(bench: Bench, report: Report, client: Client, session: str) -> None:
    model = bench.model(f"edit-{bench.sizes.edits}")
    client.send("agent/prompt", {"sessionId": session, "text": "Go.", "model": f"openai-chat/{model}"})
    used: list[tuple[float, float]] = []
    began, ended = (0.0, 0.0), False
    while not ended:
        message = client.receive()
        if message.get("method") == "workspace/applyEdit":
            _apply(client, message)
            continue
        event = message["params"] if message.get("method") == "agent/event" else {"type": ""}
        ended = event["type"] == "agent_end"
        if event["type"] == "tool_execution_start":
            began = time.perf_counter(), client.cpu
        elif event["type"] == "tool_execution_end":
            if event["isError"]:
                raise RuntimeError("An edit failed.")
            used.append((time.perf_counter() - began[0], client.cpu - began[1]))
    if len(used) != bench.sizes.edits:
        raise RuntimeError(f"{len(used)} edits were made, not {bench.sizes.edits}.")
    report.add("pilothouse ms/edit", percentile([wall * 1000 for wall, _ in used], 0.5))
    report.add("pilothouse cpu ms/edit", percentile([cpu * 1000 for _, cpu in used], 0.5))


def _apply(client: Client, request: Json) -> None:
    (entry,) = request["params"]["edit"]["documentChanges"]
    changes = [{"range": edit["range"], "text": edit["newText"]} for edit in reversed(entry["edits"])]
    document = {"uri": entry["textDocument"]["uri"], "version": entry["textDocument"]["version"] + 1}
    client.notify("textDocument/didChange", {"textDocument": document, "contentChanges": changes})
    client.answer(request["id"], {"applied": True})
