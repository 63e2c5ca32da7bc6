"""Reads the body of a Messages answer, streamed or whole, into stream events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from pilothouse_agent.kernel.json_types import JsonObject, JsonValue
from pilothouse_agent.kernel.messages import Usage
from pilothouse_agent.kernel.request import Delta, Failed, Finished, ProviderStop, ThinkingData
from pilothouse_agent.models.history.legal import own_name
from pilothouse_agent.models.http.answer_reader import AnswerReader, kept, word
from pilothouse_agent.models.http.errors import Source, own_error
from pilothouse_agent.models.http.token_counts import first_count
from pilothouse_agent.models.wire_json import decode, encode, well_formed

__all__ = ["ORIGIN", "AnthropicStream"]

ORIGIN = "anthropic"
"""Marks what only this wire format may be sent back."""

_STOPS: dict[str, ProviderStop] = {
    "max_tokens": "length",
    "refusal": "refusal",
    "pause_turn": "pause",
    "length": "length",
}
"""Other words, known or not, are a plain stop: what came decides (kernel.md L4)."""
_OVERFLOW = "model_context_window_exceeded"
_SERVER_TOOLS = ("_tool_use", "_tool_result")
"""How the types of blocks end that the provider makes for itself, and wants back."""

Kind = Literal["text", "thinking", "call", "other"]


class _Block:
    __slots__ = ("call_id", "content", "ended", "got", "input", "kind", "name", "number", "signature")

    def __init__(self, kind: Kind, content: JsonObject) -> None:
        self.kind: Kind = kind
        self.content = content
        """As the block began."""
        self.number: int | None = None
        """Which block of our message it is; None until something of it is out."""
        self.got = False
        """Whether text of its arguments has come."""
        self.input: list[str] = []
        self.signature = ""
        self.call_id = ""
        self.name = ""
        self.ended = False


class AnthropicStream(AnswerReader):
    """Events are known by the type in their data: gateways leave out or change the names."""

    def __init__(self, source: Source, *, model: str, names: Mapping[str, str]) -> None:
        """`model`: the whole id. `names`: from tool names on the wire to ours, where they differ."""
        super().__init__(source)
        self._asked = model
        self._names = names
        self._model = ""
        self._message_id = ""
        self._open: dict[int, _Block] = {}
        self._last: _Block | None = None
        self._called = False
        self._reason: str | None = None
        self._counts: JsonObject = {}
        self._handlers: dict[str, Callable[[JsonObject], None]] = {
            "content_block_delta": self._delta,
            "content_block_start": self._block_start,
            "content_block_stop": self._block_stop,
            "message_start": self._message_start,
            "message_delta": self._message_delta,
            "message_stop": self._message_stop,
        }

    def _event(self, event: JsonObject) -> None:
        kind = event.get("type")
        handler = self._handlers.get(kind) if isinstance(kind, str) else None
        if handler is not None:
            handler(event)
        elif kind == "error" or event.get("error") or event.get("object") == "error":
            self._fail(event)
        elif not self._whole(event):
            self._note_strange(event)

    def _whole(self, answer: JsonObject) -> bool:
        content = answer.get("content")
        if not isinstance(content, list) or not (answer.get("type") == "message" or "role" in answer):
            return False
        self._message_start({"message": answer})
        for index, block in enumerate(content):
            self._block_start({"index": index, "content_block": block})
            self._block_stop({"index": index})
        self._message_delta({"delta": answer})
        self._message_stop({})
        return True

    def _close(self) -> None:
        if self._reason is not None and self._error is None:
            for block in self._open.values():
                self._finish(block)

    def _finished(self) -> Finished | Failed | None:
        if self._reason is None:
            return None
        if self._reason == _OVERFLOW:
            text = f"{self._source.name} ended the answer with {self._reason!r}: the model's window is full."
            return Failed(own_error(self._source, "contextOverflow", text), self._usage)
        stop = _STOPS.get(self._reason, "toolUse" if self._called else "stop")
        name = self._asked.partition("/")[2]
        return Finished(stop, self._usage, self._model if self._model not in ("", name) else None)

    def _message_start(self, event: JsonObject) -> None:
        message = event.get("message")
        if not isinstance(message, dict):
            return
        identity = word(message.get("id"))
        if self._message_id and identity and identity != self._message_id:
            text = f"{self._source.name} broke off: a second message started before the first one ended."
            self._stop(own_error(self._source, "badResponse", text, retryable=True))
            return
        self._message_id = identity or self._message_id
        self._model = word(message.get("model")) or self._model
        self._count(message.get("usage"))

    def _block_start(self, event: JsonObject) -> None:
        content = event.get("content_block")
        if not isinstance(content, dict):
            return
        index = _number(event.get("index"))
        if (before := self._open.get(index)) is not None:
            self._finish(before)
        block = self._open[index] = self._last = _Block(_kind(content.get("type")), content)
        match block.kind:
            case "text":
                self._say("text", block, content.get("text"))
            case "thinking":
                self._say("thinking", block, content.get("thinking"))
                block.signature = _text(content.get("signature"))
            case "call":
                self._call(block)
            case "other":
                self._note_fallback(content)

    def _delta(self, event: JsonObject) -> None:
        delta = event.get("delta")
        if not isinstance(delta, dict):
            return
        index = event.get("index")
        block = self._open.get(index) if isinstance(index, int) else self._numbered(index)
        kind = delta.get("type")
        if kind == "text_delta":
            if block is None or block.kind != "text":
                block = self._unannounced("text", index)
            self._say("text", block, delta.get("text"))
        elif kind == "thinking_delta":
            if block is None or block.kind != "thinking":
                block = self._unannounced("thinking", index)
            self._say("thinking", block, delta.get("thinking"))
        elif block is None:
            return
        elif kind == "input_json_delta":
            self._more_input(block, delta.get("partial_json"))
        elif kind == "signature_delta":
            block.signature += _text(delta.get("signature"))

    def _block_stop(self, event: JsonObject) -> None:
        block = self._open.get(_number(event.get("index")))
        if block is not None:
            self._finish(block)

    def _message_delta(self, event: JsonObject) -> None:
        delta = event.get("delta")
        reason = delta.get("stop_reason") if isinstance(delta, dict) else None
        if isinstance(reason, str) and reason:
            self._reason = reason
            self.closing = True
        self._count(event.get("usage"))

    def _message_stop(self, event: JsonObject) -> None:
        self._reason = self._reason or "end_turn"
        self._count(event.get("usage"))
        self.done = True

    def _unannounced(self, kind: Literal["text", "thinking"], index: JsonValue) -> _Block:
        """The block of a delta without a start, or under the index of a block of another kind."""
        number = _number(index)
        if (before := self._open.get(number)) is not None:
            self._finish(before)
        block = self._open[number] = self._last = _Block(kind, {})
        return block

    def _numbered(self, index: JsonValue) -> _Block | None:
        return self._last if index is None else self._open.get(_number(index))

    def _say(self, kind: Literal["text", "thinking"], block: _Block, text: JsonValue) -> None:
        if not isinstance(text, str) or not text:
            return
        if block.number is None:
            block.number = self._new_block()
        self._put(Delta(kind, block.number, text))

    def _call(self, block: _Block) -> None:
        self._called = True
        block.number = self._new_block()
        block.call_id = word(block.content.get("id"))
        block.name = own_name(word(block.content.get("name")), self._names)
        self._put(Delta("toolCall", block.number, "", block.call_id, block.name))

    def _more_input(self, block: _Block, text: JsonValue) -> None:
        if isinstance(text, dict) and text:
            text = encode(text).decode()
        if not isinstance(text, str) or not text:
            return
        block.got = True
        if block.kind == "call" and block.number is not None:
            self._put(Delta("toolCall", block.number, text, block.call_id, block.name))
        else:
            block.input.append(text)

    def _finish(self, block: _Block) -> None:
        """What was waiting for the end of the block; the block may be finished again."""
        if block.ended:
            return
        block.ended = True
        match block.kind:
            case "call":
                self._whole_input(block)
            case "thinking" if block.signature:
                self._send_back(block, block.signature, None)
            case "other":
                self._keep(block)
            case _:
                pass

    def _whole_input(self, block: _Block) -> None:
        """Some gateways put all of the arguments into the start."""
        value = block.content.get("input")
        if block.got or not value:
            return
        try:
            text = value if isinstance(value, str) else encode(value).decode()
        except ValueError:
            text = "(nested too deeply)"
        self._more_input(block, text)

    def _keep(self, block: _Block) -> None:
        kind = block.content.get("type")
        if kind == "redacted_thinking" and block.content.get("data"):
            self._send_back(block, None, block.content)
        elif isinstance(kind, str) and kind.endswith(_SERVER_TOOLS):
            content = dict(block.content)
            if block.input:
                content["input"] = _object("".join(block.input))
            self._send_back(block, None, content)

    def _send_back(self, block: _Block, signature: str | None, content: JsonObject | None) -> None:
        """Whole and unchanged, or it would be refused."""
        data = kept({"model": self._asked, **({"block": content} if content is not None else {})})
        if data is None:
            return
        if block.number is None:
            block.number = self._new_block()
        signature = well_formed(signature) if signature is not None else None
        self._out.append(ThinkingData(block.number, signature, data, ORIGIN))

    def _note_fallback(self, content: JsonObject) -> None:
        """Another model took the request over."""
        served = content.get("to") if content.get("type") == "fallback" else None
        if isinstance(served, dict):
            self._model = word(served.get("model")) or self._model

    def _count(self, value: JsonValue) -> None:
        """Later numbers take the place of earlier ones, each on its own; null says nothing."""
        if isinstance(value, dict):
            self._counts.update({name: item for name, item in value.items() if item is not None})
            self._usage = _usage(self._counts)


def _kind(value: JsonValue) -> Kind:
    match value:
        case "text" | "thinking":
            return value
        case "tool_use":
            return "call"
        case _:
            return "other"


def _number(index: JsonValue) -> int:
    if isinstance(index, str) and index.isascii() and index.isdigit() and len(index) < 10:
        return int(index)
    return index if isinstance(index, int) else -1


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""


def _object(text: str) -> JsonObject:
    try:
        value = decode(text.encode("utf-8", "replace"))
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _usage(counts: JsonObject) -> Usage | None:
    """Cached tokens are not among the input tokens of this format; here they are."""
    uncached = first_count(counts, ("input_tokens",))
    read = first_count(counts, ("cache_read_input_tokens",))
    written = first_count(counts, ("cache_creation_input_tokens",))
    parts = [count for count in (uncached, read, written) if count is not None]
    usage = Usage(
        input=sum(parts) if parts else None,
        output=first_count(counts, ("output_tokens",)),
        cache_read=read,
        cache_write=written,
        reasoning=first_count(counts, ("output_tokens_details", "thinking_tokens")),
    )
    return usage if usage != Usage() else None
