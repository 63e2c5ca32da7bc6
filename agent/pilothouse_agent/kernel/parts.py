"""What an agent is put together from: injected parts, and what may be changed between requests."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from pilothouse_agent.kernel.clock import SystemClock
from pilothouse_agent.kernel.hooks import Hooks
from pilothouse_agent.kernel.ports import (
    Approver,
    Clock,
    Compactor,
    FilePort,
    ModelProvider,
    NewsSource,
    PermissionPipeline,
    RetryPolicy,
    TodoSource,
    Tool,
)
from pilothouse_agent.kernel.request import ThinkingLevel, ToolSpec
from pilothouse_agent.kernel.retry import BackOff
from pilothouse_agent.kernel.settings import RunSettings

__all__ = ["AgentConfig", "AgentParts", "RunChoices", "SystemPrompt", "random_id"]

SystemPrompt: TypeAlias = Callable[[Sequence[ToolSpec]], str]
"""Makes the system prompt from the tools on offer."""


def random_id(prefix: str) -> str:
    return f"{prefix}_{secrets.token_hex(6)}"


@dataclass(frozen=True, slots=True)
class AgentParts:
    provider: ModelProvider
    session_id: str = ""
    permissions: PermissionPipeline | None = None
    """None: every call may run."""
    approver: Approver | None = None
    """None: there is nobody to ask, so every question is a no (P4)."""
    files: FilePort | None = None
    """For previews; the tools were given it by whoever made them."""
    compactor: Compactor | None = None
    retry: RetryPolicy = field(default_factory=BackOff)
    todos: TodoSource | None = None
    news: NewsSource | None = None
    """Asked as each turn begins."""
    hooks: Hooks = field(default_factory=Hooks)
    settings: RunSettings = field(default_factory=RunSettings)
    clock: Clock = field(default_factory=SystemClock)
    new_id: Callable[[str], str] = random_id


@dataclass(frozen=True, slots=True)
class RunChoices:
    """What holds for one run and no longer; None: what the agent has."""

    model: str | None = None
    thinking: ThinkingLevel | None = None


@dataclass(slots=True)
class AgentConfig:
    """Read at each request, so a change takes effect at the next one (A7)."""

    model: str
    tools: tuple[Tool, ...] = ()
    system_prompt: str | SystemPrompt = ""
    thinking: ThinkingLevel = "off"
    of_run: RunChoices = field(default_factory=RunChoices)
    """Of the run that is active."""
    _offer: tuple[tuple[Tool, ...], tuple[ToolSpec, ...]] = ((), ())

    @property
    def model_in_use(self) -> str:
        return self.of_run.model or self.model

    @property
    def thinking_in_use(self) -> ThinkingLevel:
        return self.of_run.thinking or self.thinking

    def specs(self) -> tuple[ToolSpec, ...]:
        """The very same tuple as long as the tools are, so that what is made of it can be kept."""
        if self._offer[0] is not self.tools:
            self._offer = (self.tools, tuple(tool.spec for tool in self.tools))
        return self._offer[1]

    def system(self, specs: Sequence[ToolSpec]) -> str:
        return self.system_prompt if isinstance(self.system_prompt, str) else self.system_prompt(specs)
