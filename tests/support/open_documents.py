"""Messages of a client about its documents, as short as a test wants to read them."""

from __future__ import annotations

from typing import Any, TypeAlias

from pilothouse_server.client.positions import Position

__all__ = ["Span", "change", "closing", "opening", "saving"]

Json: TypeAlias = dict[str, Any]
Span: TypeAlias = tuple[tuple[int, int], tuple[int, int]]


def opening(uri: str, text: Any, version: Any = 1) -> Json:
    return {"textDocument": {"uri": uri, "languageId": "python", "version": version, "text": text}}


def change(uri: str, version: Any, *changes: tuple[Span, str] | str) -> Json:
    """Each a range (line, character; line, character) with its text, or a whole text."""
    return {
        "textDocument": {"uri": uri, "version": version},
        "contentChanges": [
            {"text": each} if isinstance(each, str) else {"range": _range(each[0]), "text": each[1]}
            for each in changes
        ],
    }


def saving(uri: str, text: str | None = None) -> Json:
    return {"textDocument": {"uri": uri}, **({"text": text} if text is not None else {})}


def closing(uri: str) -> Json:
    return {"textDocument": {"uri": uri}}


def _range(span: Span) -> Json:
    start, end = span
    return {"start": Position(*start).to_wire(), "end": Position(*end).to_wire()}
