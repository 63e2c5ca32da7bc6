"""Where things are kept: below `PILOTHOUSE_HOME` when it is set, else in the platform's own folders."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.session.setting_keys import load_file

__all__ = ["log_file", "user_settings", "user_settings_path"]

logger = logging.getLogger(__name__)


def user_settings_path(environment: Mapping[str, str]) -> Path:
    if home := environment.get("PILOTHOUSE_HOME"):
        return Path(home) / "config.toml"
    from platformdirs import user_config_path

    return user_config_path("pilothouse", appauthor=False) / "config.toml"


def log_file(environment: Mapping[str, str]) -> Path:
    """What the server says of itself; all server processes share it."""
    if home := environment.get("PILOTHOUSE_HOME"):
        return Path(home) / "state" / "server.log"
    from platformdirs import user_state_path

    return user_state_path("pilothouse", appauthor=False) / "server.log"


def user_settings(environment: Mapping[str, str]) -> JsonObject:
    """What the user's file holds; what is wrong with it is logged. Blocks."""
    values, complaints = load_file(user_settings_path(environment))
    for complaint in complaints:
        logger.warning("%s", complaint)
    return values
