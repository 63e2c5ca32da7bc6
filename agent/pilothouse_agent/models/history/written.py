"""A request's history in a wire format: in order, as its model may see it, and each message written once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeAlias, TypeVar

from pilothouse_agent.kernel.messages import ModelMessage
from pilothouse_agent.kernel.request import ModelRequest
from pilothouse_agent.models.history.by_session import BySession
from pilothouse_agent.models.history.continuation import Continuation, Written
from pilothouse_agent.models.history.own_thoughts import Back, goes_back
from pilothouse_agent.models.history.sendable import SettledHistory
from pilothouse_agent.models.history.sight import PiecesOf, Sight
from pilothouse_agent.models.model_traits import ModelTraits

__all__ = ["WrittenHistories"]

T = TypeVar("T")
W = TypeVar("W", bound=Written)

_Joining: TypeAlias = Callable[[Sequence[ModelMessage]], Sequence[ModelMessage]]


class WrittenHistories(Generic[T, W]):
    """Keeps what it has written, a session's beside the others'."""

    def __init__(
        self,
        sight: Sight[T],
        begin: Callable[[PiecesOf[T], Back, Mapping[str, str]], W],
        joining: Callable[[], _Joining] = lambda: lambda messages: messages,
    ) -> None:
        """`begin`: an empty history, told what is conceded. `joining`: what a session's messages go
        through last, for servers that want them otherwise."""
        self._sight = sight
        self._begin = begin
        self._sessions = BySession(lambda: (SettledHistory(), joining(), Continuation[W]()))

    def of(self, request: ModelRequest, traits: ModelTraits, conceded: Mapping[str, str]) -> W:
        settling, join, written = self._sessions.of(request.session_id)
        history = join(settling.settled(request.messages))
        back = goes_back(request.model, history, conceded)
        pieces = self._sight.of(history, traits, conceded)
        key = (back, pieces, frozenset(conceded.items()))
        return written.of(history, key, lambda: self._begin(pieces, back, conceded))
