"""The built-in compactor: what it drops, and what it must not tear apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pilothouse_agent.kernel.compaction import DropOldestTurns
from pilothouse_agent.kernel.messages import (
    AssistantMessage,
    CustomMessage,
    Message,
    MessageStop,
    TextBlock,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    text_of,
)
from pilothouse_agent.kernel.ports import Compaction
from pilothouse_agent.kernel.request import ModelLimits
from support.kernel import FakeClock, Ids, bench, block, says, shown, soon

NOW = FakeClock().now()
LIMITS = ModelLimits(context_window=1000)


@dataclass
class Todos:
    items: Sequence[str]

    def unfinished(self) -> Sequence[str]:
        return self.items


def dropper(*, keep: float = 0.5, todos: Sequence[str] = ()) -> DropOldestTurns:
    ids = Ids()
    return DropOldestTurns(FakeClock(), lambda: ids("note"), Todos(todos), keep=keep)


def user(text: str) -> UserMessage:
    return UserMessage(f"u{text}", block(text), NOW)


def answer(text: str, *calls: str, stop: MessageStop = "stop") -> AssistantMessage:
    content = (TextBlock(text), *(ToolCall(call_id, "t", {}) for call_id in calls))
    return AssistantMessage(f"a{text}", content, NOW, "m", stop)


def result(call_id: str, text: str = "ok") -> ToolResultMessage:
    return ToolResultMessage(f"r{call_id}", block(text), NOW, call_id, "t")


Turn = tuple[bool, str, Sequence[str], MessageStop]
turns = st.tuples(
    st.booleans(),
    st.sampled_from(("", "x" * 40, "x" * 400)),
    st.lists(st.sampled_from(("ok", "y" * 200)), max_size=4),
    st.sampled_from(("stop", "toolUse", "aborted", "interrupted", "error")),
)


def history_of(listed: Sequence[Turn]) -> list[Message]:
    """A user message now and then, an answer, and its calls with their results, ended or aborted."""
    messages: list[Message] = []
    for number, (asked, text, results, stop) in enumerate(listed):
        messages += [user(f"{number}")] if asked else []
        ids = [f"c{number}-{n}" for n in range(len(results))]
        messages.append(replace(answer(text, *ids, stop=stop), id=f"a{number}"))
        messages += [result(call_id, said) for call_id, said in zip(ids, results, strict=True)]
    return messages


histories = st.lists(turns, min_size=1, max_size=10).map(history_of)


def compact(compactor: DropOldestTurns, messages: Sequence[Message]) -> tuple[Message, ...] | None:
    """Without an event loop, since it never waits."""
    try:
        compactor.compact(messages, LIMITS, "threshold").send(None)
    except StopIteration as stop:
        done: Compaction | None = stop.value
        return done and done.messages
    raise AssertionError("it waits")


def pairs(messages: Sequence[Message]) -> tuple[list[str], list[str]]:
    """Calls and results, each in order; a result before its call fails."""
    calls: list[str] = []
    results: list[str] = []
    for message in messages:
        if isinstance(message, AssistantMessage):
            calls += [call.id for call in message.calls]
        elif isinstance(message, ToolResultMessage):
            assert message.tool_call_id in calls, "a result without its call"
            results.append(message.tool_call_id)
    return calls, results


@pytest.mark.covers("R151", "R152")
@settings(max_examples=50, deadline=None)
@given(histories, st.floats(0.01, 0.99))
def test_calls_and_results_are_kept_or_dropped_together_wherever_the_cut_falls(
    history: list[Message], keep: float
) -> None:
    shorter = compact(dropper(keep=keep), history)
    if shorter is None:
        return

    calls, results = pairs(shorter)
    assert sorted(calls) == sorted(results)
    kept = [message for message in shorter if not isinstance(message, CustomMessage)]
    assert kept == [message for message in history if message in kept]
    latest = [message for message in history if isinstance(message, UserMessage)][-1:]
    assert all(message in kept for message in latest)
    assert len(kept) < len(history)
    assert kept[-1] == history[-1]


@pytest.mark.covers("R151", "R158")
@settings(max_examples=50, deadline=None)
@given(histories, st.floats(0.01, 0.9))
def test_repeated_compaction_comes_to_an_end_with_one_note(history: list[Message], keep: float) -> None:
    compactor = dropper(keep=keep, todos=["b"])
    messages: tuple[Message, ...] = tuple(history)

    for _ in range(len(history) + 1):
        shorter = compact(compactor, messages)
        if shorter is None:
            break
        assert [m.name for m in shorter if isinstance(m, CustomMessage)] == ["compaction"]
        messages = shorter
    else:
        pytest.fail("it never ends")


@pytest.mark.covers("R157", "L5")
def test_the_note_says_what_was_dropped_and_names_the_unfinished_todos_once() -> None:
    history = [user("1"), answer("a" * 400), user("2"), answer("b")]
    compactor = dropper(todos=["b: in progress", "c"])

    once = compact(compactor, history)
    assert once is not None
    assert shown(once) == [
        "C compaction:Note: 2 older messages of this conversation were left out to save room.\n"
        "Unfinished todos:\n- b: in progress\n- c",
        "U:2",
        "A:b",
    ]

    again = compact(compactor, [*once, answer("c" * 400), user("3"), answer("d")])
    assert again is not None
    assert sum(text_of(message.content).count("Unfinished todos") for message in again) == 1


@pytest.mark.covers("R158")
def test_a_finished_list_is_not_mentioned() -> None:
    once = compact(dropper(), [user("1"), answer("a" * 400), user("2")])

    assert once is not None
    assert not any("odo" in text_of(message.content) for message in once)


@pytest.mark.covers("R149")
@pytest.mark.parametrize(
    "history",
    [[], [user("1")], [user("1"), answer("a", "c1"), result("c1")]],
    ids=["empty", "one message", "one turn"],
)
def test_what_cannot_be_shortened_is_left_alone(history: list[Message]) -> None:
    assert compact(dropper(), history) is None


@pytest.mark.covers("L2")
@pytest.mark.parametrize(("tokens", "due"), [(850, False), (851, True)])
def test_it_is_due_from_a_part_of_a_known_window_on(tokens: int, due: bool) -> None:
    assert dropper().due(tokens, LIMITS) is due
    assert dropper().due(tokens, ModelLimits()) is False
    assert replace(dropper(), threshold=0.5).due(501, LIMITS) is True


@pytest.mark.covers("R157")
async def test_the_request_after_a_compaction_names_the_todos_once() -> None:
    history = [user("1"), answer("a" * 400), user("2"), answer("b")]
    b = bench(says("ok"), compactor=dropper(todos=["c"]), messages=history)
    await soon(b.agent.compact())

    await b.run("next")

    sent = b.model.requests[0].messages
    assert [text_of(message.content).count("- c") for message in sent] == [1, 0, 0, 0]
