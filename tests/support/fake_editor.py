"""An editor at the other end of a connection: it has buffers of its own, and habits of its own.

What it does to a text is written down a second time (`lsp_model`), so that server and editor can differ.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pilothouse_agent.files.workspace import Workspace
from pilothouse_agent.kernel.events import FileChangeKind
from pilothouse_agent.settings.settings import ClosedFiles
from pilothouse_server.client import handshake
from pilothouse_server.client.clients import USUAL, ClientProfile
from pilothouse_server.client.positions import Encoding, Position
from pilothouse_server.documents.document_methods import register_document_methods
from pilothouse_server.documents.documents import Documents
from pilothouse_server.documents.editor_side import EditorSide
from pilothouse_server.edits.closed_files import EditorClosedFiles
from pilothouse_server.edits.edit_request import Limits
from pilothouse_server.edits.editor_files import EditorFiles
from pilothouse_server.transport.front import Host
from pilothouse_server.transport.outbox import Outbox
from pilothouse_server.transport.rpc import Rpc
from pilothouse_server.wire import method_names as names
from pilothouse_server.wire.frames import FrameParser
from support.features import features, loaded
from support.lsp_model import apply, position_of

__all__ = ["NEVER", "Buffer", "FakeEditor", "Habits", "Refused", "as_edit", "editing"]

Json: TypeAlias = dict[str, Any]
OnApply: TypeAlias = "Callable[[FakeEditor, Json], Awaitable[Any]]"
"""Takes an edit's params; its result is the answer, `NEVER` for none, a list for several."""

NEVER = object()


class Refused(Exception):
    """Makes the answer an error."""


@dataclass(frozen=True, slots=True)
class Habits:
    told: Literal["before", "after", "later"] = "before"
    """When a change is told: before the answer to the edit, after it, or when `flush` is called."""
    merged: Literal["no", "several", "one", "whole"] = "no"
    """Changes that are told together: each in its own message, in one message, as one, or as all the text."""
    versions: bool = True
    """Whether an edit for another version is refused."""


@dataclass(slots=True)
class Buffer:
    uri: str
    text: str
    version: int
    told_text: str
    untold: list[tuple[int, tuple[int, int, str], str]] = field(
        default_factory=list[tuple[int, tuple[int, int, str], str]]
    )
    """Version, splice, and the text it was made in."""
    undo: list[str] = field(default_factory=list[str])
    """The texts before each step that one key takes back."""


class FakeEditor:
    def __init__(self, rpc: Rpc, encoding: Encoding, habits: Habits) -> None:
        self.habits = habits
        self.on_apply: OnApply = FakeEditor.honest
        self.on_save: OnApply = FakeEditor.obedient
        self.buffers: dict[str, Buffer] = {}
        self.edits: list[Json] = []
        """The params of every edit it was asked for."""
        self.saves: list[Json] = []
        """The params of every `editor/save`."""
        self.on_disk = ""
        """What it takes over when it is asked to reload."""
        self.reloaded: list[str] = []
        """The URIs that it was asked to reload."""
        self.asked = asyncio.Event()
        self.withdrawn: list[str] = []
        """Ids of requests that the server took back."""
        self._rpc = rpc
        self._encoding: Encoding = encoding
        self._parser = FrameParser()
        self._answering: set[asyncio.Task[None]] = set()

    def open(self, path: Path | str, *, text: str | None = None, version: int = 1, uri: str = "") -> Buffer:
        """Without a text with the file's own, as UTF-8 without its mark."""
        uri = uri or Path(path).as_uri()
        if text is None:
            text = Path(path).read_bytes().decode("utf-8-sig")
        buffer = self.buffers[uri] = Buffer(uri, text, version, text)
        document = {"uri": uri, "languageId": "x", "version": version, "text": text}
        self.notify(names.DID_OPEN, {"textDocument": document})
        return buffer

    def close(self, buffer: Buffer) -> None:
        del self.buffers[buffer.uri]
        self.notify(names.DID_CLOSE, {"textDocument": {"uri": buffer.uri}})

    def save(self, buffer: Buffer) -> None:
        """Tells of it only; what is on disk is the test's affair."""
        self.flush(buffer)
        self.notify(names.DID_SAVE, {"textDocument": {"uri": buffer.uri}, "text": buffer.text})

    def type(self, buffer: Buffer, index: int, new: str, *, over: int = 0) -> None:
        """What the user puts at `index`, over so many characters; told according to habit."""
        buffer.undo.append(buffer.text)
        self._splice(buffer, index, index + over, new)
        if self.habits.told != "later":
            self.flush(buffer)

    def reset(self, buffer: Buffer, text: str) -> None:
        """Make the text another one, told at once."""
        buffer.undo.append(buffer.text)
        self._splice(buffer, 0, len(buffer.text), text)
        self.flush(buffer)

    def undo(self, buffer: Buffer) -> None:
        before = buffer.undo.pop()
        self._splice(buffer, 0, len(buffer.text), before)
        self.flush(buffer)

    def flush(self, buffer: Buffer) -> None:
        """Tell the changes that have not been told."""
        untold, buffer.untold = buffer.untold, []
        if not untold:
            return
        match self.habits.merged:
            case "no":
                for version, splice, text in untold:
                    self._tell(buffer, version, [self._change(text, splice)])
            case "several":
                changes = [self._change(text, splice) for _, splice, text in untold]
                self._tell(buffer, buffer.version, changes)
            case "one":
                splice = _difference(buffer.told_text, buffer.text)
                self._tell(buffer, buffer.version, [self._change(buffer.told_text, splice)])
            case "whole":
                self._tell(buffer, buffer.version, [{"text": buffer.text}])
        buffer.told_text = buffer.text

    def flush_all(self) -> None:
        for buffer in self.buffers.values():
            self.flush(buffer)

    async def honest(self, params: Json) -> Json:
        """Check, apply, say so; tell the change before or after that, according to habit."""
        return self.taken(params)

    async def obedient(self, params: Json) -> Json:
        """Save what it is asked to."""
        return self.saved(params)

    def taken(self, params: Json) -> Json:
        (entry,) = params["edit"]["documentChanges"]
        buffer = self.buffers.get(entry["textDocument"]["uri"])
        if buffer is None or (self.habits.versions and entry["textDocument"]["version"] != buffer.version):
            return {"applied": False}
        self.apply(params)
        return {"applied": True}

    def saved(self, params: Json) -> Json:
        raise Refused("no such method")

    def apply(self, params: Json) -> Buffer:
        """All edits as one step of undo, without a look at the version."""
        (entry,) = params["edit"]["documentChanges"]
        buffer = self.buffers[entry["textDocument"]["uri"]]
        buffer.undo.append(buffer.text)
        edits = [as_edit(each) for each in entry["edits"]]
        whole = apply(buffer.text, edits, self._encoding)
        for edit in reversed(edits):
            text = apply(buffer.text, [edit], self._encoding)
            start, end, new = _difference(buffer.text, text)
            self._splice(buffer, start, end, new)
        assert buffer.text == whole
        if self.habits.told == "before":
            self.flush(buffer)
        return buffer

    def notify(self, method: str, params: Json) -> None:
        self._rpc.receive(_message(method, params))

    def read(self, descriptor: int) -> None:
        """Take what has come from the server."""
        with suppress(BlockingIOError):
            self._parser.push(os.read(descriptor, 1 << 20))
        for body in self._parser.bodies():
            self._take(json.loads(body))

    async def end(self) -> None:
        for task in self._answering:
            task.cancel()
        await asyncio.gather(*self._answering, return_exceptions=True)

    def _take(self, message: Json) -> None:
        method = message.get("method")
        if method == names.CANCEL:
            self.withdrawn.append(message["params"]["id"])
        elif method is not None and "id" in message:
            task = asyncio.create_task(self._answer(message["id"], method, message.get("params") or {}))
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)

    async def refreshed(self, params: Json) -> None:
        """Any other request: documents that it names are reloaded, to the text that `on_disk` gives."""
        for uri in params.get("uris", []):
            self.reloaded.append(uri)
            self.reset(self.buffers[uri], self.on_disk)
            self.save(self.buffers[uri])

    async def _answer(self, msg_id: str, method: str, params: Json) -> None:
        if method in (names.APPLY_EDIT, names.SAVE):
            asked, behave = (
                (self.edits, self.on_apply) if method == names.APPLY_EDIT else (self.saves, self.on_save)
            )
            asked.append(params)
            self.asked.set()
        else:
            behave = type(self).refreshed
        try:
            answer = await behave(self, params)
        except Refused as refused:
            self._receive(
                {"jsonrpc": "2.0", "id": msg_id, "error": {"code": -32603, "message": str(refused)}}
            )
            answer = NEVER
        for each in answer if isinstance(answer, list) else [answer]:  # pyright: ignore[reportUnknownVariableType]
            if each is not NEVER:
                self._receive({"jsonrpc": "2.0", "id": msg_id, "result": each})
        if self.habits.told == "after":
            self.flush_all()

    def _splice(self, buffer: Buffer, start: int, end: int, new: str) -> None:
        before = buffer.text
        buffer.text = before[:start] + new + before[end:]
        buffer.version += 1
        buffer.untold.append((buffer.version, (start, end, new), before))

    def _change(self, text: str, splice: tuple[int, int, str]) -> Json:
        start, end, new = splice
        span = {
            "start": position_of(text, start, self._encoding).to_wire(),
            "end": position_of(text, end, self._encoding).to_wire(),
        }
        return {"range": span, "text": new}

    def _tell(self, buffer: Buffer, version: int, changes: list[Json]) -> None:
        document = {"uri": buffer.uri, "version": version}
        self.notify(names.DID_CHANGE, {"textDocument": document, "contentChanges": changes})

    def _receive(self, message: Json) -> None:
        self._rpc.receive(json.dumps(message).encode())


@dataclass(slots=True)
class Editing:
    """Both ends."""

    editor: FakeEditor
    documents: Documents
    rpc: Rpc
    limits: Limits
    profile: ClientProfile = USUAL
    kinds: frozenset[FileChangeKind] = frozenset()
    """What the editor can be asked to do with files that are not open."""
    route: ClosedFiles = "auto"
    can_reload: bool = False
    told: list[str] = field(default_factory=list[str])
    """What the user was told."""

    def files(self, workspace: Workspace) -> EditorFiles:
        shared: Json = {"display": workspace.display, "limits": self.limits}
        closed = EditorClosedFiles(self.rpc, self.documents, self.kinds, route=lambda: self.route, **shared)
        return EditorFiles(
            self.rpc,
            self.documents,
            profile=self.profile,
            closed=closed,
            can_reload=self.can_reload,
            tell=self.told.append,
            **shared,
        )

    def text(self, buffer: Buffer) -> tuple[str, str | None]:
        """What the server takes for the buffer's text, and its doubt."""
        document = self.documents.get(buffer.uri)
        assert document is not None
        return document.text, document.doubt


class _Front:
    """The server's methods for documents, without its agent."""

    def __init__(self) -> None:
        self.rpc: Rpc
        self.side: EditorSide | None = None

    def initialize(self, params: Json) -> Json:
        client = handshake.introduce(params)
        self.side = EditorSide(client)
        return handshake.answer(client, "0")

    async def shut_down(self) -> None: ...

    def exit(self, code: int) -> None: ...

    def garbled(self, body: bytes) -> None:
        assert self.side is not None
        self.side.documents.garbled(body)

    def needs(self, method: str, *, asked: bool) -> bool:
        return True

    def load(self) -> asyncio.Future[Host]:
        assert self.side is not None
        server = features(self.rpc)
        register_document_methods(server, self.side)
        return loaded(server.protocol)


@asynccontextmanager
async def editing(
    encoding: Encoding = "utf-16",
    habits: Habits | None = None,
    *,
    limits: Limits | None = None,
    profile: ClientProfile = USUAL,
    make: Callable[[Rpc, Encoding, Habits], FakeEditor] = FakeEditor,
    kinds: frozenset[FileChangeKind] = frozenset(),
) -> AsyncGenerator[Editing]:
    """An editor and the server's side of it, over pipes and frames. The limits are short ones."""
    end, entry = os.pipe()
    os.set_blocking(end, False)
    loop, front = asyncio.get_running_loop(), _Front()
    outbox = Outbox(entry, loop, on_broken=lambda: None)
    outbox.start()
    rpc = front.rpc = Rpc(outbox, front)
    editor = make(rpc, encoding, habits or Habits())
    loop.add_reader(end, editor.read, end)
    capabilities = {"general": {"positionEncodings": [encoding]}}
    rpc.receive(_message("initialize", {"capabilities": capabilities, "rootUri": "file:///"}, id=0))
    assert front.side is not None
    try:
        short = limits or Limits(1, 0.2, 0.1, 0.5, settle=0.4)
        yield Editing(editor, front.side.documents, rpc, short, profile, kinds)
    finally:
        await editor.end()
        await rpc.close()
        loop.remove_reader(end)
        os.close(end)
        await outbox.close(1)
        with suppress(OSError):
            os.close(entry)


def _message(method: str, params: Json, **fields: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **fields, "method": method, "params": params}).encode()


def as_edit(each: Json) -> tuple[Position, Position, str]:
    span = each["range"]
    return Position(**span["start"]), Position(**span["end"]), each["newText"]


def _difference(old: str, new: str) -> tuple[int, int, str]:
    """The least that differs, in one piece, with no position between CR and LF."""
    start = _alike(old, new)
    while start and (old[start - 1 : start + 1] == "\r\n" or new[start - 1 : start + 1] == "\r\n"):
        start -= 1
    back = _alike(old[start:][::-1], new[start:][::-1])
    while back and (_splits(old, len(old) - back) or _splits(new, len(new) - back)):
        back -= 1
    return start, len(old) - back, new[start : len(new) - back]


def _alike(one: str, other: str) -> int:
    return next(
        (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


def _splits(text: str, place: int) -> bool:
    return text[place - 1 : place + 1] == "\r\n" and place > 0
