"""Thinking beside the content of chat deltas, and what of it must go back with the next request."""

from __future__ import annotations

from pilothouse_agent.kernel.json_types import JsonObject, JsonValue

__all__ = ["ChatThinking"]

_FIELDS = ("reasoning_content", "reasoning")
_DETAIL_TEXTS = ("text", "summary")


class ChatThinking:
    """Servers name the field differently, some fill two; one text comes out of it."""

    def __init__(self) -> None:
        self.block: int | None = None
        """The block it is shown in; None while there is none."""
        self._field = ""
        self._details: dict[tuple[JsonValue, ...], JsonObject] = {}

    def feed(self, delta: JsonObject) -> str:
        """The new thinking text of a delta, counted once."""
        details = delta.get("reasoning_details")
        detailed = self._add(details) if isinstance(details, list) and details else ""
        for name in _FIELDS:
            text = delta.get(name)
            if isinstance(text, str) and text:
                self._field = self._field or name
                return text
        return detailed

    def to_send_back(self) -> JsonObject | None:
        """For `ThinkingData.data`: the details whole, or the field that takes the text."""
        if self._details:
            return {"reasoning_details": list(self._details.values())}
        return {"field": self._field} if self._field == "reasoning_content" else None

    def _add(self, details: list[JsonValue]) -> str:
        texts: list[str] = []
        for fragment in details:
            if isinstance(fragment, dict):
                detail = self._details.setdefault(self._key(fragment), {})
                texts.extend(_merge(detail, fragment))
        return "".join(texts)

    def _key(self, fragment: JsonObject) -> tuple[JsonValue, ...]:
        """Fragments of one detail share type and index; an encrypted one without index is whole."""
        kind, index = _plain(fragment.get("type")), _plain(fragment.get("index"))
        if index is None and kind == "reasoning.encrypted":
            index = -len(self._details) - 1
        return kind, index


def _merge(detail: JsonObject, fragment: JsonObject) -> list[str]:
    """Texts are joined, the rest is set once it is known; gives the new texts."""
    texts: list[str] = []
    for name, value in fragment.items():
        before = detail.get(name)
        if name in _DETAIL_TEXTS and isinstance(value, str):
            texts.append(value)
            detail[name] = before + value if isinstance(before, str) else value
        elif value is not None or name not in detail:
            detail[name] = value
    return texts


def _plain(value: JsonValue) -> JsonValue:
    return value if isinstance(value, str | int) else None
