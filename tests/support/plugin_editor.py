"""An editor with a plugin: it checks an edit as a whole before it makes any of it, and saves when asked."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal, TypeAlias
from urllib.parse import unquote, urlsplit

from pilothouse_agent.kernel.events import FileChangeKind
from pilothouse_server.client.positions import Encoding
from pilothouse_server.edits.edit_request import Limits
from pilothouse_server.transport.rpc import Rpc
from support.fake_editor import Buffer, Editing, FakeEditor, Habits, as_edit, editing
from support.lsp_model import apply

__all__ = ["PluginEditor", "beside_plugin"]

Json: TypeAlias = dict[str, Any]

ALL: frozenset[FileChangeKind] = frozenset({"modify", "create", "rename", "delete"})


class PluginEditor(FakeEditor):
    def __init__(self, rpc: Rpc, encoding: Encoding, habits: Habits) -> None:
        super().__init__(rpc, encoding, habits)
        self.opens: Literal["old", "new"] = "old"
        """With which text it opens a file for an edit."""
        self.creates: Literal["buffer", "disk"] = "buffer"
        """Where the text of a new file is put first."""
        self.keeps_line_ends = True
        """Whether it tells documents with the line ends they have on disk; else with LF."""

    def buffer(self, path: Path) -> Buffer:
        return self.buffers[path.as_uri()]

    def taken(self, params: Json) -> Json:
        steps: list[Json] = params["edit"]["documentChanges"]
        if "kind" not in steps[0] and steps[0]["textDocument"]["version"] is not None:
            return super().taken(params)
        fault = self._fault(steps[0])
        if fault:
            return {"applied": False, "failureReason": fault}
        make = {"create": self._create, "rename": self._rename, "delete": self._delete}
        make.get(steps[0].get("kind", ""), self._edit)(steps)
        return {"applied": True}

    def saved(self, params: Json) -> Json:
        for file in params["files"]:
            if self.buffers[file["uri"]].version != file["version"]:
                refusal = {"uri": file["uri"], "reason": "it has another version"}
                return {"saved": [], "refused": [refusal]}
            self.write(self.buffers[file["uri"]])
        return {"saved": [file["uri"] for file in params["files"]], "refused": []}

    def write(self, buffer: Buffer) -> None:
        """Save it to disk."""
        path, text = _path(buffer.uri), buffer.text
        if not self.keeps_line_ends and b"\r\n" in path.read_bytes():
            text = text.replace("\n", "\r\n")
        path.write_bytes(text.encode())
        self.save(buffer)

    def _fault(self, step: Json) -> str | None:
        kind = step.get("kind", "edit")
        path = _path(step["textDocument"]["uri"] if kind == "edit" else step.get("uri") or step["oldUri"])
        buffer = self.buffers.get(path.as_uri())
        if kind != "edit" and step.keys() - {"kind", "uri", "oldUri", "newUri"}:
            return "it has options"
        if kind == "create":
            return "it exists" if path.exists() or buffer else None
        if kind == "rename" and _path(step["newUri"]).exists():
            return "the new name is taken"
        if buffer and buffer.text != path.read_bytes().decode():
            return "it has unsaved text"
        return None if path.exists() else "there is no such file"

    def _edit(self, steps: list[Json]) -> None:
        path = _path(steps[0]["textDocument"]["uri"])
        text = path.read_bytes().decode()
        edits = steps[0]["edits"]
        self._put(edits, path, text if self.keeps_line_ends else text.replace("\r\n", "\n"))

    def _create(self, steps: list[Json]) -> None:
        path = _path(steps[0]["uri"])
        path.touch()
        edits = [edit for step in steps[1:] for edit in step["edits"]]
        if self.creates == "disk":
            path.write_bytes("".join(edit["newText"] for edit in edits).encode())
        else:
            self._put(edits, path, "")

    def _rename(self, steps: list[Json]) -> None:
        path, new_path = _path(steps[0]["oldUri"]), _path(steps[0]["newUri"])
        path.rename(new_path)
        if buffer := self.buffers.get(path.as_uri()):
            self.close(buffer)
            self.open(new_path)

    def _delete(self, steps: list[Json]) -> None:
        path = _path(steps[0]["uri"])
        path.unlink()
        if buffer := self.buffers.get(path.as_uri()):
            self.close(buffer)

    def _put(self, edits: list[Json], path: Path, text: str) -> None:
        """As every editor does: LF in new text becomes the line end of the document."""
        if "\r\n" in text:
            edits = [{**edit, "newText": edit["newText"].replace("\n", "\r\n")} for edit in edits]
        if path.as_uri() not in self.buffers:
            new = apply(text, [as_edit(edit) for edit in edits], self._encoding)
            self.open(path, text=new if self.opens == "new" else text)
            if self.opens == "new":
                return
        if edits:
            entry = {"textDocument": {"uri": path.as_uri()}, "edits": edits}
            self.apply({"edit": {"documentChanges": [entry]}})


@asynccontextmanager
async def beside_plugin(
    habits: Habits | None = None,
    *,
    limits: Limits | None = None,
    kinds: frozenset[FileChangeKind] = ALL,
    encoding: Encoding = "utf-16",
) -> AsyncGenerator[tuple[Editing, PluginEditor]]:
    async with editing(encoding, habits, limits=limits, make=PluginEditor, kinds=kinds) as beside:
        assert isinstance(beside.editor, PluginEditor)
        yield beside, beside.editor


def _path(uri: str) -> Path:
    return Path(unquote(urlsplit(uri).path))
