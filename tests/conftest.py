"""What all tests share: slow ones and real editors last, the event loop never blocked by our own code."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from blockbuster import BlockBuster, blockbuster_ctx


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--full-counts",
        action="store_true",
        help="real editors: as many edits and rounds as the promises are about, not the few of every day",
    )


def pytest_configure() -> None:
    # Whoever starts the tests may have some ignored (nohup and `&` do), and children would inherit that.
    for number, heard in ((signal.SIGHUP, signal.SIG_DFL), (signal.SIGINT, signal.default_int_handler)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, heard)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: [item.get_closest_marker(name) is not None for name in ("editor", "slow")])


@pytest.fixture(autouse=True)
def _loop_is_never_blocked() -> Iterator[BlockBuster]:  # pyright: ignore[reportUnusedFunction]
    with blockbuster_ctx(["pilothouse_agent", "pilothouse_server", "pilothouse_cli"]) as blockbuster:
        yield blockbuster
