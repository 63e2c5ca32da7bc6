"""Reads the fields of an object that a person wrote; what does not fit is told and counts as absent."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from decimal import Decimal, InvalidOperation
from typing import TypeVar

from pilothouse_agent.kernel.json_types import JsonObject, JsonValue

__all__ = ["Fields"]

T = TypeVar("T")

_LARGEST = 10**9


class Fields:
    """One object. No sentence shows a value: there may be a key in it."""

    def __init__(self, values: JsonObject, path: str, problems: list[str]) -> None:
        """`path` begins the sentences, which are added to `problems`."""
        self.path = path
        self.problems = problems
        self._left = {name: value for name, value in values.items() if value is not None}

    def text(self, name: str) -> str | None:
        return self._take(name, _text, "a text")

    def texts(self, name: str) -> tuple[str, ...] | None:
        """A text or a list of them."""
        return self._take(name, _texts, "a text or a list of texts")

    def choice(self, name: str, words: Collection[str]) -> str | None:
        def read(value: JsonValue) -> str | None:
            return value if isinstance(value, str) and value in words else None

        return self._take(name, read, f"one of {', '.join(words)}")

    def flag(self, name: str) -> bool | None:
        return self._take(name, lambda value: value if isinstance(value, bool) else None, "true or false")

    def tokens(self, name: str) -> int | None:
        return self._take(name, _tokens, "a whole number, 1 or more")

    def seconds(self, name: str) -> float | None:
        return self._take(name, _seconds, "a time in seconds, more than 0")

    def money(self, name: str) -> Decimal | None:
        return self._take(name, _money, "an amount of US dollars, 0 or more")

    def object(self, name: str) -> Fields:
        """The fields of an inner object; none when it is absent."""
        value = self._take(name, lambda value: value if isinstance(value, dict) else None, "an object")
        return Fields(value or {}, f"{self.path}.{name}", self.problems)

    def objects(self) -> Iterator[tuple[str, Fields]]:
        """All that is left, as inner objects by name."""
        for name in list(self._left):
            yield name, self.object(name)

    def all_texts(self) -> dict[str, str]:
        """All that is left, as texts by name."""
        found = {name: self.text(name) for name in list(self._left)}
        return {name: text for name, text in found.items() if text is not None}

    def end(self) -> None:
        """Tell of the fields that nobody has asked for."""
        self.problems += [f"{self.path}.{name}: there is no such setting." for name in self._left]
        self._left.clear()

    def wrong(self, name: str, expected: str) -> None:
        self.problems.append(f"{self.path}.{name}: expected {expected}. It is ignored.")

    def _take(self, name: str, read: Callable[[JsonValue], T | None], expected: str) -> T | None:
        if name not in self._left:
            return None
        taken = read(self._left.pop(name))
        if taken is None:
            self.wrong(name, expected)
        return taken


def _text(value: JsonValue) -> str | None:
    return value.strip() or None if isinstance(value, str) else None


def _texts(value: JsonValue) -> tuple[str, ...] | None:
    listed = value if isinstance(value, list) else [value]
    texts = tuple(text for item in listed if (text := _text(item)) is not None)
    return texts if texts and len(texts) == len(listed) else None


def _number(value: JsonValue) -> int | float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _LARGEST:
        return None
    return value


def _tokens(value: JsonValue) -> int | None:
    number = _number(value)
    return int(number) if number is not None and number >= 1 and number == int(number) else None


def _seconds(value: JsonValue) -> float | None:
    number = _number(value)
    return float(number) if number else None


def _money(value: JsonValue) -> Decimal | None:
    try:
        amount = Decimal(str(value)) if isinstance(value, str) or _number(value) is not None else None
    except InvalidOperation:
        return None
    return amount if amount is not None and amount.is_finite() and 0 <= amount <= _LARGEST else None
