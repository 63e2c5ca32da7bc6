"""The folders that are open in the editor, as they come and go."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from pilothouse_server.client.document_uris import path_of
from pilothouse_server.documents.listeners import Listeners

__all__ = ["FoldersChange", "WorkspaceFolders", "folder_uris"]


@dataclass(frozen=True, slots=True)
class FoldersChange:
    """Absolute paths."""

    removed: tuple[str, ...]
    added: tuple[str, ...]

    @classmethod
    def between(cls, before: Sequence[str], now: Sequence[str]) -> FoldersChange:
        gone = tuple(path for path in before if path not in now)
        return cls(gone, tuple(path for path in now if path not in before))


class WorkspaceFolders:
    def __init__(self, paths: Sequence[str]) -> None:
        """Absolute paths; the first one is kept as the place to work in while no folder is open."""
        self._home = tuple(paths[:1])
        self._paths = tuple(dict.fromkeys(paths))
        self._listeners = Listeners[FoldersChange]()

    @property
    def paths(self) -> tuple[str, ...]:
        """In the editor's order."""
        return self._paths or self._home

    def watch(self, listener: Callable[[FoldersChange], object]) -> Callable[[], None]:
        """Told of each change when it has been made; returns what ends it."""
        return self._listeners.add(listener)

    def did_change(self, params: Mapping[str, Any]) -> None:
        removed, added = _paths(params, "removed"), _paths(params, "added")
        stay = [path for path in self._paths if path not in removed]
        self._paths = tuple(dict.fromkeys([*stay, *added]))
        gone = tuple(path for path in removed if path not in added)
        self._listeners.tell(FoldersChange(gone, tuple(dict.fromkeys(added))))


def folder_uris(params: Mapping[str, Any], name: Literal["removed", "added"]) -> list[str]:
    """As the client spells them in its message of a change."""
    event = params.get("event")
    listed = cast("Mapping[str, Any]", event).get(name) if isinstance(event, dict) else None
    folders = cast("list[Any]", listed) if isinstance(listed, list) else []
    uris = [cast("Mapping[str, Any]", each).get("uri") for each in folders if isinstance(each, dict)]
    return [uri for uri in uris if isinstance(uri, str)]


def _paths(params: Mapping[str, Any], name: Literal["removed", "added"]) -> list[str]:
    return [path for uri in folder_uris(params, name) if (path := path_of(uri)) is not None]
