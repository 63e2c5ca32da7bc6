"""A workspace folder, and the file tools of a session beside an editor."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from support.fake_editor import Editing
from support.file_tools import FileTools
from support.plugin_editor import PluginEditor, beside_plugin


@pytest.fixture
def full_counts(request: pytest.FixtureRequest) -> bool:
    """Whether to run as many edits and rounds as the promises are about."""
    return bool(request.config.getoption("--full-counts"))


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


@pytest.fixture
async def plugin() -> AsyncIterator[tuple[Editing, PluginEditor]]:
    """An editor that takes edits of files which it has not opened."""
    async with beside_plugin() as plugin:
        yield plugin


@pytest.fixture
async def beside(plugin: tuple[Editing, PluginEditor]) -> Editing:
    return plugin[0]


@pytest.fixture
async def editor(plugin: tuple[Editing, PluginEditor]) -> PluginEditor:
    return plugin[1]


@pytest.fixture
async def tools(beside: Editing, tools_beside: Callable[[Editing], Awaitable[FileTools]]) -> FileTools:
    return await tools_beside(beside)
