"""Code actions in a very large document, which some editors ask for at every move of the cursor."""

from __future__ import annotations

from typing import Any, TypeAlias

from benchmarks.bench import Bench
from benchmarks.client import Client
from benchmarks.report import Report, percentile

__all__ = ["actions"]

Json: TypeAlias = dict[str, Any]

_LINE = "    value = compute(argument)  # a line of a file that nobody wrote by hand\n"
_BYTES = 20_000_000
_MOST = 2.0
"""Milliseconds of the server's CPU for one answer."""


def actions(bench: Bench) -> Report:
    """At a cursor that moves, right after a key, so that nothing is left of the answer before."""
    report = Report()
    count = _BYTES // len(_LINE)
    uri = (bench.folder / "huge.py").as_uri()
    for _ in range(bench.sizes.repeats):
        with bench.pilothouse() as client:
            client.ask(
                "initialize", {"processId": None, "rootUri": bench.folder.as_uri(), "capabilities": {}}
            )
            client.notify("initialized", {})
            document = {"uri": uri, "languageId": "python", "version": 1, "text": _LINE * count}
            client.notify("textDocument/didOpen", {"textDocument": document})
            client.ask("agent/state", {})
            used = [_asked(client, uri, 2 + each, each * 37 % count) for each in range(bench.sizes.edits)]
            report.add("pilothouse cpu ms/answer", percentile([each * 1000 for each in used], 0.5))
    report.limit("pilothouse cpu ms/answer", at_most=_MOST)
    return report


def _asked(client: Client, uri: str, version: int, line: int) -> float:
    place = {"line": line, "character": 4}
    span = {"start": place, "end": place}
    typed = {
        "textDocument": {"uri": uri, "version": version},
        "contentChanges": [{"range": span, "text": "x"}],
    }
    client.notify("textDocument/didChange", typed)
    client.ask("agent/state", {})
    before = client.cpu
    client.ask(
        "textDocument/codeAction",
        {"textDocument": {"uri": uri}, "range": span, "context": {"diagnostics": []}},
    )
    return client.cpu - before
