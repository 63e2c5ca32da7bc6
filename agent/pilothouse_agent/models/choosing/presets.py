"""The providers that need no settings, out of presets.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

from pilothouse_agent.kernel.json_types import JsonObject

__all__ = ["PRESETS"]

# Read when this is imported, which the server does in a thread.
PRESETS: Mapping[str, JsonObject] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
)
"""Entries by the provider's name, in the form of the setting `providers`."""
