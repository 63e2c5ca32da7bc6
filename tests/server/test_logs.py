from __future__ import annotations

import logging
import os
import select
import stat
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from pilothouse_server.transport.logs import InertFormatter, StderrHandler, ThreadHandler, log_to_file
from pilothouse_server.transport.private_log import PrivateLog


def record(text: str) -> logging.LogRecord:
    return logging.LogRecord("somebody", logging.ERROR, "", 0, text, None, None)


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe()
    yield reader, writer
    for end in (reader, writer):
        with suppress(OSError):
            os.close(end)


def test_a_record_is_a_line_on_standard_error(pipe: tuple[int, int]) -> None:
    StderrHandler(pipe[1]).emit(record("hello 😋 \ud83d"))

    assert os.read(pipe[0], 100) == "hello 😋 \\ud83d\n".encode()


def test_a_full_pipe_drops_records_and_nobody_waits(pipe: tuple[int, int]) -> None:
    handler = StderrHandler(pipe[1])
    for _ in range(1000):
        handler.emit(record("x" * 1000))
    taken = os.read(pipe[0], 1 << 20)
    handler.emit(record("after"))

    assert set(taken.splitlines()) == {b"x" * 1000}
    assert os.read(pipe[0], 1 << 20).splitlines()[-1] == b"after"


def test_a_long_record_is_cut_in_its_middle_to_what_a_pipe_takes_at_once(pipe: tuple[int, int]) -> None:
    StderrHandler(pipe[1]).emit(record("a" * 2000 + "b" * 4000))
    taken = os.read(pipe[0], 1 << 20)

    assert len(taken) == select.PIPE_BUF
    assert taken.split(b"\n") == [b"a" * 1024, b"...", b"b" * (select.PIPE_BUF - 1024 - 6), b""]


@pytest.mark.covers("R181")
def test_a_reader_that_is_gone_is_passed_over(pipe: tuple[int, int]) -> None:
    os.close(pipe[0])

    StderrHandler(pipe[1]).emit(record("x"))


class Slow(logging.Handler):
    """Handles nothing before it may."""

    def __init__(self) -> None:
        super().__init__()
        self.may = threading.Event()
        self.handled: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.may.wait(5)
        self.handled.append(record.getMessage())


def test_a_thread_writes_records_in_order_and_those_without_room_are_dropped() -> None:
    slow = Slow()
    handler = ThreadHandler(slow, room=10)
    for number in range(100):
        handler.emit(record(f"{number}"))
    slow.may.set()
    handler.close()

    kept = [int(text) for text in slow.handled]
    assert kept == list(range(len(kept)))
    assert 10 <= len(kept) <= 11


@pytest.fixture
def root() -> Iterator[logging.Logger]:
    """The root logger, as it was afterwards."""
    logger = logging.getLogger()
    handlers, levels = list(logger.handlers), {name: logging.getLogger(name).level for name in PACKAGES}
    yield logger
    for handler in [handler for handler in logger.handlers if handler not in handlers]:
        logger.removeHandler(handler)
        handler.close()
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


PACKAGES = ("pilothouse_agent", "pilothouse_server", "pilothouse_cli")


def test_the_file_has_our_own_records_from_info_on_and_those_of_others_from_warnings_on(
    tmp_path: Path, root: logging.Logger
) -> None:
    path = tmp_path / "new" / "server.log"
    log_to_file(path)
    for name in (*PACKAGES, "httpx"):
        for level in (logging.DEBUG, logging.INFO, logging.WARNING):
            logging.getLogger(f"{name}.part").log(level, "said")
    for handler in list(root.handlers):
        handler.close() if isinstance(handler, ThreadHandler) else None

    lines = [line.split(" ", 3)[3] for line in path.read_text(encoding="utf-8").splitlines()]
    assert lines == [
        *(f"{level} {name}.part: said" for name in PACKAGES for level in ("INFO", "WARNING")),
        "WARNING httpx.part: said",
    ]


def test_a_file_that_cannot_be_written_is_said_and_done_without(
    tmp_path: Path, root: logging.Logger, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    path = tmp_path / "file" / "server.log"
    log_to_file(path)

    assert [record.getMessage() for record in caplog.records] == [f"No log is kept in {path}: File exists"]


@pytest.mark.covers("R264")
def test_nothing_in_a_record_acts_or_looks_like_another_record() -> None:
    formatter = InertFormatter("%(levelname)s %(name)s: %(message)s")
    try:
        raise ValueError("of \x1b[2J")
    except ValueError:
        told = logging.LogRecord(
            "us", logging.ERROR, "", 0, "one\nERROR two\r\x1b\x85\u2028\u202e", None, sys.exc_info()
        )
    lines = formatter.format(told).split("\n")

    assert (lines[0], lines[-1]) == (
        "ERROR us: one\\nERROR two\\r\\x1b\\x85\\u2028\\u202e",
        "ValueError: of \\x1b[2J",
    )


@pytest.mark.covers("R275")
def test_the_log_is_for_its_owner_alone_also_an_old_one_and_those_that_were_turned_over(
    tmp_path: Path,
) -> None:
    path = tmp_path / "state" / "server.log"
    path.parent.mkdir()
    path.touch(0o644)
    log = PrivateLog(path)
    log.emit(record("before"))
    log.doRollover()
    log.emit(record("after"))
    log.close()

    kept = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    assert kept == {"server.log": 0o600, "server.log.1": 0o600}
    assert path.read_text(encoding="utf-8") == "after\n"
