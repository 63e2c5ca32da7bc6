"""The file port on disk, one process's queue, and whom changes are made for."""

from __future__ import annotations

import pytest

from pilothouse_agent.files.disk_files import DiskFiles
from pilothouse_agent.files.queue import WriteQueue
from support.context import RecordingContext


@pytest.fixture
def queue() -> WriteQueue:
    return WriteQueue()


@pytest.fixture
def files(queue: WriteQueue) -> DiskFiles:
    return DiskFiles(queue)


@pytest.fixture
def scope() -> RecordingContext:
    return RecordingContext()
