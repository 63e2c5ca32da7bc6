"""Which messages go back with the thinking that their own model wants back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pilothouse_agent.kernel.messages import ModelMessage

__all__ = ["Back", "goes_back"]


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
