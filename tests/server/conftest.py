"""What the tests of real servers share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.nursery import Nursery, nursery
from support.plain_work import AtWork, works
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


@pytest.fixture
def at_work(servers: Nursery, tmp_path: Path) -> Iterator[AtWork]:
    """Begins work in an editor without a plugin; its end is the test's."""
    with works(servers, tmp_path) as begin:
        yield begin
