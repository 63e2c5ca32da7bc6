"""Every event the kernel can publish, with whatever may be in it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar, get_args

from hypothesis import strategies as st

from pilothouse_agent.kernel import events as e
from pilothouse_agent.kernel import messages as m

__all__ = ["KERNEL_EVENTS"]

T = TypeVar("T")

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_NAME = st.text("abc_1", min_size=1, max_size=8)
_COUNT = st.integers(0, 10_000)
_PATH = _NAME.map(lambda name: f"/w/{name}")
_JSON = st.dictionaries(
    _NAME,
    st.one_of(st.none(), st.booleans(), st.integers(-9, 9), _TEXT, st.lists(_TEXT, max_size=2)),
    max_size=3,
)
_TIME = st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))


def _maybe(strategy: st.SearchStrategy[T]) -> st.SearchStrategy[T | None]:
    return st.none() | strategy


def _several(strategy: st.SearchStrategy[T]) -> st.SearchStrategy[tuple[T, ...]]:
    return st.lists(strategy, max_size=3).map(tuple)


def _one_of(literal: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(get_args(literal))


_USAGE = st.builds(
    m.Usage,
    *[_maybe(_COUNT)] * 5,
    _maybe(st.decimals(0, 100, places=4)),
)
_ERROR = st.builds(
    m.ErrorInfo,
    _one_of(m.ErrorKind),
    _TEXT,
    st.booleans(),
    _maybe(st.integers(400, 599)),
    _maybe(st.integers(0, 300).map(float)),
)
_TEXT_BLOCK = st.builds(m.TextBlock, _TEXT)
_USER_BLOCKS = _several(st.one_of(_TEXT_BLOCK, st.builds(m.ImageBlock, _NAME, _NAME)))
_CALL = st.builds(m.ToolCall, _NAME, _NAME, _JSON) | st.builds(
    m.ToolCall, _NAME, _NAME, st.none(), _maybe(_TEXT)
)
_ASSISTANT_BLOCKS = _several(st.one_of(_TEXT_BLOCK, st.builds(m.ThinkingBlock, _TEXT, _maybe(_TEXT)), _CALL))
_MESSAGE = st.one_of(
    st.builds(m.UserMessage, _NAME, _USER_BLOCKS, _TIME, _maybe(_NAME)),
    st.builds(
        m.AssistantMessage,
        _NAME,
        _ASSISTANT_BLOCKS,
        _TIME,
        _NAME,
        _one_of(m.MessageStop),
        _maybe(_USAGE),
        _maybe(_ERROR),
    ),
    st.builds(m.ToolResultMessage, _NAME, _USER_BLOCKS, _TIME, _NAME, _NAME, st.booleans()),
    st.builds(m.CustomMessage, _NAME, _USER_BLOCKS, _TIME, _NAME, st.booleans()),
)
_QUEUED = _several(st.builds(e.QueuedItem, _NAME, _one_of(e.QueueKind), _USER_BLOCKS))
_OPTIONS = _several(st.builds(e.Option, _NAME, _TEXT, _one_of(e.OptionKind), _maybe(_TEXT)))
_LOCATIONS = _several(st.builds(e.Location, _PATH, _maybe(_COUNT)))
_TODOS = _several(st.builds(e.Todo, _TEXT, _one_of(e.TodoStatus)))
_REASON = _one_of(e.CompactionReason)
_STARTED: dict[str, Any] = {"locations": _LOCATIONS, "parent_tool_call_id": _maybe(_NAME)}

KERNEL_EVENTS: Mapping[str, st.SearchStrategy[e.Event]] = {
    "agent_start": st.builds(e.AgentStart, _NAME, _NAME, _several(_NAME), _maybe(_NAME)),
    "turn_start": st.builds(e.TurnStart, _COUNT),
    "message_start": st.builds(e.MessageStart, _NAME, _one_of(m.Role)),
    "message_update": st.builds(
        e.MessageUpdate, _NAME, _one_of(e.DeltaKind), _COUNT, _TEXT, _maybe(_NAME), _maybe(_NAME)
    ),
    "message_end": st.builds(e.MessageEnd, _MESSAGE),
    "tool_execution_start": st.one_of(
        st.builds(e.ToolExecutionStart, _NAME, _NAME, _one_of(e.ToolKind), _JSON, _TEXT, **_STARTED),
        st.builds(
            e.ToolExecutionStart,
            *(_NAME, _NAME, _one_of(e.ToolKind), st.none(), _TEXT, _maybe(_TEXT)),
            **_STARTED,
        ),
    ),
    "tool_execution_update": st.builds(e.ToolExecutionUpdate, _NAME, _TEXT, _COUNT),
    "tool_execution_end": st.builds(
        e.ToolExecutionEnd, _NAME, _NAME, st.booleans(), _one_of(e.Outcome), _COUNT, _maybe(_JSON), _LOCATIONS
    ),
    "turn_end": st.builds(e.TurnEnd, _COUNT, _several(_NAME), _maybe(_NAME)),
    "agent_end": st.builds(
        e.AgentEnd, _NAME, _one_of(e.RunStop), _TEXT, _maybe(_USAGE), _QUEUED, _COUNT, _COUNT, _maybe(_ERROR)
    ),
    "phase_change": st.builds(e.PhaseChange, _one_of(e.Phase), _one_of(e.Phase), _TEXT),
    "queue_update": st.builds(e.QueueUpdate, _QUEUED, _QUEUED),
    "approval_requested": st.builds(e.ApprovalRequested, _NAME, _NAME, _TEXT, _OPTIONS),
    "approval_resolved": st.builds(
        e.ApprovalResolved, _NAME, _NAME, _one_of(e.Decision), _NAME, _maybe(_TEXT)
    ),
    "retry_scheduled": st.builds(e.RetryScheduled, _COUNT, _COUNT, _COUNT, _TEXT),
    "compaction_start": st.builds(e.CompactionStart, _REASON),
    "compaction_end": st.builds(e.CompactionEnd, _REASON, _COUNT, _COUNT, _maybe(_TEXT), _maybe(_ERROR)),
    "file_changed": st.builds(
        e.FileChanged,
        _PATH,
        _one_of(e.FileChangeKind),
        st.sampled_from(["editor", "disk"]),
        _COUNT,
        _COUNT,
        _NAME,
    ),
    "todo_update": st.builds(e.TodoUpdate, _TODOS),
    "session_update": st.builds(e.SessionUpdate, _maybe(_TEXT), _maybe(_NAME), _maybe(_NAME), _maybe(_NAME)),
    "notice": st.builds(e.Notice, st.sampled_from(["info", "warning", "error"]), _TEXT, _NAME),
}
"""By type."""
