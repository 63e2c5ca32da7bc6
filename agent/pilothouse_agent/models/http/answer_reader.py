"""What all wire formats share in reading an answer: framing, JSON, errors, one terminal event."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

import orjson

from pilothouse_agent.kernel.json_types import JsonObject, JsonValue
from pilothouse_agent.kernel.messages import ErrorInfo, Usage
from pilothouse_agent.kernel.request import Delta, Failed, Finished, StreamEvent, ToolArguments
from pilothouse_agent.models.http.error_body import read_bytes
from pilothouse_agent.models.http.errors import Source, own_error, stream_error
from pilothouse_agent.models.http.sse import BARE, SseEvent, SseReader
from pilothouse_agent.models.wire_json import decode, mended, well_formed

__all__ = ["AnswerReader", "kept", "word"]

_DONE = b"[DONE]"
_LARGEST = 64 << 20
"""Bytes without an end of an event; nothing that is an answer is as large."""
_FIELDS = (b"", b"event", b"data", b"id", b"retry")
_VAGUE = ("serverError", "unknown")
_CODES = ("code", "status", "status_code", "statusCode", "type")


class AnswerReader(ABC):
    """Feed it the body in pieces of any size; it never raises, whatever the server sends."""

    def __init__(self, source: Source) -> None:
        self.done = False
        """Nothing that follows counts."""
        self.closing = False
        """It may be all: what follows, if anything does, comes at once."""
        self._source = source
        self._usage: Usage | None = None
        self._error: ErrorInfo | None = None
        self._strange: JsonObject | None = None
        self._out: list[StreamEvent] = []
        self._blocks = 0
        self._sse = SseReader()
        self._unread: list[bytes] | None = []
        self._halves: dict[int, Delta] = {}
        self._pending = 0

    def feed(self, piece: bytes) -> list[StreamEvent]:
        if self._unread is not None:
            self._unread.append(piece)
        events = self._sse.feed(piece)
        for event in events:
            if not self.done:
                self._read_before_the_end(event)
        self._pending = 0 if events else self._pending + len(piece)
        if self._pending > _LARGEST and not self.done:
            text = f"{self._source.name} sent {_LARGEST >> 20} MB without an end of an event."
            self._stop(own_error(self._source, "badResponse", text))
        return self._taken()

    def end(self, failure: ErrorInfo | None = None) -> list[StreamEvent]:
        """What is left, then the one terminal event; `failure`: why the body ended early."""
        for event in self._sse.finish():
            if not self.done:
                self._read(event, cut=True)
        if self._unread and not self.done and failure is None:
            self._read_whole(b"".join(self._unread))
        self._close()
        self._out.extend(half._replace(text="\ufffd") for half in self._halves.values())
        self._out.append(self._terminal(failure))
        return self._taken()

    @abstractmethod
    def _event(self, event: JsonObject) -> None:
        """One event of the stream."""

    @abstractmethod
    def _whole(self, answer: JsonObject) -> bool:
        """The whole answer as one object, from a server that does not stream. False: it is none."""

    @abstractmethod
    def _close(self) -> None:
        """The body has ended: hand out what was held back."""

    @abstractmethod
    def _finished(self) -> Finished | Failed | None:
        """The terminal event of an answer without error; None when it is not complete."""

    def _last_sign(self) -> None:
        """`[DONE]` has come."""
        self.done = True

    def _put(self, delta: Delta) -> None:
        """Text only this way: it may be anything that JSON can hold."""
        if self._halves or not delta.text.isascii():
            delta = self._mended(delta)
        self._out.append(delta)

    def _put_all(self, events: Iterable[StreamEvent]) -> None:
        for event in events:
            if isinstance(event, Delta):
                self._put(event)
                continue
            if isinstance(event, ToolArguments):
                self._halves.pop(event.block, None)
                event = event._replace(text=well_formed(event.text))
            self._out.append(event)

    def _new_block(self) -> int:
        self._blocks += 1
        return self._blocks - 1

    def _note_strange(self, event: JsonObject) -> None:
        """Not of this format: why the answer is not complete, if it turns out not to be."""
        said = event.get("message") or event.get("msg")
        if event.get("detail") or event.get("errors") or (said and any(name in event for name in _CODES)):
            self._strange = event

    def _fail(self, value: JsonValue) -> None:
        self._stop(stream_error(self._source, value))

    def _stop(self, error: ErrorInfo) -> None:
        """An error says less than one behind it where it does not say what went wrong."""
        if self._error is None or (self._error.kind in _VAGUE and error.kind not in _VAGUE):
            self._error = error
        self.closing = True
        self.done = self._error.kind not in _VAGUE

    def _taken(self) -> list[StreamEvent]:
        out, self._out = self._out, []
        return out

    def _read_before_the_end(self, event: SseEvent) -> None:
        """Behind an error, only another one counts."""
        failed, count = self._error is not None, len(self._out)
        self._read(event)
        if failed:
            del self._out[count:]

    def _read(self, event: SseEvent, *, cut: bool = False) -> None:
        if event.name == BARE:
            self._read_bare(event)
            return
        self._unread = None
        if event.data[:6] == _DONE:
            self._last_sign()
            return
        try:
            value = decode(event.data)
        except ValueError:
            self._read_words(event, cut=cut)
            return
        if event.name == "error":
            self._fail(value)
        elif isinstance(value, dict):
            self._event(value)
        elif value == _DONE.decode():
            self._last_sign()

    def _read_bare(self, event: SseEvent) -> None:
        """While there was no other event it may be all of an answer that is not streamed."""
        try:
            value = decode(event.data)
        except ValueError:
            return
        if isinstance(value, dict) and (self._unread is None or value.get("error")):
            self._event(value)

    def _read_words(self, event: SseEvent, *, cut: bool) -> None:
        """Words between events do no harm; a broken event may have carried anything."""
        if event.name == "error":
            self._fail(event.data.decode("utf-8", "replace"))
        elif event.data.strip().upper() == _DONE:
            self._last_sign()
        elif lines := _events_in(event.data):
            for line in lines:
                if not self.done:
                    self._read(SseEvent(event.name, line), cut=cut and line is lines[-1])
        elif event.data.lstrip()[:1] == b"{" and not cut:
            text = f"{self._source.name} sent a part of the answer that is not valid JSON."
            self._stop(own_error(self._source, "badResponse", text, retryable=True))

    def _read_whole(self, body: bytes) -> None:
        """A body without events: the whole answer as one object, an error, or no answer at all."""
        try:
            value = decode(body)
        except ValueError:
            value = None
            if lines := _events_in(body):
                self._unread = None
                self._read_words(SseEvent("", b"\n".join(lines)), cut=True)
                return
        if isinstance(value, dict) and self._whole(value):
            return
        if isinstance(value, dict | list):
            self._fail(value)
        elif not _is_silent(body) and (text := read_bytes(body).text):
            quoted = self._source.quoted(text)
            said = f"{self._source.name} did not answer as a model provider does: {quoted}."
            is_page = body.lstrip().startswith(b"<")
            self._stop(own_error(self._source, "badResponse", said, retryable=not is_page))

    def _mended(self, delta: Delta) -> Delta:
        """The halves of a surrogate pair may come in two deltas."""
        half = self._halves.pop(delta.block, None) if self._halves else None
        text = delta.text if half is None else half.text + delta.text
        if text and "\ud800" <= text[-1] <= "\udbff":
            self._halves[delta.block] = delta._replace(text=text[-1])
            text = text[:-1]
        text = well_formed(text)
        return delta if text == delta.text else delta._replace(text=text)

    def _terminal(self, failure: ErrorInfo | None) -> Finished | Failed:
        if self._error is not None:
            return Failed(self._error, self._usage)
        if (finished := self._finished()) is not None:
            return finished
        if failure is None and self._strange is not None:
            failure = stream_error(self._source, self._strange)
        if failure is None:
            text = f"The answer of {self._source.name} ended before it was complete."
            failure = own_error(self._source, "incompleteStream", text)
        return Failed(failure, self._usage)


def _events_in(data: bytes) -> list[bytes]:
    """Events that no blank line keeps apart: each is a line. None, if that is not what the data are."""
    lines = [line.strip() for line in data.splitlines() if line.strip()]
    whole = all(line[:1] == b"{" and line[-1:] == b"}" for line in lines[:-1])
    return lines if len(lines) > 1 and whole else []


def _is_silent(body: bytes) -> bool:
    """Nothing but comments and fields without data."""
    return all(line.partition(b":")[0] in _FIELDS for line in body.splitlines())


def word(value: JsonValue) -> str:
    """An id or a name as a server may write it; empty when it is none."""
    return well_formed(value.strip()) if isinstance(value, str) else ""


def kept(value: JsonObject) -> JsonObject | None:
    """What is to go back to the server, as it can be stored; None for what cannot be, such as deep nests."""
    try:
        whole = {well_formed(name): mended(item) for name, item in value.items()}
        orjson.dumps(whole)
    except (RecursionError, TypeError):
        return None
    return whole
