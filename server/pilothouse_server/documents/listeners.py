"""Those who want to hear of something, told in the order they came."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Generic, ParamSpec

__all__ = ["Listeners"]

logger = logging.getLogger(__name__)

P = ParamSpec("P")


class Listeners(Generic[P]):
    def __init__(self) -> None:
        self._listeners: list[Callable[P, object]] = []

    def add(self, listener: Callable[P, object]) -> Callable[[], None]:
        """Returns what takes it away again; calling that twice is harmless."""
        entry = [listener]

        def call(*args: P.args, **kwargs: P.kwargs) -> None:
            for each in entry:
                each(*args, **kwargs)

        def remove() -> None:
            if entry:
                entry.clear()
                self._listeners.remove(call)

        self._listeners.append(call)
        return remove

    def tell(self, *args: P.args, **kwargs: P.kwargs) -> None:
        for listener in tuple(self._listeners):
            try:
                listener(*args, **kwargs)
            except Exception:
                # Whoever tells has work of its own to finish, such as the rest of a document's changes.
                logger.exception("A listener failed")
