"""The default retry policy: exponential back-off with full jitter, a Retry-After waited for in full (L7)."""

from __future__ import annotations

import random
from collections.abc import Callable
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
    jitter: Callable[[], float] = random.random
    """From 0 to 1: how much of a computed delay is waited, so that many who fail at once do not all
    come back at once."""

    def delay(self, attempt: int, error: ErrorInfo) -> float | None:
        if not error.retryable or attempt > self.attempts:
            return None
        if error.retry_after is None:
            return self.jitter() * min(self.base_delay * 2 ** (attempt - 1), self.max_delay)
        if error.retry_after > self.max_retry_after:
            return None
        return error.retry_after + self.jitter() * self.base_delay
