"""Asks the client for approvals."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from pilothouse_agent.kernel.questions import Answer, Question
from pilothouse_agent.kernel.tooling import FileDiff, Preview
from pilothouse_agent.tools.visible import visible
from pilothouse_server import method_names as names
from pilothouse_server import protocol
from pilothouse_server.shortened import brief, shortened_arguments, shortened_diffs, shortened_text
from pilothouse_server.transport.faults import ClientGone, RequestFault
from pilothouse_server.transport.rpc import Rpc
from pilothouse_server.wire import options_to_wire

__all__ = ["ClientApprover", "CommandApprover", "MessageApprover", "preview_to_wire"]

logger = logging.getLogger(__name__)

_SHOWN_LINES = 20
_KINDS = ("rejectOnce", "allowOnce", "allowAlways")
"""What a message offers, in its order. Rejecting comes first: it is what a closed dialog or a stray key
should mean."""


class ClientApprover:
    """Puts the questions of one session to a client that declared `approvals`."""

    def __init__(self, rpc: Rpc, session_id: str) -> None:
        self._rpc = rpc
        self._session_id = session_id

    async def ask(self, question: Question) -> Answer | None:
        """Waits as long as the user does. An answer that makes no sense counts as none (P4)."""
        params = _params(question, self._session_id)
        answer = await _asked(self._rpc, names.REQUEST_APPROVAL, params)
        try:
            result = protocol.ApprovalResult.model_validate(answer)
        except ValidationError:
            return None
        return Answer(result.option_id, result.reason, result.stop, by="client")


class MessageApprover:
    """Asks by `window/showMessageRequest`, for clients that know nothing of us.

    One such message is open per connection, because editors show one at a time and answer them in
    whatever order. The answer is the exact label of an option, since some clients give it by its letter.
    """

    def __init__(self, rpc: Rpc, turn: asyncio.Lock) -> None:
        self._rpc = rpc
        self._turn = turn

    async def ask(self, question: Question) -> Answer | None:
        options = {
            option.label: option.id for kind in _KINDS for option in question.options if option.kind == kind
        }
        params = {
            "type": 2,
            "message": _message(question),
            "actions": [{"title": title} for title in options],
        }
        async with self._turn:
            chosen = await _asked(self._rpc, names.SHOW_MESSAGE_REQUEST, params)
        title: object = cast("dict[str, Any]", chosen).get("title") if isinstance(chosen, dict) else None
        return Answer(options[title], by="client") if isinstance(title, str) and title in options else None


class CommandApprover:
    """Shows nothing by itself: the question stands in the chat document until a command answers it."""

    async def ask(self, question: Question) -> Answer | None:
        await asyncio.get_running_loop().create_future()


async def _asked(rpc: Rpc, method: str, params: dict[str, Any]) -> Any:
    """The result; None when the client cannot answer or is gone. Waits as long as the user does."""
    try:
        return await rpc.request(method, params, limit=None)
    except RequestFault as error:
        logger.warning("The client answered %s with error %d, which counts as no", method, error.code)
    except ClientGone:
        pass
    return None


def _message(question: Question) -> str:
    """The title, the command or as much of the diff as a dialog can hold, and what lasting answers cover."""
    lines = [f"Pilothouse: {question.title}?"]
    preview = question.preview
    if preview is not None and preview.command is not None:
        lines.append(preview.command)
    for diff in preview.diffs if preview is not None else ():
        lines += [line.rstrip("\r\n") for hunk in diff.hunks for line in hunk.lines if line[:1] in "+-"]
    if len(lines) > _SHOWN_LINES:
        lines[_SHOWN_LINES:] = [f"… {len(lines) - _SHOWN_LINES} more lines"]
    lines += [f"{option.label}: {option.scope}" for option in question.options if option.scope]
    return "\n".join(visible(line) for line in lines)


def preview_to_wire(preview: Preview | None, uri: str | None = None) -> dict[str, Any]:
    """The whole of what is asked about, or of one file in it; empty when there is no such file."""
    diffs = [diff for diff in preview.diffs if uri in (None, _uri(diff))] if preview is not None else []
    wire: dict[str, Any] = {"diffs": [_diff(diff) for diff in diffs]} if diffs else {}
    if preview is not None and preview.command is not None and uri is None:
        wire["command"] = preview.command
    return wire


def _params(question: Question, session_id: str) -> dict[str, Any]:
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
        "options": options_to_wire(question.options),
        **preview_to_wire(shown),
        **({"cut": True} if cut else {}),
    }


def _shown(preview: Preview | None) -> tuple[Preview | None, bool]:
    """As much of it as a question may hold, and whether something was cut."""
    if preview is None:
        return None, False
    command, command_cut = (None, False) if preview.command is None else shortened_text(preview.command)
    diffs, diffs_cut = shortened_diffs(preview.diffs)
    return replace(preview, command=command, diffs=tuple(diffs)), command_cut or diffs_cut


def _uri(diff: FileDiff) -> str:
    return Path(diff.path).as_uri()


def _diff(diff: FileDiff) -> dict[str, Any]:
    hunks = [
        {"oldStart": hunk.old_start, "newStart": hunk.new_start, "lines": list(hunk.lines)}
        for hunk in diff.hunks
    ]
    wire: dict[str, Any] = {"uri": _uri(diff), "hunks": hunks}
    if diff.old_text is not None:
        wire["oldText"] = diff.old_text
    if diff.new_text is not None:
        wire["newText"] = diff.new_text
    return wire
