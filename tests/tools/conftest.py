"""A workspace folder, a call's context, and a short way to run the file tools."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from support.context import RecordingContext
from support.file_tools import FileTools


@pytest.fixture
def context() -> RecordingContext:
    return RecordingContext()


@pytest.fixture
def new_context() -> Callable[..., RecordingContext]:
    """Makes contexts of further calls: `new_context("call-2", signal)`."""
    return RecordingContext


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty workspace folder, beside which a test may put things that are outside of it."""
    folder = tmp_path / "ws"
    folder.mkdir()
    return folder


@pytest.fixture
def tools(folder: Path) -> FileTools:
    """The file tools of one session in `folder`."""
    return FileTools(folder)
