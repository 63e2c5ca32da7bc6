"""Where logs are kept: one folder a workspace, so that listing one never reads another's (J1). Blocks."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

__all__ = ["LogFolder"]

_SESSION_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")


class LogFolder:
    def __init__(self, root: Path) -> None:
        """`root`: the folder of all sessions."""
        self.root = root

    def of_workspace(self, cwd: str) -> Path:
        slug = re.sub(r"[^A-Za-z0-9]+", "-", os.path.basename(cwd)).strip("-")[:40] or "folder"
        digest = sha256(cwd.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        return self.root / f"{slug}-{digest}"

    def new(self, cwd: str, session_id: str) -> Path:
        """Where the log of a new session is to be. Raises ValueError for an id that is none of ours."""
        if not _SESSION_ID.fullmatch(session_id):
            raise ValueError(f"{session_id!r} is not the id of a session")
        start = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
        return self.of_workspace(cwd) / f"{start}-{session_id}.jsonl"

    def find(self, session_id: str) -> Path | None:
        if not _SESSION_ID.fullmatch(session_id):
            return None
        return next(self.root.glob(f"*/*-{session_id}.jsonl"), None)

    def logs(self, cwd: str | None = None) -> Iterator[tuple[Path, os.stat_result]]:
        """Of one workspace, or all; in no order. What vanishes meanwhile is left out."""
        folders = [self.of_workspace(cwd)] if cwd is not None else _folders(self.root)
        for folder in folders:
            try:
                entries = list(os.scandir(folder))
            except OSError:
                continue
            for entry in entries:
                if entry.name.endswith(".jsonl"):
                    try:
                        yield Path(entry.path), entry.stat()
                    except OSError:
                        continue


def _folders(root: Path) -> list[str]:
    try:
        return [entry.path for entry in os.scandir(root) if entry.is_dir()]
    except OSError:
        return []
