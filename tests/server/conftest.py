"""What the tests of real servers share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.nursery import Nursery, nursery
from support.raw_client import RawClient


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    """Starts servers that have everything loaded."""
    with nursery(tmp_path_factory.mktemp("nursery")) as made:
        yield made


@pytest.fixture
def client(servers: Nursery, tmp_path: Path) -> Iterator[RawClient]:
    """Of such a server; nothing has been said yet."""
    with servers.started(tmp_path) as client:
        yield client
