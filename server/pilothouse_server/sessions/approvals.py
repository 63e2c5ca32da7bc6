"""Asks the client for approvals."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

from pydantic import ValidationError

from pilothouse_agent.files.uris import path_to_uri
from pilothouse_agent.kernel.questions import Answer, Question
from pilothouse_agent.kernel.tooling import FileDiff, Preview
from pilothouse_server.protocol.approvals import ApprovalResult
from pilothouse_server.protocol.kernel_values import to_wire
from pilothouse_server.protocol.shortened import brief, shortened_arguments, shortened_diffs, shortened_text
from pilothouse_server.transport.rpc import Rpc
from pilothouse_server.wire import method_names as names
from pilothouse_server.wire.faults import ClientGone, RequestFault

__all__ = ["ClientApprover", "preview_to_wire"]

logger = logging.getLogger(__name__)

UriOf: TypeAlias = Callable[[str], str]
"""The URI of an absolute path, as the client spells it."""


class ClientApprover:
    """Puts the questions of one session to a client that declared `approvals`."""

    def __init__(self, rpc: Rpc, session_id: str, uri_of: UriOf = path_to_uri) -> None:
        self._rpc = rpc
        self._uri_of = uri_of
        self._session_id = session_id

    async def ask(self, question: Question) -> Answer | None:
        """Waits as long as the user does. An answer that makes no sense counts as none (P4)."""
        params = _params(question, self._session_id, self._uri_of)
        answer = await _asked(self._rpc, names.REQUEST_APPROVAL, params)
        try:
            result = ApprovalResult.model_validate(answer, by_alias=True, by_name=False)
        except ValidationError:
            return None
        return Answer(result.option_id, result.reason, result.stop, by="client")


async def _asked(rpc: Rpc, method: str, params: dict[str, Any]) -> Any:
    """The result; None when the client cannot answer or is gone. Waits as long as the user does."""
    try:
        return await rpc.request(method, params, limit=None)
    except RequestFault as error:
        logger.warning("The client answered %s with error %d, which counts as no", method, error.code)
    except ClientGone:
        pass
    return None


def preview_to_wire(
    preview: Preview | None, uri: str | None = None, *, uri_of: UriOf = path_to_uri
) -> dict[str, Any]:
    """The whole of what is asked about, or of one file in it; empty when there is no such file."""
    diffs = (
        [diff for diff in preview.diffs if uri in (None, uri_of(diff.path))] if preview is not None else []
    )
    wire: dict[str, Any] = {"diffs": [_diff(diff, uri_of) for diff in diffs]} if diffs else {}
    if preview is not None and preview.command is not None and uri is None:
        wire["command"] = preview.command
    return wire


def _params(question: Question, session_id: str, uri_of: UriOf) -> dict[str, Any]:
    call, preview = question.call, question.preview
    arguments, arguments_cut = shortened_arguments(call.arguments or {})
    shown, cut = _shown(preview)
    return {
        "approvalId": question.id,
        "sessionId": session_id,
        "runId": question.run_id,
        "toolCall": {
            "id": call.id,
            "name": call.name,
            "kind": question.kind,
            "arguments": arguments,
            **({"argumentsCut": True} if arguments_cut else {}),
        },
        "title": brief(question.title),
        "risk": question.risk,
        "options": to_wire(question.options),
        **preview_to_wire(shown, uri_of=uri_of),
        **({"cut": True} if cut else {}),
    }


def _shown(preview: Preview | None) -> tuple[Preview | None, bool]:
    """As much of it as a question may hold, and whether something was cut."""
    if preview is None:
        return None, False
    command, command_cut = (None, False) if preview.command is None else shortened_text(preview.command)
    diffs, diffs_cut = shortened_diffs(preview.diffs)
    return replace(preview, command=command, diffs=tuple(diffs)), command_cut or diffs_cut


def _diff(diff: FileDiff, uri_of: UriOf) -> dict[str, Any]:
    hunks = [
        {"oldStart": hunk.old_start, "newStart": hunk.new_start, "lines": list(hunk.lines)}
        for hunk in diff.hunks
    ]
    wire: dict[str, Any] = {"uri": uri_of(diff.path), "hunks": hunks}
    if diff.old_text is not None:
        wire["oldText"] = diff.old_text
    if diff.new_text is not None:
        wire["newText"] = diff.new_text
    return wire
