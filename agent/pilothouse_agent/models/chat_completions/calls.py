"""Tool calls out of chat deltas, however the server numbers, names and repeats its fragments."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pilothouse_agent.kernel.json_types import JsonObject, JsonValue
from pilothouse_agent.kernel.request import Delta, StreamEvent, ToolExtra
from pilothouse_agent.models.history.legal import own_name
from pilothouse_agent.models.http.answer_reader import kept, word
from pilothouse_agent.models.wire_json import decode, encode

__all__ = ["ChatCalls"]

_LEGACY = "function_call"
"""Stands for the index of the one call of the old format."""
_NONE = "{}"


class _Call:
    __slots__ = ("block", "extra", "held", "id", "name", "text")

    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.text: list[str] = []
        """The arguments, as they came."""
        self.held = ""
        """What of them is not out yet."""
        self.extra: JsonObject | None = None
        self.block: int | None = None
        """None until its first delta is out."""

    def is_whole(self) -> bool:
        try:
            return isinstance(decode("".join(self.text).encode("utf-8", "replace")), dict)
        except ValueError:
            return False


class ChatCalls:
    """A call's first delta waits until its name and its id are known, or another call begins."""

    def __init__(self, *, new_block: Callable[[], int], names: Mapping[str, str], model: str) -> None:
        self._new_block = new_block
        self._model = model
        self._names = names
        self._calls: list[_Call] = []
        self._by_index: dict[int | str, _Call] = {}
        self._by_id: dict[tuple[int | str | None, str], _Call] = {}
        """By index and id; by id alone under the index None."""

    def __len__(self) -> int:
        """Calls that have been handed out."""
        return sum(call.block is not None for call in self._calls)

    @property
    def begun(self) -> bool:
        """Whether any has come, handed out or not."""
        return bool(self._calls)

    def feed(self, fragment: JsonObject) -> list[StreamEvent]:
        function = fragment.get("function")
        if not isinstance(function, dict):
            function = fragment
        index, call_id = _index(fragment.get("index")), word(fragment.get("id"))
        name, arguments = word(function.get("name")), _text(function.get("arguments"))
        call = self._called(index, call_id, name)
        if call is not None and call.name and name and arguments[:1] == "{" and call.is_whole():
            if call_id in ("", call.id) and arguments == "".join(call.text):
                return []
            call = None
        events: list[StreamEvent] = []
        if call is None:
            events, call = self._waiting(), self._new(index)
        self._note(call, index, call_id)
        events += self._advance(call, call_id, name, arguments)
        extra = fragment.get("extra_content")
        if isinstance(extra, dict) and extra:
            call.extra = kept({"extra_content": extra, "model": self._model})
            events += _extra(call)
        return events

    def feed_legacy(self, function: JsonObject) -> list[StreamEvent]:
        """The single call of the old `function_call` field."""
        return self.feed({"index": _LEGACY, "function": function})

    def end(self) -> list[StreamEvent]:
        """The calls that were waiting for a name or an id that has not come."""
        waiting = [call for call in self._calls if call.name or call.id or call.held]
        return [event for call in waiting if call.block is None for event in self._release(call)]

    def _waiting(self) -> list[StreamEvent]:
        """Those whose id has not come, before another call begins: calls keep their order."""
        waiting = [call for call in self._calls if call.block is None and call.name]
        return [event for call in waiting for event in self._release(call)]

    def _called(self, index: int | str | None, call_id: str, name: str) -> _Call | None:
        """The call that the fragment belongs to; None for a new one."""
        last = self._calls[-1] if self._calls else None
        if index is None:
            if call_id:
                return self._by_id.get((None, call_id))
            return None if last is not None and name and last.name else last
        call = self._by_index.get(index)
        if call is None:
            # Some number a call only after it has begun.
            unnumbered = last is not None and last not in self._by_index.values()
            return last if unnumbered and not call_id and not name else None
        if not call_id or not call.id or call_id == call.id:
            return call
        return self._by_id.get((index, call_id)) or (None if name else call)

    def _new(self, index: int | str | None) -> _Call:
        call = _Call()
        self._calls.append(call)
        if index is not None:
            self._by_index[index] = call
        return call

    def _note(self, call: _Call, index: int | str | None, call_id: str) -> None:
        if index is not None:
            self._by_index.setdefault(index, call)
        if call_id:
            self._by_id[index, call_id] = call
            self._by_id[None, call_id] = call

    def _advance(self, call: _Call, call_id: str, name: str, arguments: str) -> list[StreamEvent]:
        call.id = call.id or call_id
        call.name = call.name or name
        if call.block is not None:
            if not arguments:
                return []
            call.text.append(arguments)
            return [Delta("toolCall", call.block, arguments, call.id, call.name)]
        if call.held == _NONE and arguments:
            # That was only to hold the place of those to come.
            call.held = ""
            call.text.clear()
        call.held += arguments
        call.text.append(arguments)
        ready = call.name and call.id and call.held != _NONE
        return self._release(call) if ready else []

    def _release(self, call: _Call) -> list[StreamEvent]:
        call.block = self._new_block()
        call.name = own_name(call.name, self._names)
        held, call.held = call.held, ""
        return [Delta("toolCall", call.block, held, call.id, call.name), *_extra(call)]


def _extra(call: _Call) -> list[StreamEvent]:
    if call.block is None or call.extra is None:
        return []
    return [ToolExtra(call.block, call.extra)]


def _index(value: JsonValue) -> int | str | None:
    if isinstance(value, str):
        return int(value) if value.isascii() and value.isdigit() and len(value) < 10 else value or None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _text(arguments: JsonValue) -> str:
    """Arguments are meant to be JSON text; some servers send the object itself."""
    if isinstance(arguments, str) or arguments is None:
        return arguments or ""
    try:
        return encode(arguments).decode()
    except ValueError:
        return "(nested too deeply)"
