"""Ways for tests to put a request to a provider and to look at what came back."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import NamedTuple, Protocol

from pilothouse_agent.kernel.events import Notice
from pilothouse_agent.kernel.messages import (
    AssistantBlock,
    AssistantMessage,
    ErrorInfo,
    MessageStop,
    ModelMessage,
    TextBlock,
    ToolResultMessage,
    Usage,
    UserBlock,
    UserMessage,
)
from pilothouse_agent.kernel.ports import ModelProvider
from pilothouse_agent.kernel.request import (
    Delta,
    Failed,
    Finished,
    ModelRequest,
    Purpose,
    StreamEvent,
    ThinkingLevel,
    ToolArguments,
    ToolSpec,
)
from pilothouse_agent.models.choosing.registry import Provider
from pilothouse_agent.models.http.timeouts import Timeouts
from pilothouse_agent.models.model_traits import TraitsOf, unknown_model

__all__ = [
    "TIME",
    "Call",
    "MakeChat",
    "MakeProvider",
    "Seen",
    "ask",
    "assistant",
    "failure",
    "model_request",
    "notices",
    "said",
    "seen",
    "tool_result",
    "user",
]

TIME = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


Call = tuple[str, str, str]


class Seen(NamedTuple):
    """What came of an answer."""

    text: str = ""
    thinking: str = ""
    calls: tuple[Call, ...] = ()
    """Id, name and joined argument text, in order of appearance."""
    end: str = "stop"
    """The stop reason, or the kind of the error."""
    usage: Usage | None = None


class MakeProvider(Protocol):
    """Makes a provider for the loopback server, closed at the end of the test."""

    def __call__(
        self,
        wire: str,
        *,
        key: str = "",
        timeouts: Timeouts | None = None,
        headers: Mapping[str, str] | None = None,
        traits: TraitsOf = unknown_model,
    ) -> Provider:
        """`wire`: openai, openai-chat or anthropic."""
        ...


class MakeChat(Protocol):
    """The same for `openai-chat`."""

    def __call__(self, *, key: str = "", timeouts: Timeouts | None = None) -> Provider: ...


async def ask(provider: ModelProvider, request: ModelRequest) -> list[StreamEvent]:
    """All that the provider says to one request, within 5 seconds."""
    async with asyncio.timeout(5):
        return [event async for event in provider.stream(request)]


def said(events: Iterable[StreamEvent], kind: str = "text") -> str:
    """The deltas of one kind, joined."""
    return "".join(event.text for event in events if isinstance(event, Delta) and event.kind == kind)


def notices(events: Iterable[StreamEvent]) -> list[Notice]:
    """What the user is told beside the answer."""
    return [event for event in events if isinstance(event, Notice)]


def failure(events: list[StreamEvent]) -> ErrorInfo:
    """The error of the terminal event, which is the last and only one."""
    end = events[-1]
    assert isinstance(end, Failed), end
    return end.error


def model_request(
    *messages: ModelMessage,
    session_id: str = "s1",
    purpose: Purpose = "turn",
    model: str = "openai-chat/m",
    system: str = "",
    tools: tuple[ToolSpec, ...] = (),
    thinking: ThinkingLevel = "off",
) -> ModelRequest:
    return ModelRequest(session_id, purpose, model, system, messages or (user("Hi"),), tools, thinking)


def user(*content: UserBlock | str) -> UserMessage:
    blocks = tuple(TextBlock(block) if isinstance(block, str) else block for block in content)
    return UserMessage("u", blocks, TIME)


def assistant(
    *content: AssistantBlock | str, model: str = "openai-chat/m", stop: MessageStop = "stop"
) -> AssistantMessage:
    blocks = tuple(TextBlock(block) if isinstance(block, str) else block for block in content)
    return AssistantMessage("a", blocks, TIME, model, stop)


def tool_result(call_id: str, *content: UserBlock | str, name: str = "read_file") -> ToolResultMessage:
    blocks = tuple(TextBlock(block) if isinstance(block, str) else block for block in content)
    return ToolResultMessage("r", blocks, TIME, call_id, name)


def seen(events: list[StreamEvent]) -> Seen:
    """Also checks that there is one terminal event, and that blocks are numbered as they appear."""
    end = events[-1]
    assert isinstance(end, Finished | Failed)
    assert not any(isinstance(event, Finished | Failed) for event in events[:-1])
    deltas = [event for event in events if isinstance(event, Delta)]
    assert [*dict.fromkeys(delta.block for delta in deltas)] == sorted({delta.block for delta in deltas})
    calls = [delta for delta in deltas if delta.kind == "toolCall"]
    blocks = dict.fromkeys(delta.block for delta in calls)
    whole = {event.block: event.text for event in events if isinstance(event, ToolArguments)}
    return Seen(
        said(events),
        said(events, "thinking"),
        tuple(
            _call([delta for delta in calls if delta.block == block], whole.get(block)) for block in blocks
        ),
        end.stop_reason if isinstance(end, Finished) else end.error.kind,
        end.usage,
    )


def _call(deltas: list[Delta], whole: str | None) -> Call:
    text = said(deltas, "toolCall") if whole is None else whole
    return deltas[0].call_id or "", deltas[0].tool_name or "", text
