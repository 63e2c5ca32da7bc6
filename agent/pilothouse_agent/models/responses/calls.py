"""Calls out of the items of a Responses stream, those of functions and those with free text."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pilothouse_agent.kernel.json_types import JsonObject, JsonValue
from pilothouse_agent.kernel.request import Delta, StreamEvent, ToolArguments, ToolExtra
from pilothouse_agent.models.history.legal import own_name
from pilothouse_agent.models.http.answer_reader import kept, word
from pilothouse_agent.models.wire_json import encode

__all__ = ["CALL_TYPES", "ResponsesCalls"]

CALL_TYPES = ("function_call", "custom_tool_call")
_SENT_BACK = ("type", "id", "namespace")


class _Call:
    __slots__ = ("began", "block", "heard", "id", "name", "told")

    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.began = ""
        """The arguments that came with its beginning."""
        self.heard: list[str] = []
        """The text of its arguments, as it came."""
        self.told = False
        """Whether what goes back with it was handed out."""
        self.block: int | None = None
        """None until its first delta is out."""


class ResponsesCalls:
    """By output index. A call's first delta waits until its name and its id are known."""

    def __init__(self, *, new_block: Callable[[], int], names: Mapping[str, str], model: str) -> None:
        self._new_block = new_block
        self._names = names
        self._model = model
        self._calls: dict[int, _Call] = {}

    def __len__(self) -> int:
        """Calls that have been handed out."""
        return sum(call.block is not None for call in self._calls.values())

    def start(self, index: int, item: JsonObject) -> list[StreamEvent]:
        """The item as it begins; arguments that it brings are taken up only if no others come."""
        call = self._call(index)
        call.id = call.id or word(item.get("call_id"))
        call.name = call.name or word(item.get("name"))
        call.began = call.began or _text(item.get(_arguments(item)))
        return self._release(call) if call.id and call.name and call.block is None else []

    def more(self, index: int, text: str) -> list[StreamEvent]:
        call = self._call(index)
        call.heard.append(text)
        if call.block is None or not text:
            return []
        return [Delta("toolCall", call.block, text, call.id, call.name)]

    def whole(self, index: int, arguments: JsonValue) -> list[StreamEvent]:
        """All of the arguments, of which only what has not come piece by piece is taken.

        Where they are not what the pieces make, some of these were lost: the whole counts.
        """
        call, text = self._call(index), _text(arguments)
        heard = "".join(call.heard)
        if text.startswith(heard):
            return self.more(index, text[len(heard) :])
        if not text:
            return []
        call.heard = [text]
        return [ToolArguments(call.block, text)] if call.block is not None else []

    def finish(self, index: int, item: JsonObject) -> list[StreamEvent]:
        """The item as it ended."""
        events = self.start(index, item)
        events += self.whole(index, item.get(_arguments(item)))
        call = self._call(index)
        if call.block is None:
            events += self._release(call)
        if not call.told and (extra := self._extra(item)) is not None and call.block is not None:
            call.told = True
            events.append(ToolExtra(call.block, extra))
        return events

    def end(self) -> list[StreamEvent]:
        """The calls that were waiting for a name, an id or arguments that have not come."""
        events: list[StreamEvent] = []
        for index, call in self._calls.items():
            if not any(call.heard):
                events += self.more(index, call.began)
            if call.block is None and (call.name or any(call.heard)):
                events += self._release(call)
        return events

    def _call(self, index: int) -> _Call:
        return self._calls.setdefault(index, _Call())

    def _release(self, call: _Call) -> list[StreamEvent]:
        call.block = self._new_block()
        call.name = own_name(call.name, self._names)
        return [Delta("toolCall", call.block, "".join(call.heard), call.id, call.name)]

    def _extra(self, item: JsonObject) -> JsonObject | None:
        back = {name: item[name] for name in _SENT_BACK if item.get(name)}
        return kept({"item": back, "model": self._model}) if back.keys() != {"type"} else None


def _arguments(item: JsonObject) -> str:
    return "input" if item.get("type") == "custom_tool_call" else "arguments"


def _text(arguments: JsonValue) -> str:
    """Meant to be text; some servers send the object itself."""
    if isinstance(arguments, str) or arguments is None:
        return arguments or ""
    try:
        return encode(arguments).decode()
    except ValueError:
        return "(nested too deeply)"
