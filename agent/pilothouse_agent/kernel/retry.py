"""The default retry policy: exponential back-off, a Retry-After waited for in full (L7)."""

from __future__ import annotations

from dataclasses import dataclass

from pilothouse_agent.kernel.messages import ErrorInfo

__all__ = ["BackOff"]


@dataclass(frozen=True, slots=True)
class BackOff:
    """Times in seconds."""

    attempts: int = 3
    base_delay: float = 2
    max_delay: float = 60
    max_retry_after: float = 300
    """A longer Retry-After fails at once."""

    def delay(self, attempt: int, error: ErrorInfo) -> float | None:
        if not error.retryable or attempt > self.attempts:
            return None
        if error.retry_after is not None and error.retry_after > self.max_retry_after:
            return None
        backed_off = min(self.base_delay * 2 ** (attempt - 1), self.max_delay)
        return max(backed_off, error.retry_after or 0)
