"""The one transcript, and the view of it that a request may carry."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from pilothouse_agent.kernel.left_out import without_blocks
from pilothouse_agent.kernel.messages import (
    AssistantMessage,
    CustomMessage,
    ImageBlock,
    Message,
    ModelMessage,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolResultMessage,
)

__all__ = ["BROKEN", "INTERRUPTED", "Transcript", "convert", "estimate_tokens", "missing_result", "repair"]

INTERRUPTED = "Interrupted: the call did not finish and its outcome is unknown."

_CHARACTERS_A_TOKEN = 4
_TOKENS_AN_IMAGE = 1500
BROKEN = ("error", "aborted", "interrupted")
"""Stop reasons of messages that did not end well; their thinking cannot go back."""


class Transcript:
    """Owned by the Runner; everybody else sees tuples of it (B3)."""

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self.messages: list[Message] = []
        self.call_ids: set[str] = set()
        self.tokens = 0
        """Size of the history as far as known: the last measurement and an estimate of what followed."""
        self.unmeasured = False
        """Compacted since the last answer, so nothing is known about its effect (R155)."""
        self._past: list[Message] = []
        """The view of what stands before the last answer: nothing that follows changes it."""
        self._past_sent: list[ModelMessage] = []
        self._past_size = 0
        """How many messages that view was made of."""
        for message in messages:
            self.append(message)

    def view(self) -> list[Message]:
        """What `repair` makes of the messages; the work grows only with what is new since the last view."""
        present = self._present()
        return self._past + present

    def sent(self) -> list[ModelMessage]:
        """What `convert` makes of the view, at the same price."""
        present = self._present()
        return self._past_sent + convert(present)

    def _present(self) -> list[Message]:
        """The view from the last answer on; what stands before it is past."""
        last = _last_answer(self.messages)
        if last > self._past_size:
            past = repair(self.messages[self._past_size : last])
            self._past += past
            self._past_sent += convert(past)
            self._past_size = last
        return repair(self.messages[last:])

    def append(self, message: Message) -> None:
        self.messages.append(message)
        if isinstance(message, CustomMessage) and message.left_out:
            self.messages = without_blocks(self.messages, message)
            self._forget_view()
        if not isinstance(message, AssistantMessage):
            self.tokens += estimate_tokens(message)
            return
        self.call_ids.update(call.id for call in message.calls)
        usage = message.usage
        if usage is not None and usage.input is not None:
            self.tokens = usage.input + (usage.output or 0)
        else:
            self.tokens += estimate_tokens(message)

    def replace(self, messages: Iterable[Message]) -> None:
        """After a compaction: the size is estimated anew, since old measurements are void (R155)."""
        self.messages = list(messages)
        self._forget_view()
        self.unmeasured = True
        self.tokens = sum(estimate_tokens(message) for message in self.messages)

    def _forget_view(self) -> None:
        self._past, self._past_sent = [], []
        self._past_size = 0


def repair(messages: Sequence[Message]) -> list[Message]:
    """A view in which every call has exactly one result right after it; the input is not changed (L2).

    Orphan and repeated results are dropped, missing ones synthesised. Answers with neither text nor
    calls are left out, failed ones without text too, and with an interrupted one its results (L6).
    """
    view: list[Message] = []
    for index, message in enumerate(messages):
        if isinstance(message, ToolResultMessage):
            continue
        if not isinstance(message, AssistantMessage):
            view.append(message)
            continue
        kept = message if message.stop_reason not in BROKEN else _without_remains(message)
        if kept is not None and _says_something(kept):
            view.append(kept)
            if calls := kept.calls:
                view += _results(calls, messages, index + 1, message.time)
    return view


def convert(messages: Iterable[Message]) -> list[ModelMessage]:
    """The built-in `convert_to_llm`: custom messages meant for the model become user messages."""
    converted: list[ModelMessage] = []
    for message in messages:
        if not isinstance(message, CustomMessage):
            converted.append(message)
        elif message.as_user is not None:
            converted.append(message.as_user)
    return converted


def estimate_tokens(message: Message) -> int:
    """A rough size, for messages no provider has measured."""
    characters = 0
    for block in message.content:
        if isinstance(block, TextBlock | ThinkingBlock):
            characters += len(block.text)
        elif isinstance(block, ImageBlock):
            characters += _TOKENS_AN_IMAGE * _CHARACTERS_A_TOKEN
        else:
            characters += len(block.name) + len(block.arguments_text or str(block.arguments))
    return 4 + characters // _CHARACTERS_A_TOKEN


def _last_answer(messages: Sequence[Message]) -> int:
    """Where the last assistant message stands; 0 when there is none."""
    for index in range(len(messages) - 1, 0, -1):
        if isinstance(messages[index], AssistantMessage):
            return index
    return 0


def _says_something(message: AssistantMessage) -> bool:
    """Thinking or blanks alone are no answer, and not all providers take them back."""
    return any(
        block.text.strip() if isinstance(block, TextBlock) else isinstance(block, ToolCall)
        for block in message.content
    )


def _without_remains(message: AssistantMessage) -> AssistantMessage | None:
    """A failed message as it may be sent: half-made thinking cannot go back, emptiness need not."""
    content = tuple(block for block in message.content if not isinstance(block, ThinkingBlock))
    has_text = any(isinstance(block, TextBlock) and block.text.strip() for block in content)
    if not content or (not has_text and (message.stop_reason == "interrupted" or not message.calls)):
        return None
    if len(content) == len(message.content):
        return message
    return AssistantMessage(message.id, content, message.time, message.model, message.stop_reason)


def _results(
    calls: tuple[ToolCall, ...], messages: Sequence[Message], start: int, time: datetime
) -> list[ToolResultMessage]:
    """The calls' results in call order, from what stands before the next assistant message."""
    found: dict[str, ToolResultMessage] = {}
    for index in range(start, len(messages)):
        message = messages[index]
        if isinstance(message, AssistantMessage):
            break
        if isinstance(message, ToolResultMessage):
            found.setdefault(message.tool_call_id, message)
    return [found.get(call.id) or missing_result(call, time) for call in calls]


def missing_result(call: ToolCall, time: datetime) -> ToolResultMessage:
    """Stands for one that never came."""
    content = (TextBlock(INTERRUPTED),)
    return ToolResultMessage(f"{call.id}-missing", content, time, call.id, call.name, is_error=True)
