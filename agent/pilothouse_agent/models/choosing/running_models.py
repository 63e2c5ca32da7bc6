"""Which models a server on this machine has: asked only when somebody wants to choose, or has mischosen."""

from __future__ import annotations

from pilothouse_agent.kernel.json_types import JsonValue
from pilothouse_agent.models.choosing.near_server import asked
from pilothouse_agent.models.choosing.provider_config import ProviderConfig

__all__ = ["running_models"]


async def running_models(config: ProviderConfig, key: str) -> tuple[str, ...]:
    """The names it tells; none when it tells nothing of the kind. Raises `NobodyAnswers`."""
    value = await asked(config, f"{config.address.rstrip('/')}/models", key)
    listed: JsonValue = value.get("data") if isinstance(value, dict) else None
    names = (item.get("id") for item in listed if isinstance(item, dict)) if isinstance(listed, list) else ()
    return tuple(name for name in names if isinstance(name, str) and name and name.isprintable())
