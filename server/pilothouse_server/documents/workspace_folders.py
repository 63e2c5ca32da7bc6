"""The folders that are open in the editor, as they come and go."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from pilothouse_server.client.document_uris import path_of
from pilothouse_server.documents.listeners import Listeners

__all__ = ["FoldersChange", "WorkspaceFolders"]


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
        removed, added = _folders(params, "removed"), _folders(params, "added")
        stay = [path for path in self._paths if path not in removed]
        self._paths = tuple(dict.fromkeys([*stay, *added]))
        gone = tuple(path for path in removed if path not in added)
        self._listeners.tell(FoldersChange(gone, tuple(dict.fromkeys(added))))


def _folders(params: Mapping[str, Any], name: str) -> list[str]:
    event = params.get("event")
    listed = cast("Mapping[str, Any]", event).get(name) if isinstance(event, dict) else None
    folders = cast("list[Any]", listed) if isinstance(listed, list) else []
    uris = [cast("Mapping[str, Any]", each).get("uri") for each in folders if isinstance(each, dict)]
    paths = [path_of(uri) for uri in uris if isinstance(uri, str)]
    return [path for path in paths if path is not None]
