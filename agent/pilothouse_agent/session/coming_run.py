"""A run that is to begin, at once or when what is in its way is over."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from dataclasses import dataclass, field

from pilothouse_agent.kernel.events import QueuedItem
from pilothouse_agent.kernel.foreign import described
from pilothouse_agent.kernel.messages import ErrorInfo, UserBlock
from pilothouse_agent.kernel.parts import RunChoices
from pilothouse_agent.kernel.run import Run, RunResult
from pilothouse_agent.permissions.approval_mode import ApprovalMode

__all__ = ["ComingRun"]


@dataclass(slots=True)
class ComingRun:
    """Awaiting it gives the run's result; cancelling who awaits it means abort, also before it has begun."""

    run_id: str
    items: list[tuple[UserBlock, ...] | QueuedItem]
    prompt_id: str | None = None
    note: str = ""
    choices: RunChoices | None = None
    mode: ApprovalMode | None = None
    aborted: bool = False
    """It is to end as soon as it has begun."""
    _begun: asyncio.Future[Run | RunResult] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    def __await__(self) -> Generator[object, None, RunResult]:
        return self._result().__await__()

    def has_begun(self, run: Run) -> None:
        self._begun.set_result(run)

    def has_failed(self, error: BaseException) -> None:
        """It will never begin; what was queued for it is handed back by its result."""
        text = f"The run could not begin: {described(error)}"
        queued = tuple(item for item in self.items if isinstance(item, QueuedItem))
        info = ErrorInfo("internal", text)
        self._begun.set_result(RunResult(self.run_id, "error", None, "", None, queued, info))

    async def _result(self) -> RunResult:
        try:
            begun = await asyncio.shield(self._begun)
        except asyncio.CancelledError:
            self.aborted = True
            raise
        return begun if isinstance(begun, RunResult) else await begun
