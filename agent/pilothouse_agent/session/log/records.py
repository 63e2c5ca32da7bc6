"""Lines of a session's log: its header, and the records that hang on each other as a tree."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import cast

import orjson

from pilothouse_agent.kernel.json_types import JsonObject, JsonValue

__all__ = ["VERSION", "BadHeader", "Header", "Parent", "Record", "line_of", "now", "object_in"]

VERSION = 1

_LONG_NUMBER = re.compile(rb"[0-9]{19}")
"""What may be more than 64 bits, of which the quick reader makes a fraction."""


class BadHeader(Exception):
    """The first line is not a header; its text is a sentence."""


@dataclass(frozen=True, slots=True)
class Parent:
    """Where a fork, or the session of a task, comes from."""

    session_id: str
    entry_id: str | None = None
    task: bool = False
    """It is the session of a task, which lists leave out."""


@dataclass(frozen=True, slots=True)
class Header:
    session_id: str
    cwd: str
    folders: tuple[str, ...]
    created: str
    """ISO 8601, UTC."""
    parent: Parent | None = None
    version: int = VERSION

    @property
    def newer(self) -> bool:
        """Written by a later release: it may be read, as far as it is understood, and not be continued."""
        return self.version > VERSION

    def to_json(self) -> JsonObject:
        value: JsonObject = {
            "type": "session",
            "version": self.version,
            "id": self.session_id,
            "cwd": self.cwd,
            "folders": list(self.folders),
            "created": self.created,
        }
        if self.parent is not None:
            value["parent"] = {"sessionId": self.parent.session_id, "entryId": self.parent.entry_id}
            if self.parent.task:
                value["task"] = True
        return value

    @staticmethod
    def of(value: JsonObject | None) -> Header:
        """Raises `BadHeader`."""
        if value is None or value.get("type") != "session":
            raise BadHeader("The first line of the log is not the header of a session.")
        match value:
            case {"id": str(session_id), "cwd": str(cwd), "version": int(version)}:
                folders = value.get("folders")
                return Header(
                    session_id,
                    cwd,
                    tuple(map(str, folders)) if isinstance(folders, list) else (cwd,),
                    str(value.get("created", "")),
                    _parent(value.get("parent"), task=value.get("task") is True),
                    version,
                )
            case _:
                raise BadHeader("The header of the log lacks the session's id, folder or version.")


@dataclass(frozen=True, slots=True)
class Record:
    """One line after the header. `type` and `data` of later releases are carried along as they are."""

    id: str
    parent: str | None
    time: str
    type: str
    data: JsonObject = field(default_factory=dict[str, JsonValue])
    """The fields of the type."""

    def to_json(self) -> JsonObject:
        return {"id": self.id, "parent": self.parent, "time": self.time, "type": self.type, **self.data}

    @staticmethod
    def of(value: JsonObject) -> Record | None:
        """None for an object that is no record."""
        data = dict(value)
        match data.pop("id", None), data.pop("parent", None), data.pop("time", ""), data.pop("type", None):
            case str(record_id), (None | str()) as parent, time, str(kind):
                return Record(record_id, parent, str(time), kind, data)
            case _:
                return None


def _parent(value: JsonValue | None, *, task: bool) -> Parent | None:
    match value:
        case {"sessionId": str(session_id)}:
            entry = value.get("entryId")
            return Parent(session_id, entry if isinstance(entry, str) else None, task)
        case _:
            return None


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def line_of(value: JsonObject) -> bytes:
    try:
        return orjson.dumps(value) + b"\n"
    except (TypeError, ValueError):
        # Half characters and large numbers, which the plain library escapes.
        return json.dumps(value, separators=(",", ":")).encode("ascii") + b"\n"


def object_in(line: bytes) -> JsonObject | None:
    """None for what is no JSON object."""
    try:
        value: object = json.loads(line) if _LONG_NUMBER.search(line) else orjson.loads(line)
    except ValueError:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            return None
    except RecursionError:
        return None
    return cast("JsonObject", value) if isinstance(value, dict) else None
