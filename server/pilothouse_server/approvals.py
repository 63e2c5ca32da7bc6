"""Asks the client for approvals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pilothouse_agent.kernel.questions import Answer, Question
from pilothouse_agent.kernel.tooling import FileDiff
from pilothouse_server import method_names as names
from pilothouse_server import protocol
from pilothouse_server.transport.rpc import AgentProtocol
from pilothouse_server.wire import options_to_wire

__all__ = ["ClientApprover"]


class ClientApprover:
    """Puts the questions of one session to a client that declared `approvals`."""

    def __init__(self, rpc: AgentProtocol, session_id: str) -> None:
        self._rpc = rpc
        self._session_id = session_id

    async def ask(self, question: Question) -> Answer | None:
        """Waits as long as the user does. An answer that makes no sense counts as none (P4)."""
        params = _params(question, self._session_id)
        answer = await self._rpc.request(names.REQUEST_APPROVAL, params, limit=None)
        try:
            result = protocol.ApprovalResult.model_validate(answer)
        except ValidationError:
            return None
        return Answer(result.option_id, result.reason, result.stop, by="client")


def _params(question: Question, session_id: str) -> dict[str, Any]:
    call, preview = question.call, question.preview
    params: dict[str, Any] = {
        "approvalId": question.id,
        "sessionId": session_id,
        "runId": question.run_id,
        "toolCall": {
            "id": call.id,
            "name": call.name,
            "kind": question.kind,
            "arguments": call.arguments or {},
        },
        "title": question.title,
        "risk": question.risk,
        "options": options_to_wire(question.options),
    }
    if preview is not None and preview.command is not None:
        params["command"] = preview.command
    if preview is not None and preview.diffs:
        params["diffs"] = [_diff(diff) for diff in preview.diffs]
    return params


def _diff(diff: FileDiff) -> dict[str, Any]:
    hunks = [
        {"oldStart": hunk.old_start, "newStart": hunk.new_start, "lines": list(hunk.lines)}
        for hunk in diff.hunks
    ]
    wire: dict[str, Any] = {"uri": Path(diff.path).as_uri(), "hunks": hunks}
    if diff.old_text is not None:
        wire["oldText"] = diff.old_text
    if diff.new_text is not None:
        wire["newText"] = diff.new_text
    return wire
