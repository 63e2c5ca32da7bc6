"""Which session a folder's chat had last, so that its last run can be undone after a restart."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping

from pilothouse_agent.settings.places import changes_file, chat_file

__all__ = ["ChatMemory"]

logger = logging.getLogger(__name__)


class ChatMemory:
    """Blocks: call in a thread. Raises nothing: without it only the undo is lost."""

    def __init__(self, environment: Mapping[str, str], folder: str) -> None:
        self._environment = environment
        self._path = chat_file(environment, folder)

    def load(self) -> str | None:
        """The session's id, if it has changed any files."""
        try:
            session_id = self._path.read_text(encoding="ascii").strip()
            return session_id if changes_file(self._environment, session_id).is_file() else None
        except (OSError, ValueError):
            return None

    def store(self, session_id: str) -> None:
        new = self._path.with_name(f"{self._path.name}.{os.getpid()}.new")
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            new.write_text(session_id, encoding="ascii")
            new.replace(self._path)
        except OSError as error:
            logger.warning("The chat's session could not be noted: %s", error.strerror or error)
