"""The methods for sessions that are kept: list, load, fork, rename, delete, export."""

from __future__ import annotations

import asyncio
import os

from pygls.lsp.server import LanguageServer

from pilothouse_agent.kernel.errors import NothingToContinue
from pilothouse_agent.session.log.listing import Listed
from pilothouse_server.client.document_uris import path_of
from pilothouse_server.protocol import kept as k
from pilothouse_server.protocol import models as protocol
from pilothouse_server.protocol.kernel_values import to_wire
from pilothouse_server.sessions.session_methods import snapshot_of
from pilothouse_server.sessions.sessions import Sessions, new_session_id
from pilothouse_server.transport.rpc import Waiting
from pilothouse_server.wire import method_names as names

__all__ = ["register_kept_methods"]


def register_kept_methods(server: LanguageServer, book: Sessions) -> None:
    @server.feature(names.SESSION_LIST)
    def page(params: k.ListParams) -> Waiting:
        return Waiting(_page(book, params), lambda: None)

    @server.feature(names.SESSION_LOAD)
    def load(params: k.LoadParams) -> Waiting:
        return Waiting(_loaded(book, params), lambda: None)

    @server.feature(names.SESSION_FORK)
    def fork(params: k.ForkParams) -> Waiting:
        return Waiting(_forked(book, params), lambda: None)

    @server.feature(names.SESSION_RENAME)
    def rename(params: k.RenameParams) -> Waiting:
        return Waiting(_renamed(book, params), lambda: None)

    @server.feature(names.SESSION_DELETE)
    def delete(params: k.DeleteParams) -> Waiting:
        return Waiting(_deleted(book, params.session_id), lambda: None)

    @server.feature(names.SESSION_EXPORT)
    def export(params: k.ExportParams) -> Waiting:
        return Waiting(_exported(book, params), lambda: None)

    _ = (page, load, fork, rename, delete, export)


async def _page(book: Sessions, params: k.ListParams) -> k.ListResult:
    cwd = params.cwd and (path_of(params.cwd) if params.cwd.startswith("file:") else params.cwd)
    states = {session.id: session.agent.busy for session in book.all()}

    def look() -> k.ListResult:
        page = book.kept.page(
            cwd=cwd and os.path.normpath(cwd),
            query=params.query or "",
            limit=params.limit,
            cursor=params.cursor,
        )
        sessions = [_listed(entry, states.get(entry.session_id)) for entry in page.sessions]
        return k.ListResult(sessions=sessions, cursor=page.cursor)

    return await asyncio.to_thread(look)


def _listed(entry: Listed, busy: bool | None) -> k.ListedSession:
    """`busy`: of a session that is open here."""
    locked = busy is None and entry.locked
    cost = entry.usage.cost if entry.usage is not None else None
    return k.ListedSession(
        session_id=entry.session_id,
        cwd=entry.cwd,
        title=entry.title,
        created=entry.created,
        updated=entry.updated,
        model=entry.model,
        messages=entry.messages,
        cost=None if cost is None else format(cost, "f"),
        state="running" if busy else "locked" if locked else "idle",
    )


async def _loaded(book: Sessions, params: k.LoadParams) -> k.LoadResult:
    session, returned = await book.load(params.session_id)
    run_id = session.agent.run_id
    if params.continue_ and not session.agent.busy:
        try:
            run_id = session.agent.continue_().run_id
        except NothingToContinue:
            run_id = None
    stream = book.stream(session.id)
    return k.LoadResult(
        snapshot=snapshot_of(session, stream, book),
        epoch=stream.epoch,
        returned=[protocol.ReturnedItem.model_validate(to_wire(item)) for item in returned],
        run_id=run_id,
    )


async def _forked(book: Sessions, params: k.ForkParams) -> k.ForkResult:
    new_id = new_session_id()
    await asyncio.to_thread(book.kept.fork, params.session_id, new_id, params.message_id)
    return k.ForkResult(session_id=new_id)


async def _renamed(book: Sessions, params: k.RenameParams) -> protocol.EmptyResult:
    session = next((each for each in book.all() if each.id == params.session_id), None)
    if session is not None and session.keeping is not None:
        await session.keeping.rename(params.title)
    else:
        await asyncio.to_thread(book.kept.rename, params.session_id, params.title)
    return protocol.EmptyResult()


async def _deleted(book: Sessions, session_id: str) -> protocol.EmptyResult:
    """One that is open here is ended first."""
    if any(session.id == session_id for session in book.all()):
        await book.close_session(session_id)
    await asyncio.to_thread(book.kept.delete, session_id)
    return protocol.EmptyResult()


async def _exported(book: Sessions, params: k.ExportParams) -> k.ExportResult:
    text = await asyncio.to_thread(book.kept.export, params.session_id, params.format)
    return k.ExportResult(text=text)
