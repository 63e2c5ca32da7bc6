"""Which messages go back with the thinking that their own model wants back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.messages import AssistantMessage, ModelMessage

__all__ = ["Back", "goes_back", "maker"]


@dataclass(frozen=True, slots=True)
class Back:
    """Equal to another one where it says the same of every message of a history."""

    model: str
    """The only one that gets its thinking back."""
    withheld: frozenset[int] | None = frozenset()
    """Identities of the messages whose thinking was refused; None: that of all."""

    def wants(self, message: ModelMessage, maker: str) -> bool:
        """`maker`: the model that wants something of the message back."""
        return maker == self.model and self.withheld is not None and id(message) not in self.withheld


def goes_back(model: str, history: Sequence[ModelMessage], conceded: Mapping[str, str]) -> Back:
    """For a server that has refused the thinking up to the message whose id is conceded; of all if it is
    empty."""
    last = conceded.get("thoughts")
    if last is None:
        return Back(model)
    if not last:
        return Back(model, None)
    places = (index for index in range(len(history) - 1, -1, -1) if history[index].id == last)
    return Back(model, frozenset(map(id, history[: next(places, -1) + 1])))


def maker(message: AssistantMessage, kept: Iterable[JsonObject]) -> str | None:
    """The model that wants something of the message back; None when there is nothing.

    `kept`: what the message's blocks keep for their model.
    """
    first = next(iter(kept), None)
    if first is None:
        return None
    model = first.get("model")
    return model if isinstance(model, str) else message.model
