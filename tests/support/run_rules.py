"""What the events and the transcript of every run keep to, whatever happens in it (E1 to E3, S1, L3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pilothouse_agent.kernel.events import (
    AgentEnd,
    AgentStart,
    ApprovalRequested,
    ApprovalResolved,
    CompactionEnd,
    CompactionStart,
    Event,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    Notice,
    Phase,
    PhaseChange,
    QueueUpdate,
    RetryScheduled,
    Role,
    SessionUpdate,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
    TurnEnd,
    TurnStart,
)
from pilothouse_agent.kernel.messages import (
    AssistantMessage,
    CustomMessage,
    Message,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    text_of,
)

__all__ = ["check_events", "check_pairs", "check_stored"]

_MOVES: frozenset[tuple[Phase, Phase]] = frozenset(
    {
        ("idle", "turn"),
        ("turn", "idle"),
        ("turn", "compaction"),
        ("turn", "retry"),
        ("compaction", "turn"),
        ("compaction", "idle"),
        ("retry", "turn"),
        ("retry", "idle"),
    }
)
_ROLES: dict[type[Message], Role] = {
    UserMessage: "user",
    AssistantMessage: "assistant",
    ToolResultMessage: "toolResult",
    CustomMessage: "custom",
}


def check_events(events: Iterable[Event]) -> None:
    """Raises AssertionError at the first event that may not stand where it does."""
    rules = _Rules()
    for event in events:
        rules.check(event)
    assert rules.turn is None
    assert (rules.in_run, rules.phase) == (False, "idle")


def check_pairs(messages: Sequence[Message]) -> None:
    """Every call has exactly one result, right after its message and in call order; no result has no call."""
    due: list[str] = []
    for message in messages:
        if isinstance(message, ToolResultMessage):
            assert due[:1] == [message.tool_call_id], f"a result out of place: {message}"
            due.pop(0)
            continue
        assert not due, f"no result for {due} before {message}"
        if isinstance(message, AssistantMessage):
            due = [call.id for call in message.calls]
    assert not due, f"no result for {due}"


def check_stored(messages: Sequence[Message]) -> None:
    """What a transcript may hold: calls with their results, unique ids, nothing half-made (T6, L3)."""
    check_pairs(messages)
    calls = [call for message in messages if isinstance(message, AssistantMessage) for call in message.calls]
    assert len({call.id for call in calls}) == len(calls)
    assert len({message.id for message in messages}) == len(messages)
    for message in messages:
        if isinstance(message, AssistantMessage) and message.stop_reason in (
            "error",
            "aborted",
            "interrupted",
        ):
            assert all(call.name and call.arguments is not None for call in message.calls)


@dataclass(slots=True)
class _Turn:
    message: AssistantMessage | None = None
    started: list[str] = field(default_factory=list[str])
    running: set[str] = field(default_factory=set[str])
    failed: set[str] = field(default_factory=set[str])
    results: list[str] = field(default_factory=list[str])

    @property
    def calls(self) -> list[str]:
        calls: tuple[ToolCall, ...] = self.message.calls if self.message is not None else ()
        return [call.id for call in calls]


class _Rules:
    """Follows the events of one agent."""

    def __init__(self) -> None:
        self.phase: Phase = "idle"
        self.in_run = False
        self.turn: _Turn | None = None
        self._number = 0
        self._open: MessageStart | None = None
        self._said: list[MessageUpdate] = []
        self._messages: set[str] = set()
        self._questions: dict[str, str] = {}
        self._asked: set[str] = set()
        self._compacting = False

    def check(self, event: Event) -> None:
        match event:
            case Notice() | QueueUpdate() | SessionUpdate():
                pass
            case AgentStart() | AgentEnd() | PhaseChange():
                self._check_run(event)
            case CompactionStart() | CompactionEnd() | RetryScheduled():
                self._check_detour(event)
            case MessageStart() | MessageUpdate() | MessageEnd():
                self._check_message(event)
            case TurnStart() | TurnEnd():
                self._check_turn(event)
            case _:
                self._check_tool(event)

    def _check_run(self, event: AgentStart | AgentEnd | PhaseChange) -> None:
        match event:
            case AgentStart():
                assert (self.in_run, self.phase) == (False, "idle")
                self.in_run, self._number = True, 0
            case AgentEnd():
                assert (self.in_run, self.phase, self.turn) == (True, "idle", None)
                self.in_run = False
            case PhaseChange():
                assert self.in_run
                assert event.source == self.phase
                assert (event.source, event.target) in _MOVES
                assert event.target != "idle" or self.turn is None
                self.phase = event.target

    def _check_detour(self, event: CompactionStart | CompactionEnd | RetryScheduled) -> None:
        assert (self.turn is not None, self._open) == (True, None)
        assert self.phase == ("retry" if isinstance(event, RetryScheduled) else "compaction")
        if not isinstance(event, RetryScheduled):
            assert self._compacting == isinstance(event, CompactionEnd)
            self._compacting = isinstance(event, CompactionStart)

    def _check_turn(self, event: TurnStart | TurnEnd) -> None:
        assert (self.in_run, self._open) == (True, None)
        if isinstance(event, TurnStart):
            assert (self.turn, self.phase, event.turn) == (None, "turn", self._number + 1)
            self._number, self.turn = event.turn, _Turn()
            return
        turn = self._running_turn()
        assert (turn.running, turn.results, list(event.tool_call_ids)) == (set(), turn.calls, turn.calls)
        assert sorted(turn.started) == sorted(turn.calls)
        assert event.message_id == (turn.message.id if turn.message else None)
        self.turn = None

    def _check_message(self, event: MessageStart | MessageUpdate | MessageEnd) -> None:
        turn = self._running_turn()
        match event:
            case MessageStart():
                assert self._open is None
                assert event.message_id not in self._messages
                self._messages.add(event.message_id)
                self._open, self._said = event, []
            case MessageUpdate():
                assert self._open == MessageStart(event.message_id, "assistant")
                self._said.append(event)
            case MessageEnd():
                assert self._open == MessageStart(event.message.id, _ROLES[type(event.message)])
                self._open = None
                self._check_place(turn, event.message)

    def _check_place(self, turn: _Turn, message: Message) -> None:
        match message:
            case AssistantMessage():
                assert turn.message is None
                said = "".join(update.text for update in self._said if update.kind == "text")
                assert said == text_of(message.content)
                turn.message = message
            case ToolResultMessage():
                assert not turn.running
                turn.results.append(message.tool_call_id)
                assert message.is_error == (message.tool_call_id in turn.failed)
                assert turn.results == turn.calls[: len(turn.results)]
            case _:
                assert turn.message is None

    def _check_tool(self, event: Event) -> None:
        turn = self._running_turn()
        match event:
            case ToolExecutionStart():
                turn.started.append(event.tool_call_id)
                assert turn.started == turn.calls[: len(turn.started)]
                assert self.phase == "turn"
                turn.running.add(event.tool_call_id)
            case ToolExecutionUpdate():
                assert event.tool_call_id in turn.running
                assert event.text
            case ToolExecutionEnd():
                turn.running.remove(event.tool_call_id)
                turn.failed |= {event.tool_call_id} if event.is_error else set[str]()
                assert event.tool_call_id not in self._questions.values()
            case ApprovalRequested():
                assert (event.tool_call_id in turn.running, self._questions) == (True, {})
                assert event.approval_id not in self._asked
                self._asked.add(event.approval_id)
                self._questions[event.approval_id] = event.tool_call_id
            case ApprovalResolved():
                assert self._questions.pop(event.approval_id) == event.tool_call_id
            case _:
                assert event.type in ("file_changed", "todo_update")

    def _running_turn(self) -> _Turn:
        assert (self.in_run, self.turn is not None) == (True, True)
        assert self.turn is not None
        return self.turn
