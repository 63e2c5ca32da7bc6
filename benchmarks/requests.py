"""What a request costs that goes on from a long conversation, from the transcript to its body."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

from benchmarks.bench import Bench
from benchmarks.report import Report
from pilothouse_agent.kernel.messages import (
    AssistantMessage,
    CustomMessage,
    Message,
    TextBlock,
    UserMessage,
)
from pilothouse_agent.kernel.request import ModelRequest
from pilothouse_agent.kernel.transcript import Transcript
from pilothouse_agent.models.chat_completions.request import ChatRequests

__all__ = ["custom_messages"]

_TIME = datetime(2026, 1, 1, tzinfo=UTC)
_COUNTS = (10, 64, 66, 300, 1000)
_MOST_DEARER = 1.2
_Make = Callable[[int], Message]


def custom_messages(bench: Bench) -> Report:
    """With so many messages of the application among the others, beside as many of the user."""
    report = Report()
    for count in _COUNTS:
        for who, make in (("custom", _custom), ("user", _user)):
            _requests(report, f"{who} {count} cpu us", count, make, bench.sizes.repeats)
    for count in (66, 1000):
        report.compare(f"custom {count} cpu us", f"user {count} cpu us", at_most=_MOST_DEARER)
    return report


def _requests(report: Report, name: str, count: int, make: _Make, repeats: int) -> None:
    transcript, writer = Transcript(), ChatRequests()
    for number in range(count):
        _turn(transcript, number, make)
    _body(transcript, writer)
    for number in range(count, count + 20 * repeats):
        _turn(transcript, number, make)
        begun = time.process_time()
        _body(transcript, writer)
        report.add(name, (time.process_time() - begun) * 1e6)


def _turn(transcript: Transcript, number: int, make: _Make) -> None:
    transcript.append(make(number))
    answer = (TextBlock(f"Answer {number}."),)
    transcript.append(AssistantMessage(f"a{number}", answer, _TIME, "openai-chat/m", "stop"))


def _body(transcript: Transcript, writer: ChatRequests) -> None:
    messages = transcript.sent()
    request = ModelRequest("benchmark", "turn", "openai-chat/m", "Be brief.", messages, ())
    writer.body(request, model="m")


def _custom(number: int) -> Message:
    return CustomMessage(f"c{number}", (TextBlock(f"Note {number}."),), _TIME, "note", for_model=True)


def _user(number: int) -> Message:
    return UserMessage(f"u{number}", (TextBlock(f"Note {number}."),), _TIME)
