"""The provider `scripted/PATH`: plays a JSON file, for tests, demos and authors of editor clients.

A session's turns are played in order, one a request; each session reads the file once. With a log,
every request is appended to it as one line in the form that neutral.py describes; `expect` is checked
against that same text, so quotes and line ends appear in it as JSON escapes.
"""

from __future__ import annotations

import asyncio
import importlib
import itertools
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pilothouse_agent.kernel.json_lines import inert
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.messages import ErrorInfo, ErrorKind, Usage
from pilothouse_agent.kernel.request import Delta, Failed, Finished, ModelLimits, ModelRequest, StreamEvent
from pilothouse_agent.models.scripted.neutral import NeutralRequests
from pilothouse_agent.models.wire_json import encode

if TYPE_CHECKING:
    from pilothouse_agent.models.scripted.script_file import Script, ScriptError, ScriptTurn

__all__ = ["ScriptedModel"]

_NAME = "The scripted model"
_BREATH = 64
"""Deltas between two chances for others to run."""
_ARGUMENT_PIECES = 3


class _Refused(Exception):
    def __init__(self, text: str) -> None:
        self.error = _own_error("invalidRequest", text)


class _Playback:
    """Where one session is in its script."""

    def __init__(self, path: Path, script: Script) -> None:
        self._path = path
        self._turns = script.turns
        self._next = 0
        self._played = 0
        self.requests = 0

    def turn(self) -> ScriptTurn:
        self.requests += 1
        while self._next < len(self._turns):
            turn = self._turns[self._next]
            if self._played < turn.repeat:
                self._played += 1
                return turn
            self._next, self._played = self._next + 1, 0
        total = sum(turn.repeat for turn in self._turns)
        raise _Refused(
            f"The script {self._path} has ended: it has {total} turns, this was request {self.requests}."
        )


class ScriptedModel:
    def __init__(
        self,
        *,
        log: Path | None = None,
        idle: float = 120.0,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`log`: a file each request is appended to. `idle`: seconds after which a stall is a failure."""
        self.idle = idle
        self._log = log
        self._sleep = sleep
        self._requests = NeutralRequests()
        self._playbacks: dict[tuple[str, str], _Playback] = {}

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent]:
        try:
            turn = await self._turn(request)
        except _Refused as refusal:
            yield Failed(refusal.error)
            return
        delay = turn.delay_ms / 1000
        for count, delta in enumerate(_shown(turn), 1):
            if delay:
                await self._sleep(delay)
            elif not count % _BREATH:
                await asyncio.sleep(0)
            yield delta
        if turn.stall:
            await self._sleep(self.idle)
        yield _terminal(turn, self.idle)

    def limits(self, model: str) -> ModelLimits:
        return ModelLimits()

    async def warm(self) -> None:
        for name in ("scripted.script_file", "http.errors"):
            await asyncio.to_thread(importlib.import_module, f"pilothouse_agent.models.{name}")

    async def aclose(self) -> None:
        pass

    async def _turn(self, request: ModelRequest) -> ScriptTurn:
        """Raises `_Refused`."""
        if self._log is not None:
            await _append(self._log, inert(self._requests.line(request)) + b"\n")
        playback = await self._playback(request)
        turn = playback.turn()
        if turn.expect.contains or turn.expect.excludes:
            _check(turn, self._requests.line(request).decode(), playback.requests)
        return turn

    async def _playback(self, request: ModelRequest) -> _Playback:
        name = request.model.partition("/")[2]
        key = (request.session_id, name)
        if key not in self._playbacks:
            playback = await asyncio.to_thread(_load, Path(name))
            self._playbacks.setdefault(key, playback)
        return self._playbacks[key]


def _load(path: Path) -> _Playback:
    from pilothouse_agent.models.scripted.script_file import BadScript, read_script

    try:
        return _Playback(path, read_script(path))
    except BadScript as error:
        raise _Refused(f"The script {path} cannot be played: {error}.") from None


async def _append(log: Path, line: bytes) -> None:
    def append() -> None:
        with log.open("ab", buffering=0) as file:
            file.write(line)

    try:
        await asyncio.to_thread(append)
    except OSError as error:
        raise _Refused(f"The script log {log} cannot be written: {error.strerror or error}.") from None


def _check(turn: ScriptTurn, text: str, number: int) -> None:
    missing = [expected for expected in turn.expect.contains if expected not in text]
    present = [unwanted for unwanted in turn.expect.excludes if unwanted in text]
    said = [f"expected to contain {item!r}, which is missing" for item in missing]
    said += [f"expected not to contain {item!r}, which is there" for item in present]
    if said:
        raise _Refused(f"Request {number} of the script was {'; '.join(said)}.")


def _shown(turn: ScriptTurn) -> Iterator[Delta]:
    deltas = _deltas(turn)
    return itertools.islice(deltas, turn.error.after_deltas) if turn.error else deltas


def _deltas(turn: ScriptTurn) -> Iterator[Delta]:
    block = 0
    for text in turn.thinking:
        yield Delta("thinking", block, text)
    block += bool(turn.thinking)
    if turn.deltas is not None:
        yield from itertools.repeat(Delta("text", block, turn.text[0]), turn.deltas)
    else:
        yield from (Delta("text", block, text) for text in turn.text)
    block += bool(turn.text)
    for call in turn.calls:
        text = call.arguments_text
        if text is None:
            text = encode(call.arguments or {}).decode()
        for piece in _pieces(text):
            yield Delta("toolCall", block, piece, call.id, call.name)
        block += 1


def _pieces(text: str) -> Iterator[str]:
    """As servers do it: first the name alone, then the arguments bit by bit."""
    yield ""
    size = -(-len(text) // _ARGUMENT_PIECES) or 1
    for start in range(0, len(text), size):
        yield text[start : start + size]


def _terminal(turn: ScriptTurn, idle: float) -> Finished | Failed:
    usage = Usage(**turn.usage.model_dump()) if turn.usage is not None else None
    if turn.error is not None:
        return Failed(_error(turn.error), usage)
    if turn.cut:
        text = "The answer of the scripted model ended before it was complete."
        return Failed(_own_error("incompleteStream", text), usage)
    if turn.stall:
        text = f"The scripted model was silent for {idle:g} s."
        return Failed(_own_error("timeout", text), usage)
    return Finished(turn.stop or ("toolUse" if turn.calls else "stop"), usage)


def _error(error: ScriptError) -> ErrorInfo:
    """Judged as a provider's answer of this status and content would be."""
    from pilothouse_agent.models.http.errors import Source, http_error, stream_error

    source = Source(_NAME)
    body: JsonObject = {"error": {"message": error.message, "code": error.code}}
    if error.status is not None:
        judged = http_error(source, error.status, {}, encode(body))
    else:
        judged = stream_error(source, body)
    if error.retry_after is not None and judged.retryable:
        judged = replace(judged, retry_after=error.retry_after)
    return judged


def _own_error(kind: ErrorKind, text: str) -> ErrorInfo:
    # Late, as all that only an answer which fails has need of.
    from pilothouse_agent.models.http.errors import Source, own_error

    return own_error(Source(_NAME), kind, text)
