"""What a provider has to know of a model to write a request for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from pilothouse_agent.kernel.request import ModelLimits

__all__ = ["ModelTraits", "TraitsOf", "rough_tokens", "unknown_model"]

_LEAST_OUTPUT = 1_024
_BYTES_A_TOKEN = 4
_MARGIN = 1_024
"""Tokens left free between what the prompt is thought to have and the window."""


@dataclass(frozen=True, slots=True)
class ModelTraits:
    """The defaults stand for a model nothing is known of."""

    limits: ModelLimits = field(default_factory=ModelLimits)
    images: bool = True
    """Whether it may be sent images; else a note takes their place."""
    thinking: bool = True
    """Whether a thinking level may be asked of it."""
    output_cap: int | None = None
    """Tokens the user wants no answer to exceed; None leaves it to the model's own limit."""

    def fitting(self, most: int, prompt: int, conceded: Mapping[str, str]) -> int:
        """The tokens an answer may have, at `most`, behind a prompt of about so many, all of it counted.

        `conceded`: what the server has refused, its own word on the room that is left among it.
        """
        if room := conceded.get("room"):
            most = min(most, int(room))
        window = self.limits.context_window
        return most if window is None else min(most, max(window - prompt - _MARGIN, _LEAST_OUTPUT))


def rough_tokens(*parts: bytes) -> int:
    return sum(map(len, parts)) // _BYTES_A_TOKEN


TraitsOf: TypeAlias = Callable[[str], ModelTraits]
"""Asked with the whole model id, `provider/model`."""


def unknown_model(model: str) -> ModelTraits:
    return ModelTraits()
