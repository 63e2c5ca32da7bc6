"""Models of choosing a model."""

from __future__ import annotations

from pilothouse_server.protocol.models import KeySourceName, ThinkingName, Wire

__all__ = [
    "ModelEntry",
    "ModelsParams",
    "ModelsResult",
    "PriceModel",
    "ProviderEntry",
    "SetModelParams",
    "SetThinkingParams",
]


class ModelsParams(Wire):
    session_id: str | None = None
    """As this session may use them: its working folder may have keys of its own. Absent: as any may."""
    provider: str | None = None
    """Only this one, with its models whether it can be used or not; absent: all, and the models of those
    that can."""


class PriceModel(Wire):
    """US dollars for a million tokens, as decimal strings; absent: unknown. Long prompts may cost more."""

    input: str | None = None
    output: str | None = None
    cache_read: str | None = None
    cache_write: str | None = None


class ModelEntry(Wire):
    """What is known of a model; providers answer to more models than are known of here."""

    id: str
    """`provider/model`."""
    provider: str
    available: bool
    reason: str | None = None
    """Why it cannot be used."""
    credentials: KeySourceName | None = None
    """Where the key comes from; absent: none is used."""
    context_window: int | None = None
    """Tokens."""
    max_output: int | None = None
    images: bool | None = None
    thinking: bool | None = None
    price: PriceModel | None = None


class ProviderEntry(Wire):
    name: str
    available: bool
    reason: str | None = None
    credentials: KeySourceName | None = None


class ModelsResult(Wire):
    providers: list[ProviderEntry]
    models: list[ModelEntry]


class SetModelParams(Wire):
    session_id: str
    model: str


class SetThinkingParams(Wire):
    session_id: str
    thinking: ThinkingName
