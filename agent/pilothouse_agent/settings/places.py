"""Where things are kept: below `PILOTHOUSE_HOME` when it is set, else in the platform's own folders."""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.settings.provider_entries import without_exposed_keys
from pilothouse_agent.settings.toml_file import load_file

__all__ = [
    "changes_file",
    "chat_file",
    "kept_places",
    "log_file",
    "read_user_settings",
    "sessions_folder",
    "user_settings_path",
]

_SESSION_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")


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


def changes_file(environment: Mapping[str, str], session_id: str) -> Path:
    """The journal of what a session did to files. Raises ValueError for an id that is none of ours."""
    if not _SESSION_ID.fullmatch(session_id):
        raise ValueError(f"{session_id!r} is not the id of a session")
    return log_file(environment).with_name("changes") / f"{session_id}.jsonl"


def sessions_folder(environment: Mapping[str, str]) -> Path:
    """The logs of all sessions."""
    if home := environment.get("PILOTHOUSE_HOME"):
        return Path(home) / "data" / "sessions"
    from platformdirs import user_data_path

    return user_data_path("pilothouse", appauthor=False) / "sessions"


def kept_places(environment: Mapping[str, str]) -> dict[str, Path]:
    """Where files of ours are, by what they are."""
    log = log_file(environment)
    return {
        "settings": user_settings_path(environment),
        "log": log,
        "undo journals": log.with_name("changes"),
        "chats": log.with_name("chats"),
        "sessions": sessions_folder(environment),
    }


def chat_file(environment: Mapping[str, str], folder: str) -> Path:
    """Where the chat of a folder notes its session."""
    name = sha256(folder.encode("utf-8", "surrogatepass")).hexdigest()
    return log_file(environment).with_name("chats") / name


def read_user_settings(environment: Mapping[str, str]) -> tuple[JsonObject, list[str]]:
    """What the user's file holds, and a sentence for each thing in it that does not count. Blocks."""
    path = user_settings_path(environment)
    values, complaints = load_file(path)
    values, exposed = without_exposed_keys(path, values)
    return values, [*complaints, *exposed]
