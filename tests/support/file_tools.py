"""The file tools of one session, run as the executor would: bound, then executed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from pilothouse_agent.files.disk_files import DiskFiles
from pilothouse_agent.files.open_files import OpenFiles
from pilothouse_agent.files.queue import WriteQueue
from pilothouse_agent.files.workspace import Workspace
from pilothouse_agent.kernel.json_types import JsonValue
from pilothouse_agent.kernel.messages import text_of
from pilothouse_agent.kernel.ports import Invocation, Tool
from pilothouse_agent.kernel.tooling import ToolError, ToolResult
from pilothouse_agent.tools.files.delete_file import DeleteFileTool
from pilothouse_agent.tools.files.edit_file import EditFileTool
from pilothouse_agent.tools.files.move_file import MoveFileTool
from pilothouse_agent.tools.files.read_file import ReadFileTool
from pilothouse_agent.tools.files.write_file import WriteFileTool
from support.context import RecordingContext

__all__ = ["FileTools"]

_LIMIT = 5.0


class FileTools:
    """`await tools.read_file(path="a")` gives the text the model reads; `refused` the text of the error."""

    def __init__(
        self,
        *folders: Path,
        queue: WriteQueue | None = None,
        open_files: Callable[[Workspace], OpenFiles] | None = None,
    ) -> None:
        self.workspace = Workspace(folders)
        self.queue = queue if queue is not None else WriteQueue()
        held = open_files(self.workspace) if open_files is not None else None
        if held is not None:
            self.workspace.foreign = held.foreign
        self.files = DiskFiles(self.queue, display=self.workspace.display, open_files=held)
        kinds = (ReadFileTool, WriteFileTool, EditFileTool, MoveFileTool, DeleteFileTool)
        self.all: list[Tool] = [kind(self.workspace, self.files) for kind in kinds]
        self._tools = {tool.spec.name: tool for tool in self.all}

    def use(self, tool: Tool) -> None:
        """In the place of the one of that name."""
        self._tools[tool.spec.name] = tool

    async def bind(self, name: str, **arguments: JsonValue) -> Invocation:
        return await asyncio.to_thread(self._tools[name].bind, arguments)

    async def run(self, name: str, **arguments: JsonValue) -> ToolResult:
        return await self.execute(await self.bind(name, **arguments))

    async def execute(self, invocation: Invocation) -> ToolResult:
        async with asyncio.timeout(_LIMIT):
            return await invocation.execute(RecordingContext())

    async def execution_refused(self, invocation: Invocation) -> str:
        with pytest.raises(ToolError) as caught:
            await self.execute(invocation)
        return str(caught.value)

    async def call(self, name: str, **arguments: JsonValue) -> str:
        return text_of((await self.run(name, **arguments)).content)

    async def read(self, path: str, **arguments: JsonValue) -> str:
        return await self.call("read_file", path=path, **arguments)

    async def write(self, path: str, content: str) -> str:
        return await self.call("write_file", path=path, content=content)

    async def edit(self, path: str, *edits: tuple[str, str]) -> str:
        listed: list[JsonValue] = [{"old_text": old, "new_text": new} for old, new in edits]
        return await self.call("edit_file", path=path, edits=listed)

    async def refused(self, name: str, **arguments: JsonValue) -> str:
        """The error the model reads; fails when the call is not refused."""
        return await self.execution_refused(await self.bind(name, **arguments))

    async def edit_refused(self, path: str, *edits: tuple[str, str]) -> str:
        listed: list[JsonValue] = [{"old_text": old, "new_text": new} for old, new in edits]
        return await self.refused("edit_file", path=path, edits=listed)
