"""What the agent's calls raise.

AgentError
├── AgentBusy      a run (or a compaction by hand) is active
├── NotRunning     the final poll is over; nothing would deliver the message
└── NothingToContinue
"""

from __future__ import annotations

__all__ = ["AgentBusy", "AgentError", "NotRunning", "NothingToContinue"]


class AgentError(Exception):
    """A call that the agent's present state does not allow; nothing was changed."""


class AgentBusy(AgentError):
    def __init__(self) -> None:
        super().__init__("The agent is busy with a run. Steer it, queue a follow-up, or abort it first.")


class NotRunning(AgentError):
    def __init__(self) -> None:
        super().__init__("The run is ending and takes no more messages. Send a prompt once it is idle.")


class NothingToContinue(AgentError):
    """`continue_` has neither an unanswered message nor a queued one to go on with."""
