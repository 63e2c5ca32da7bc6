"""What it costs to keep sessions: an append at any length, loading a long log, listing many."""

from __future__ import annotations

import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.report import Report
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.messages import AssistantMessage, Message, TextBlock, Usage, UserMessage
from pilothouse_agent.session.log.folder import LogFolder
from pilothouse_agent.session.log.kept import resumed_log
from pilothouse_agent.session.log.listing import list_sessions
from pilothouse_agent.session.log.log_file import LogFile
from pilothouse_agent.session.log.message_json import message_to_json
from pilothouse_agent.session.log.records import Header, Record, line_of, now

__all__ = ["kept_sessions"]

_TIME = datetime(2026, 1, 1, tzinfo=UTC)
_PART = 1_000
_SECOND = 1_000


def kept_sessions(bench: Bench) -> Report:
    report = Report()
    many = 50_000 if bench.sizes.repeats > 1 else 2 * _PART
    for _ in range(bench.sizes.repeats):
        with tempfile.TemporaryDirectory() as place:
            folder = LogFolder(Path(place))
            _long(report, folder, many)
            _listed(report, folder, many // 5)
    report.compare("append, last cpu us", "append, first cpu us", at_most=1.3)
    report.limit("load cpu ms", at_most=_SECOND)
    report.limit("list all cpu ms", at_most=_SECOND)
    return report


def _long(report: Report, folder: LogFolder, count: int) -> None:
    """Append so many records, and load them."""
    log = _created(folder, "/long", "session_long")
    before: str | None = None
    for start in range(0, count, _PART):
        begun = time.process_time()
        for number in range(start, start + _PART):
            value: JsonObject = {"message": message_to_json(_message(number))}
            record = Record(f"msg_{number}", before, now(), "message", value)
            log.append(line_of(record.to_json()))
            before = record.id
        each = (time.process_time() - begun) / _PART * 1e6
        if start == 0:
            report.add("append, first cpu us", each)
        elif start == count - _PART:
            report.add("append, last cpu us", each)
    log.close()
    begun = time.process_time()
    kept = resumed_log(folder, "session_long")
    report.add("load cpu ms", (time.process_time() - begun) * 1e3)
    assert kept.opened is not None
    kept.opened.close()


def _listed(report: Report, folder: LogFolder, count: int) -> None:
    """List a page of so many sessions, and all of them."""
    for number in range(count):
        log = _created(folder, "/many", f"session_{number}")
        summary: JsonObject = {"title": f"Session {number}", "prompt": "Hi", "model": "m/1", "messages": 2}
        records = [
            Record("msg_1", None, now(), "message", {"message": message_to_json(_message(1))}),
            Record("entry_1", "msg_1", now(), "run", {"state": "end", "summary": summary}),
        ]
        log.append(b"".join(line_of(record.to_json()) for record in records))
        log.close()
    for name, limit in (("list a page cpu ms", 50), ("list all cpu ms", count)):
        begun = time.process_time()
        list_sessions(folder, cwd="/many", limit=limit)
        report.add(name, (time.process_time() - begun) * 1e3)


def _created(folder: LogFolder, cwd: str, session_id: str) -> LogFile:
    return LogFile.create(folder.new(cwd, session_id), Header(session_id, cwd, (cwd,), now()))


def _message(number: int) -> Message:
    if number % 2:
        return UserMessage(f"msg_{number}", (TextBlock("Prompt " * 20),), _TIME)
    answer = (TextBlock("Answer " * 60),)
    return AssistantMessage(f"msg_{number}", answer, _TIME, "m/1", "stop", Usage(100 + number, 20))
