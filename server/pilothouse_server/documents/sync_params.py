"""What clients say of their documents, as it came, made into values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard, cast

from pilothouse_server.client.positions import Position
from pilothouse_server.wire.json_object import Json, json_object

__all__ = ["Change", "Changed", "Opened", "Unfit", "changed", "opened", "saved_text", "uri_in"]


class Unfit(Exception):
    """Params that do not fit the protocol; the text says where, as a part of a sentence."""


@dataclass(frozen=True, slots=True)
class Opened:
    language: str
    version: int
    text: str


@dataclass(frozen=True, slots=True)
class Change:
    """New text for the range, or for the whole document when there is none."""

    text: str
    span: tuple[Position, Position] | None = None


@dataclass(frozen=True, slots=True)
class Changed:
    version: int
    changes: tuple[Change, ...]


def uri_in(params: Json) -> str | None:
    """The document that the message is about; None when it does not say."""
    uri = json_object(params.get("textDocument")).get("uri")
    return uri if isinstance(uri, str) and uri else None


def opened(params: Json) -> Opened:
    """Raises `Unfit`."""
    document = json_object(params.get("textDocument"))
    language = document.get("languageId")
    return Opened(
        language if isinstance(language, str) else "",
        _version(document),
        _text(document.get("text"), "opened it without its text"),
    )


def changed(params: Json) -> Changed:
    """Raises `Unfit`."""
    listed = params.get("contentChanges")
    if not isinstance(listed, Sequence) or isinstance(listed, str):
        raise Unfit("sent a change without a list of changes")
    version = _version(json_object(params.get("textDocument")))
    return Changed(version, tuple(_change(item) for item in cast("Sequence[Any]", listed)))


def saved_text(params: Json) -> str | None:
    text = params.get("text")
    return text if isinstance(text, str) else None


def _change(item: Any) -> Change:
    text = _text(json_object(item).get("text"), "sent a change without its text")
    span = json_object(item).get("range")
    if span is None:
        return Change(text)
    return Change(text, (_position(json_object(span).get("start")), _position(json_object(span).get("end"))))


def _position(value: Any) -> Position:
    line, character = json_object(value).get("line"), json_object(value).get("character")
    if not _is_count(line) or not _is_count(character):
        raise Unfit("sent a change whose range is not made of line and character numbers")
    return Position(line, character)


def _version(document: Json) -> int:
    version = document.get("version")
    if not isinstance(version, int) or isinstance(version, bool):
        raise Unfit("gave no version number")
    return version


def _text(value: Any, otherwise: str) -> str:
    if not isinstance(value, str):
        raise Unfit(otherwise)
    return value


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
