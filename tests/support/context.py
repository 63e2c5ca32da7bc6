"""One call's line to the executor, which remembers what the call did with it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from pilothouse_agent.kernel.abort import AbortSignal
from pilothouse_agent.kernel.ports import Consent

__all__ = ["RecordingContext"]


class RecordingContext:
    """A `ToolContext` that remembers what a call did with it."""

    def __init__(self, call_id: str = "call-1", signal: AbortSignal | None = None) -> None:
        self.call_id = call_id
        self.signal = signal or AbortSignal()
        self.consent: Consent | None = None
        self.progress_texts: list[str] = []
        self.pending: list[str] = []
        """Paths with a queued or running write right now."""
        self.announced: list[str] = []
        """Every path ever announced, in order."""
        self.commits = 0
        """Writes in flight right now."""
        self.committed = 0
        """Writes ever in flight."""

    def progress(self, text: str) -> None:
        self.progress_texts.append(text)

    @contextmanager
    def pending_write(self, path: str) -> Generator[None]:
        self.announced.append(path)
        self.pending.append(path)
        try:
            yield
        finally:
            self.pending.remove(path)

    @contextmanager
    def committing(self) -> Generator[None]:
        self.signal.raise_if_aborted()
        self.commits += 1
        self.committed += 1
        try:
            yield
        finally:
            self.commits -= 1
