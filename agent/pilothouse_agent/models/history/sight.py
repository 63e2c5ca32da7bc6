"""Which messages of a history are shown with their images, and which with a note in their place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from pilothouse_agent.kernel.messages import ImageBlock, ModelMessage
from pilothouse_agent.models.history.pieces import Pieces
from pilothouse_agent.models.model_traits import ModelTraits

__all__ = ["PiecesOf", "Sight"]

T = TypeVar("T")
P = TypeVar("P", covariant=True)


class PiecesOf(Protocol[P]):
    """Equal to another one where it makes the same of every message."""

    def of(self, message: ModelMessage) -> P: ...


@dataclass(frozen=True, slots=True)
class Sight(Generic[T]):
    seeing: Pieces[T]
    blind: Pieces[T]

    def of(
        self, history: Sequence[ModelMessage], traits: ModelTraits, conceded: Mapping[str, str]
    ) -> PiecesOf[T]:
        """For a model of these traits, behind a server that has refused to take what is conceded."""
        if not traits.images or "images" in conceded:
            return self.blind
        hidden = (
            _hidden(history, int(conceded["image count"])) if "image count" in conceded else frozenset[int]()
        )
        return _Newest(self.seeing, self.blind, hidden) if hidden else self.seeing


@dataclass(frozen=True, slots=True)
class _Newest(Generic[T]):
    seeing: Pieces[T]
    blind: Pieces[T]
    hidden: frozenset[int]
    """Identities of the messages whose images are not shown."""

    def of(self, message: ModelMessage) -> T:
        return (self.blind if id(message) in self.hidden else self.seeing).of(message)


def _hidden(history: Sequence[ModelMessage], most: int) -> frozenset[int]:
    """All that have images but the newest with no more than `most` together; the newest one in any case."""
    seeing = [message for message in history if _images(message)]
    shown = 0
    for index in range(len(seeing) - 1, -1, -1):
        shown += _images(seeing[index])
        if shown > most and index < len(seeing) - 1:
            return frozenset(map(id, seeing[: index + 1]))
    return frozenset()


def _images(message: ModelMessage) -> int:
    return sum(isinstance(block, ImageBlock) for block in message.content)
