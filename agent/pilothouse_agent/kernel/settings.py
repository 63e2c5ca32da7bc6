"""The numbers a run keeps to. Times in seconds."""

from __future__ import annotations

from dataclasses import dataclass

from pilothouse_agent.kernel.text_limits import MAX_BYTES, MAX_LINES

__all__ = ["RunSettings"]


@dataclass(frozen=True, slots=True)
class RunSettings:
    max_turns: int = 100
    guard_blocks: int = 3
    """How often a run is sent on by the todo guard and the stop hook together (L8)."""
    resumes: int = 3
    """How often a run resumes a broken stream (L6)."""
    parallel: int = 8
    """Tool bodies at once (T2)."""
    grace: float = 5
    """What a body that ignores cancellation is given (T7)."""
    write_limit: float = 30
    """What a write in flight is given after an abort (T7)."""
    hook_limit: float = 30
    listener_limit: float = 30
    abort_listener_limit: float = 1
    """What a listener is given once the run has been aborted (A5)."""
    output_lines: int = MAX_LINES
    """What the text of one result may have (T10)."""
    output_bytes: int = MAX_BYTES
    compaction_limit: float = 300
    close_limit: float = 1
    """What a provider is given to close its stream."""
