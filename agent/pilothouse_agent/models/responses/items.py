"""Which item of a Responses answer an event is about, whatever a server makes of ids and indexes."""

from __future__ import annotations

from collections.abc import Iterator

from pilothouse_agent.kernel.json_types import JsonObject, JsonValue

__all__ = ["ResponsesItems"]


class ResponsesItems:
    """Items have a number each, the output index where that is given and not taken."""

    def __init__(self) -> None:
        self._types: dict[int, str] = {}
        """By number, of the items that something has come of."""
        self._by_id: dict[str, int] = {}
        """By the ids of items and of calls."""
        self._moved: dict[int, int] = {}
        """From an output index that several items have to the number of the newest."""
        self._last = 0

    def of_event(self, event: JsonObject) -> int:
        """Of a part of an item; without an index and a known id it is the item that was last spoken of."""
        index = event.get("output_index")
        if isinstance(index, int) and not self._moved:
            self._last = index
            return index
        known = self._by_id.get(str(event.get("item_id")))
        if known is None:
            known = self._moved.get(index, index) if isinstance(index, int) else self._last
        self._last = known
        return known

    def added(self, event: JsonObject, item: JsonObject) -> int:
        """Of an item that begins."""
        index = event.get("output_index")
        number = self._known(item)
        if number is None:
            number = index if isinstance(index, int) and not self._is_taken(index, item) else self._next()
            if isinstance(index, int) and number != index:
                self._moved[index] = number
        return self._note(number, item)

    def done(self, event: JsonObject, item: JsonObject) -> int:
        """Of an item that has ended."""
        number = self._known(item)
        if number is None or isinstance(event.get("output_index"), int):
            number = self.of_event({**event, "item_id": item.get("id")})
        if number in self._types and self._types[number] != item.get("type"):
            number = self._next()
        return self._note(number, item)

    def came(self, number: int, kind: str) -> None:
        """Something of an item of this type has come, announced or not."""
        self._types.setdefault(number, kind)

    def at_end(self, output: JsonValue) -> Iterator[tuple[int, JsonObject]]:
        """The items of the whole answer. Some servers give them new ids there, and another order."""
        items = [item for item in output if isinstance(item, dict)] if isinstance(output, list) else []
        known = {place: self._known(item) for place, item in enumerate(items)}
        free = [number for number in sorted(self._types) if number not in known.values()]
        for place, item in enumerate(items):
            number = known[place]
            if number is None:
                alike = [number for number in free if self._types[number] == item.get("type")]
                number = place if place in alike else next(iter(alike), None)
            if number is None:
                number = self._next() if place in self._types else place
            elif number in free:
                free.remove(number)
            yield self._note(number, item), item

    def _known(self, item: JsonObject) -> int | None:
        found = (self._by_id.get(str(item[name])) for name in ("id", "call_id") if item.get(name))
        return next((number for number in found if number is not None), None)

    def _is_taken(self, index: int, item: JsonObject) -> bool:
        """By an item of another type or by another call; the id of a message may have changed."""
        kind = self._types.get(index)
        return kind is not None and (kind != item.get("type") or bool(item.get("call_id")))

    def _next(self) -> int:
        return max(self._types, default=-1) + 1

    def _note(self, number: int, item: JsonObject) -> int:
        self._types.setdefault(number, str(item.get("type")))
        for name in ("id", "call_id"):
            if item.get(name):
                self._by_id.setdefault(str(item[name]), number)
        self._last = number
        return number
