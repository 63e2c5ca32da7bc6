"""Where things are kept: below `PILOTHOUSE_HOME` when it is set, else in the platform's own folders."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

__all__ = ["user_settings_path"]


def user_settings_path(environment: Mapping[str, str]) -> Path:
    if home := environment.get("PILOTHOUSE_HOME"):
        return Path(home) / "config.toml"
    from platformdirs import user_config_path

    return user_config_path("pilothouse", appauthor=False) / "config.toml"
