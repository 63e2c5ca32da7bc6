"""What the client's language tools report: asked for by the model, and around its edits."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from pilothouse_agent.files.workspace import Workspace
from pilothouse_agent.kernel.abort import AbortSignal
from pilothouse_agent.kernel.hooks import FinishedCall, ResultPatch
from pilothouse_agent.kernel.messages import TextBlock, ToolCall
from pilothouse_agent.kernel.tooling import ToolError
from pilothouse_agent.tools.files.diagnostics import Diagnostic, Severity, listed
from pilothouse_server.transport.rpc import ClientGone, RequestFault, Rpc
from pilothouse_server.wire import method_names as names
from pilothouse_server.wire.json_object import json_object

__all__ = ["ClientDiagnostics", "DiagnosticsOfEdits"]

_LIMIT = 5.0
_LIMIT_AROUND_EDITS = 2.0
_SHOWN = 20
_EDITS = ("edit_file", "write_file")
_SEVERITIES: Mapping[object, Severity] = {1: "error", 2: "warning", 3: "information", 4: "hint"}


class ClientDiagnostics:
    """Implements `DiagnosticSource` over `editor/diagnostics`."""

    def __init__(self, rpc: Rpc, uri_of: Callable[[str], str]) -> None:
        """`uri_of` spells paths as the client does."""
        self._rpc = rpc
        self._uri_of = uri_of

    async def of(self, path: str, *, limit: float = _LIMIT) -> tuple[Diagnostic, ...]:
        """`limit` is in seconds."""
        try:
            answer = await self._rpc.request(names.DIAGNOSTICS, {"uri": self._uri_of(path)}, limit=limit)
        except RequestFault as error:
            raise ToolError(f"The editor refused to tell its diagnostics: {error}") from None
        except TimeoutError:
            raise ToolError(f"The editor did not tell its diagnostics within {limit:g} s.") from None
        except ClientGone:
            raise ToolError("The connection to the editor has ended.") from None
        return _read(answer)


class DiagnosticsOfEdits:
    """Hooks: what is new after an edit, compared with before it, is added to the edit's result.

    A client that once did not answer in time is not asked here again, so that edits stay quick.
    """

    def __init__(self, source: ClientDiagnostics, workspace: Workspace) -> None:
        self._source = source
        self._workspace = workspace
        self._before: dict[str, tuple[Diagnostic, ...]] = {}
        self._silent = False

    async def before_tool_call(self, call: ToolCall, signal: AbortSignal) -> None:
        path = (call.arguments or {}).get("path")
        if call.name not in _EDITS or not isinstance(path, str):
            return
        try:
            real = await asyncio.to_thread(self._workspace.real, path)
        except ToolError:
            return
        await self._look(real)

    async def after_tool_result(self, finished: FinishedCall) -> ResultPatch | None:
        call, result = finished.call, finished.result
        if call.name not in _EDITS or result.is_error or not result.locations:
            return None
        path = result.locations[0].path
        before = self._before.get(path)
        after = await self._look(path)
        if before is None or after is None:
            return None
        new = _new(before, after)
        if not new:
            return None
        text = f"[The editor reports, new since before this edit:]\n{listed(new, lines=_SHOWN)}\n"
        return ResultPatch(content=(*result.content, TextBlock(text)))

    async def _look(self, path: str) -> tuple[Diagnostic, ...] | None:
        if self._silent:
            return None
        try:
            self._before[path] = await self._source.of(path, limit=_LIMIT_AROUND_EDITS)
        except ToolError:
            self._silent = True
            return None
        return self._before[path]


def _new(before: Sequence[Diagnostic], after: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Errors and warnings that were not there; those that only moved to another line were."""
    known = Counter((each.severity, each.message, each.source) for each in before)
    new: list[Diagnostic] = []
    for each in after:
        key = (each.severity, each.message, each.source)
        if known[key]:
            known[key] -= 1
        elif each.severity in ("error", "warning"):
            new.append(each)
    return new


def _read(answer: Any) -> tuple[Diagnostic, ...]:
    """What can be understood of it."""
    given = json_object(answer).get("diagnostics")
    items = cast("list[Any]", given) if isinstance(given, list) else []
    found = [_diagnostic(json_object(item)) for item in items]
    return tuple(each for each in found if each is not None)


def _diagnostic(item: dict[str, Any]) -> Diagnostic | None:
    line = json_object(json_object(item.get("range")).get("start")).get("line")
    message = item.get("message")
    if not isinstance(line, int) or not isinstance(message, str):
        return None
    named = [str(item[name]) for name in ("source", "code") if isinstance(item.get(name), str | int)]
    return Diagnostic(line + 1, _SEVERITIES.get(item.get("severity"), "error"), message, " ".join(named))
