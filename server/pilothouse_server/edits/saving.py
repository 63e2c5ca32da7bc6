"""Asking the client to save documents just as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from pilothouse_server.documents.document import Document
from pilothouse_server.transport.rpc import ClientGone, RequestFault, Rpc
from pilothouse_server.wire import method_names as names

__all__ = ["SAVE_LIMIT", "ask_to_save"]

SAVE_LIMIT = 10.0
"""Seconds for the client's answer."""


async def ask_to_save(rpc: Rpc, documents: Sequence[Document], *, limit: float = SAVE_LIMIT) -> str | None:
    """Why it did not save all of them, as a clause; None when it says that it did, which may not be so.

    Asks in the step in which it is awaited first. Raises nothing.
    """
    files = [{"uri": document.uri, "version": document.version} for document in documents]
    try:
        answer = await rpc.request(names.SAVE, {"files": files}, limit=limit)
    except RequestFault as fault:
        return str(fault)
    except TimeoutError:
        return "the editor did not answer"
    except ClientGone:
        return "the connection to the editor has ended"
    return _refusal(answer)


def _refusal(answer: Any) -> str | None:
    """The first one; answers of any shape are met."""
    refused = cast("dict[str, Any]", answer).get("refused") if isinstance(answer, dict) else None
    if not isinstance(refused, list) or not refused:
        return None
    first = cast("list[Any]", refused)[0]
    reason = cast("dict[str, Any]", first).get("reason") if isinstance(first, dict) else None
    return str(reason) if reason else "the editor refused to save it without a reason"
