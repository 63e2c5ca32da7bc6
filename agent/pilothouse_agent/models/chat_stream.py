"""Reads the body of a Chat Completions answer, streamed or whole, into stream events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pilothouse_agent.kernel.json_types import JsonObject, JsonValue
from pilothouse_agent.kernel.messages import ErrorInfo, Usage
from pilothouse_agent.kernel.request import Delta, Failed, Finished, StreamEvent, ThinkingData
from pilothouse_agent.models.chat_calls import ChatCalls
from pilothouse_agent.models.chat_tables import ending, usage_of
from pilothouse_agent.models.chat_thinking import ChatThinking
from pilothouse_agent.models.error_body import read_bytes
from pilothouse_agent.models.errors import Source, own_error, stream_error
from pilothouse_agent.models.sse import SseEvent, SseReader
from pilothouse_agent.models.think_tags import ThinkTags
from pilothouse_agent.models.wire_json import decode, well_formed

__all__ = ["ORIGIN", "ChatStream"]

ORIGIN = "openai-chat"
"""Marks what only this wire format may be sent back."""


class ChatStream:
    """Feed it the body in pieces of any size; it never raises, whatever the server sends."""

    def __init__(self, source: Source, *, model: str, names: Mapping[str, str]) -> None:
        """`names`: from tool names on the wire to ours, where they differ."""
        self.done = False
        """Nothing that follows counts."""
        self._source = source
        self._asked = model
        self._sse = SseReader()
        self._unread: list[bytes] | None = []
        self._out: list[StreamEvent] = []
        self._blocks = 0
        self._open: tuple[Literal["text", "thinking"], int] | None = None
        self._tags = ThinkTags()
        self._thinking = ChatThinking()
        self._calls = ChatCalls(new_block=self._new_block, names=names)
        self._halves: dict[int, Delta] = {}
        self._spoken = False
        self._refused = False
        self._answered = False
        self._reason = ""
        self._ended = False
        self._error: ErrorInfo | None = None
        self._usage: Usage | None = None
        self._model = ""

    def feed(self, piece: bytes) -> list[StreamEvent]:
        if self._unread is not None:
            self._unread.append(piece)
        for event in self._sse.feed(piece):
            if not self.done:
                self._event(event)
        return self._taken()

    def end(self, failure: ErrorInfo | None = None) -> list[StreamEvent]:
        """What is left, then the one terminal event; `failure`: why the body ended early."""
        for event in self._sse.finish():
            if not self.done:
                self._event(event, cut=True)
        if self._unread and not self.done and failure is None:
            self._whole(b"".join(self._unread))
        self._flush()
        self._out.append(self._terminal(failure))
        return self._taken()

    def _taken(self) -> list[StreamEvent]:
        out, self._out = self._out, []
        return out

    def _event(self, event: SseEvent, *, cut: bool = False) -> None:
        self._unread = None
        data = event.data
        if data[:6] == b"[DONE]":
            self._ended = self.done = True
            return
        try:
            chunk = decode(data)
        except ValueError:
            self._unreadable(event, cut=cut)
            return
        if event.name == "error":
            self._fail(chunk)
        elif isinstance(chunk, dict):
            self._chunk(chunk)

    def _unreadable(self, event: SseEvent, *, cut: bool) -> None:
        """Words between chunks do no harm; a broken chunk may have carried anything."""
        if event.name == "error":
            self._fail(event.data.decode("utf-8", "replace"))
        elif event.data.strip() == b"[DONE]":
            self._ended = self.done = True
        elif event.data.lstrip()[:1] == b"{" and not cut:
            text = f"{self._source.name} sent a part of the answer that is not valid JSON."
            self._stop(own_error(self._source, "badResponse", text, retryable=True))

    def _whole(self, body: bytes) -> None:
        """A body without events: the whole answer as one object, an error, or no answer at all."""
        try:
            value = decode(body)
        except ValueError:
            value = None
        if isinstance(value, dict) and "choices" in value:
            self._chunk(value)
            self._ended = True
        elif isinstance(value, dict | list):
            self._fail(value)
        elif text := read_bytes(body).text:
            said = f"{self._source.name} did not answer as a model provider does: {text}."
            is_page = body.lstrip().startswith(b"<")
            self._stop(own_error(self._source, "badResponse", said, retryable=not is_page))

    def _chunk(self, chunk: JsonObject) -> None:
        if usage := chunk.get("usage") or chunk.get("x_groq"):
            self._count(usage)
        if chunk.get("error") or chunk.get("object") == "error":
            self._fail(chunk)
            return
        model = chunk.get("model")
        if isinstance(model, str) and model:
            self._model = model
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict) and choice.get("index") in (0, None):
                self._choice(choice)

    def _choice(self, choice: JsonObject) -> None:
        self._answered = True
        delta = choice.get("delta")
        if delta is None and not self._spoken:
            delta = choice.get("message")
        if isinstance(delta, dict):
            self._delta(delta)
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            self._reason = self._reason or reason
            self._ended = True
        if usage := choice.get("usage"):
            self._count(usage)
        if error := choice.get("error"):
            self._fail(error)

    def _delta(self, delta: JsonObject) -> None:
        content = delta.get("content")
        if len(delta) > 1 or not content:
            thinking = self._thinking.feed(delta)
            if thinking:
                self._say("thinking", thinking)
        if isinstance(content, str):
            if content:
                self._content(content)
        elif isinstance(content, list):
            self._parts(content)
        if len(delta) > 1 or not content:
            self._beside_content(delta)

    def _beside_content(self, delta: JsonObject) -> None:
        refusal = delta.get("refusal")
        if isinstance(refusal, str) and refusal:
            self._refused = True
            self._say("text", refusal)
        calls, legacy = delta.get("tool_calls"), delta.get("function_call")
        if calls or legacy:
            self._settle_tags()
        for fragment in calls if isinstance(calls, list) else ():
            if isinstance(fragment, dict):
                self._call(self._calls.feed(fragment))
        if isinstance(legacy, dict):
            self._call(self._calls.feed_legacy(legacy))

    def _content(self, text: str) -> None:
        if self._tags.settled:
            self._say("text", text)
            return
        for kind, part in self._tags.feed(text):
            self._say(kind, part)

    def _parts(self, parts: list[JsonValue]) -> None:
        for part in parts:
            if not isinstance(part, dict):
                continue
            if part.get("type") == "thinking":
                self._say("thinking", _joined(part.get("thinking")))
            elif isinstance(text := part.get("text"), str) and text:
                self._content(text)

    def _say(self, kind: Literal["text", "thinking"], text: str) -> None:
        if not text:
            return
        self._spoken = True
        if self._open is None or self._open[0] != kind:
            self._open = (kind, self._new_block())
            if kind == "thinking" and self._thinking.block is None:
                self._thinking.block = self._open[1]
        self._put(Delta(kind, self._open[1], text))

    def _call(self, events: list[StreamEvent]) -> None:
        for event in events:
            self._open = None
            self._put(event)

    def _put(self, event: StreamEvent) -> None:
        if isinstance(event, Delta) and (self._halves or not event.text.isascii()):
            event = self._mended(event)
        self._out.append(event)

    def _mended(self, delta: Delta) -> Delta:
        """The halves of a surrogate pair may come in two deltas."""
        half = self._halves.pop(delta.block, None)
        text = delta.text if half is None else half.text + delta.text
        if text and "\ud800" <= text[-1] <= "\udbff":
            self._halves[delta.block] = delta._replace(text=text[-1])
            text = text[:-1]
        return delta._replace(text=well_formed(text))

    def _settle_tags(self) -> None:
        for kind, part in self._tags.end():
            self._say(kind, part)

    def _flush(self) -> None:
        self._settle_tags()
        self._out.extend(half._replace(text="\ufffd") for half in self._halves.values())
        if self._ended and self._error is None:
            self._call(self._calls.end())
            if data := self._thinking.to_send_back():
                block = self._thinking.block if self._thinking.block is not None else self._new_block()
                self._out.append(ThinkingData(block, data=data, origin=ORIGIN))

    def _new_block(self) -> int:
        self._blocks += 1
        return self._blocks - 1

    def _count(self, usage: JsonValue) -> None:
        if isinstance(usage, dict) and isinstance(nested := usage.get("usage"), dict):
            usage = nested
        self._usage = usage_of(usage) or self._usage

    def _fail(self, value: JsonValue) -> None:
        self._stop(stream_error(self._source, value))

    def _stop(self, error: ErrorInfo) -> None:
        self._error = self._error or error
        self.done = True

    def _terminal(self, failure: ErrorInfo | None) -> Finished | Failed:
        if self._error is not None:
            return Failed(self._error, self._usage)
        if self._ended and self._answered:
            return self._finished()
        if failure is None:
            text = f"The answer of {self._source.name} ended before it was complete."
            failure = own_error(self._source, "incompleteStream", text)
        return Failed(failure, self._usage)

    def _finished(self) -> Finished | Failed:
        said = ending(self._reason)
        if said == "contentFilter" and self._spoken:
            said = "refusal"
        if said in ("contentFilter", "contextOverflow", "serverError", "overloaded"):
            text = f"{self._source.name} ended the answer with {self._reason!r}."
            return Failed(own_error(self._source, said, text), self._usage)
        if said == "stop":
            said = "toolUse" if len(self._calls) else "refusal" if self._refused else "stop"
        return Finished(said, self._usage, self._model if self._model != self._asked else None)


def _joined(value: JsonValue) -> str:
    """Thinking parts hold a text, or a list of text parts."""
    if isinstance(value, str):
        return value
    texts = (part.get("text") for part in value if isinstance(part, dict)) if isinstance(value, list) else ()
    return "".join(text for text in texts if isinstance(text, str))
