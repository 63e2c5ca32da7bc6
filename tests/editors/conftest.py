"""A workspace folder, and the file tools of a session beside an editor."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from support.fake_editor import Editing
from support.file_tools import FileTools


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    folder.mkdir()
    return folder


@pytest.fixture
def tools_beside(folder: Path) -> Callable[[Editing], Awaitable[FileTools]]:
    async def make(beside: Editing) -> FileTools:
        return await asyncio.to_thread(FileTools, folder, open_files=beside.files)

    return make
