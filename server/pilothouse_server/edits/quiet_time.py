"""When an edit may be sent to a client whose versions do not keep it off what has just been typed."""

from __future__ import annotations

import asyncio
import time

from pilothouse_server.client.clients import Versions
from pilothouse_server.documents.document import Document
from pilothouse_server.edits.edit_request import Limits
from pilothouse_server.transport.rpc import Rpc

__all__ = ["until_quiet"]


async def until_quiet(document: Document, rpc: Rpc, versions: Versions, limits: Limits) -> bool:
    """Whether there was such a moment within the limits."""
    match versions:
        case "exact":
            return True
        case "late":
            await _until_rested(document, rpc, limits)
            return True
        case "none":
            return await _until_still(document, limits)


async def _until_rested(document: Document, rpc: Rpc, limits: Limits) -> None:
    """Until the keys rest for sure, since only then changes are told, or nothing was told for long."""
    while not document.closed:
        age = time.monotonic() - max(document.told_at, rpc.answered_by_person_at)
        if age < limits.fresh or age >= limits.rest:
            return
        await document.changed(document.version, limits.rest - age)


async def _until_still(document: Document, limits: Limits) -> bool:
    try:
        async with asyncio.timeout(limits.patience):
            while (left := limits.still - (time.monotonic() - document.told_at)) > 0 and not document.closed:
                await document.changed(document.version, left)
    except TimeoutError:
        return False
    return True
