"""Tool calls out of chat deltas, however the server numbers, names and repeats its fragments."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pilothouse_agent.kernel.json_types import JsonObject, JsonValue
from pilothouse_agent.kernel.request import Delta, StreamEvent, ToolExtra
from pilothouse_agent.models.answer_reader import kept, word
from pilothouse_agent.models.legal import own_name
from pilothouse_agent.models.wire_json import encode

__all__ = ["ChatCalls"]

_LEGACY = "function_call"
"""Stands for the index of the one call of the old format."""


class _Call:
    __slots__ = ("block", "extra", "held", "id", "name")

    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.held = ""
        self.extra: JsonObject | None = None
        self.block: int | None = None
        """None until its first delta is out."""


class ChatCalls:
    """A call's first delta waits until its name is known, and its id or the first arguments."""

    def __init__(self, *, new_block: Callable[[], int], names: Mapping[str, str], model: str) -> None:
        self._new_block = new_block
        self._model = model
        self._names = names
        self._calls: list[_Call] = []
        self._by_index: dict[int | str, _Call] = {}
        self._by_id: dict[str, _Call] = {}

    def __len__(self) -> int:
        """Calls that have been handed out."""
        return sum(call.block is not None for call in self._calls)

    def feed(self, fragment: JsonObject) -> list[StreamEvent]:
        function = fragment.get("function")
        function = function if isinstance(function, dict) else {}
        call_id, name = word(fragment.get("id")), word(function.get("name"))
        call = self._called(_index(fragment.get("index")), call_id, name)
        events = self._advance(call, call_id, name, _text(function.get("arguments")))
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

    def _called(self, index: int | str | None, call_id: str, name: str) -> _Call:
        call = self._of_index(index, call_id, name) if index is not None else self._of_id(call_id, name)
        if call is None:
            call = _Call()
            self._calls.append(call)
        if index is not None:
            self._by_index[index] = call
        if call_id:
            self._by_id.setdefault(call_id, call)
        return call

    def _of_index(self, index: int | str, call_id: str, name: str) -> _Call | None:
        call = self._by_index.get(index)
        another = call is not None and call_id and call.id and call_id != call.id and name
        return None if another else call

    def _of_id(self, call_id: str, name: str) -> _Call | None:
        if call_id:
            return self._by_id.get(call_id)
        last = self._calls[-1] if self._calls else None
        return None if last is not None and name and last.name else last

    def _advance(self, call: _Call, call_id: str, name: str, arguments: str) -> list[StreamEvent]:
        call.id = call.id or call_id
        call.name = call.name or name
        if call.block is not None:
            return [Delta("toolCall", call.block, arguments, call.id, call.name)] if arguments else []
        call.held += arguments
        ready = call.name and (call.id or call.held)
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
