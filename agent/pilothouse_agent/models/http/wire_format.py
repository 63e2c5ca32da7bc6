"""What is particular to a wire format: its place on a server, its headers, its writer and its reader."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from pilothouse_agent.kernel.messages import RefusedBlock
from pilothouse_agent.kernel.request import ModelRequest, ToolSpec
from pilothouse_agent.models.history.image_refusals import WirePlace
from pilothouse_agent.models.http.answer_reader import AnswerReader
from pilothouse_agent.models.http.concessions import Concession
from pilothouse_agent.models.http.errors import Source
from pilothouse_agent.models.model_traits import ModelTraits

__all__ = ["ReaderMaker", "RequestWriter", "WireFormat", "bearer"]


class RequestWriter(Protocol):
    def names(self, tools: tuple[ToolSpec, ...]) -> Mapping[str, str]:
        """From the names on the wire to the tools' own, where these are not legal there."""
        ...

    def body(
        self, request: ModelRequest, *, model: str, traits: ModelTraits, conceded: Mapping[str, str]
    ) -> bytes:
        """`model` is the name on the wire; `conceded` tells what the server has refused to take."""
        ...

    def refused(
        self,
        request: ModelRequest,
        place: WirePlace,
        *,
        traits: ModelTraits | None,
        conceded: Mapping[str, str] | None,
    ) -> RefusedBlock:
        """The image at a place in the body of a request."""
        ...


class ReaderMaker(Protocol):
    def __call__(self, source: Source, *, model: str, names: Mapping[str, str]) -> AnswerReader:
        """`model`: the whole id. `names`: from tool names on the wire to ours, where they differ."""
        ...


def bearer(key: str) -> dict[str, str]:
    """The headers of the formats that are OpenAI's."""
    return {"authorization": f"Bearer {key}"} if key else {}


def _nothing(name: str) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class WireFormat:
    paths: tuple[str, ...]
    """What follows the address; an address may already end in it, or in a later one of these."""
    home: str
    """The host of the format's maker, which answers nobody without a key."""
    writer: RequestWriter
    reader: ReaderMaker
    concessions: Mapping[str, Concession]
    headers: Callable[[str], Mapping[str, str]] = bearer
    """Given the key."""
    elsewhere: Callable[[str], str] = _nothing
    """What to use where a server does not know the path, as a sentence; given the provider's name."""
