"""What a request may carry of any transcript, sound or broken (L2)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pilothouse_agent.kernel.messages import (
    AssistantBlock,
    AssistantMessage,
    CustomMessage,
    Message,
    MessageStop,
    ModelMessage,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from pilothouse_agent.kernel.transcript import INTERRUPTED, Transcript, convert, repair
from support.kernel import block
from support.run_rules import check_pairs

NOW = datetime(2026, 1, 1, tzinfo=UTC)
STOPS: list[MessageStop] = ["stop", "toolUse", "length", "refusal", "error", "aborted", "interrupted"]
IDS = st.sampled_from(["c1", "c2", "c3", "c4", "c5"])

blocks: st.SearchStrategy[AssistantBlock] = st.one_of(
    st.sampled_from(["", " ", "text"]).map(TextBlock),
    st.just(ThinkingBlock("hm", "signed")),
    IDS.map(lambda call_id: ToolCall(call_id, "echo", {})),
    IDS.map(lambda call_id: ToolCall(call_id, "echo", {})),
)
answers = st.builds(
    AssistantMessage,
    st.just("a"),
    st.lists(blocks, max_size=4).map(tuple),
    st.just(NOW),
    st.just("m"),
    st.sampled_from(STOPS),
)
results = st.builds(
    ToolResultMessage,
    st.just("r"),
    st.sampled_from(["one", "two"]).map(block),
    st.just(NOW),
    IDS,
    st.just("echo"),
)
others: st.SearchStrategy[Message] = st.one_of(
    st.just(UserMessage("u", block("Hi"), NOW)),
    st.booleans().map(lambda shown: CustomMessage("x", block("note"), NOW, "note", for_model=shown)),
)
broken_transcripts: st.SearchStrategy[list[Message]] = st.lists(
    st.one_of(answers, answers, results, results, others), max_size=12
)


@st.composite
def sound_transcripts(draw: st.DrawFn) -> list[Message]:
    """As the loop makes them of answers that did not fail: each call with its own id and its result."""
    messages: list[Message] = []
    for number in range(draw(st.integers(0, 5))):
        messages += draw(st.lists(others, max_size=2))
        ids = [f"c{number}-{n}" for n in range(draw(st.integers(0, 3)))]
        content = (TextBlock("text"), *(ToolCall(call_id, "echo", {}) for call_id in ids))
        messages.append(AssistantMessage("a", content, NOW, "m", draw(st.sampled_from(STOPS[:4]))))
        messages += [ToolResultMessage("r", block(call_id), NOW, call_id, "echo") for call_id in ids]
    return messages


@pytest.mark.covers("L2", "K14")
@settings(max_examples=100, deadline=None)
@given(broken_transcripts)
def test_in_the_view_of_any_transcript_each_call_has_one_result_and_each_result_its_call(
    transcript: list[Message],
) -> None:
    before = list(transcript)

    view = repair(transcript)

    check_pairs(view)
    check_pairs(convert(view))
    assert transcript == before


@pytest.mark.covers("L2")
@settings(max_examples=50, deadline=None)
@given(broken_transcripts)
def test_the_view_invents_nothing_but_missing_results(transcript: list[Message]) -> None:
    view = repair(transcript)

    invented = [
        message for message in view if isinstance(message, ToolResultMessage) and message not in transcript
    ]
    assert all((message.is_error, message.content) == (True, block(INTERRUPTED)) for message in invented)
    spoken = (UserMessage, CustomMessage)
    assert [m for m in view if isinstance(m, spoken)] == [m for m in transcript if isinstance(m, spoken)]
    said = [block for m in transcript if isinstance(m, AssistantMessage) for block in m.content]
    assert all(block in said for m in view if isinstance(m, AssistantMessage) for block in m.content)


@pytest.mark.covers("L2")
@settings(max_examples=50, deadline=None)
@given(broken_transcripts)
def test_a_view_needs_no_repair(transcript: list[Message]) -> None:
    view = repair(transcript)

    assert repair(view) == view


@pytest.mark.covers("L2")
@settings(max_examples=50, deadline=None)
@given(sound_transcripts())
def test_a_sound_transcript_is_sent_as_it_is(transcript: list[Message]) -> None:
    assert repair(transcript) == transcript


@pytest.mark.covers("L2")
@settings(max_examples=100, deadline=None)
@given(broken_transcripts, broken_transcripts, st.integers(0, 12))
def test_the_view_kept_from_request_to_request_is_that_of_the_whole_transcript(
    messages: list[Message], compacted: list[Message], cut: int
) -> None:
    transcript = Transcript(messages[:cut])

    for message in messages[cut:]:
        assert _views(transcript) == _made_anew(transcript.messages)
        transcript.append(message)
    assert _views(transcript) == _made_anew(messages)
    transcript.replace(compacted)

    assert _views(transcript) == _made_anew(compacted)


def _views(transcript: Transcript) -> tuple[list[Message], list[ModelMessage]]:
    """What is kept, asked for in the order that would show it if one view were to disturb the other."""
    sent = transcript.sent()
    return transcript.view(), sent


def _made_anew(messages: list[Message]) -> tuple[list[Message], list[ModelMessage]]:
    return repair(messages), convert(repair(messages))
