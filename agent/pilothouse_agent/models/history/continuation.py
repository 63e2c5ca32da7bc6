"""What was written for the last request, gone on with where the history has only grown since."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Generic, Protocol, TypeVar

from pilothouse_agent.kernel.messages import ModelMessage
from pilothouse_agent.models.history.sendable import is_continued

__all__ = ["Continuation", "LastMade", "Written"]

S = TypeVar("S")
T = TypeVar("T")


class Written(Protocol):
    def add(self, message: ModelMessage) -> None:
        """The next message of the history."""
        ...


W = TypeVar("W", bound=Written)


class Continuation(Generic[W]):
    """Keeps the last one: the next request mostly goes on from it."""

    def __init__(self) -> None:
        self._last: tuple[Hashable, W] | None = None
        self._history: Sequence[ModelMessage] = ()

    def of(self, history: Sequence[ModelMessage], key: Hashable, begin: Callable[[], W]) -> W:
        """All of the history as written. `key`: what it depends on besides; another one begins anew.

        What is given may be changed by the next call.
        """
        last, self._last = self._last, None  # what fails halfway is not gone on with
        if last is None or last[0] != key or not is_continued(self._history, history):
            last, self._history = (key, begin()), ()
        for message in history[len(self._history) :]:
            last[1].add(message)
        self._last, self._history = last, history
        return last[1]


class LastMade(Generic[S, T]):
    """What was made of an object, until it is asked for that of another one."""

    def __init__(self, make: Callable[[S], T]) -> None:
        self._make = make
        self._last: tuple[S, T] | None = None

    def of(self, source: S) -> T:
        """`source` must not change."""
        if self._last is None or self._last[0] is not source:
            self._last = (source, self._make(source))
        return self._last[1]
