"""The providers that need no settings, out of presets.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

from pilothouse_agent.models.choosing.provider_entry import ProviderEntry
from pilothouse_agent.models.setting_types import Count, Flag, Text, Texts

__all__ = ["NO_PRESET", "PRESETS", "Preset"]


class Preset(ProviderEntry):
    """What settings may say of a provider, and what only we say."""

    base_url_variable: Texts = ()
    """Variables that hold another address, the first that is set counts."""
    host_variable: Text | None = None
    """One that holds a host, a port or both, as the server itself reads it."""
    dialect_host: Text | None = None
    """The dialect counts only at this host."""
    lists: Texts = ("*",)
    """Patterns of the model names that are shown when all are listed."""
    start: Text | None = None
    """The command that starts it."""
    image_size: Count | None = None
    """The bytes of an image that it takes, where that is less than usual."""
    local: Flag = False
    """Runs on the user's own machine: no key needed, an address may be a bare host:port."""


def _read(path: Path) -> dict[str, Preset]:
    entries = tomllib.loads(path.read_text(encoding="utf-8"))
    return {name: Preset.model_validate(entry, by_name=False) for name, entry in entries.items()}


# Read when this is imported, which the server does in a thread.
PRESETS: Mapping[str, Preset] = _read(Path(__file__).with_suffix(".toml"))
NO_PRESET = Preset()
