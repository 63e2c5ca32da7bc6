"""The history as any wire format can take it, before it is put into one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import is_

from pilothouse_agent.kernel.messages import (
    AssistantMessage,
    ModelMessage,
    ThinkingBlock,
    ToolCall,
    ToolResultMessage,
)
from pilothouse_agent.kernel.transcript import BROKEN, missing_result

__all__ = ["SettledHistory", "is_continued"]


class SettledHistory:
    """Does not look at all of a history again that has only grown since the last request."""

    def __init__(self) -> None:
        self._known: Sequence[ModelMessage] = ()
        """Found to be settled."""
        self._ids: set[str] = set()
        """Of the calls in it."""

    def settled(self, messages: Sequence[ModelMessage]) -> Sequence[ModelMessage]:
        """Each call answered once, right behind its message, under an id that no other call has.

        Refused answers are left out with their results: a model that is shown its refusal refuses again.
        The very same sequence, where nothing is to be put right.
        """
        if not is_continued(self._known, messages):
            self._known, self._ids = (), set()
        if _is_settled(messages[len(self._known) :], self._ids):
            self._known = messages
            return messages
        self._known, self._ids = (), set()
        return list(_Settling(messages).messages())


def is_continued(known: Sequence[ModelMessage], messages: Sequence[ModelMessage]) -> bool:
    """Whether `messages` begin with the very messages known."""
    return len(known) <= len(messages) and all(map(is_, known, messages))


def _is_settled(messages: Sequence[ModelMessage], seen: set[str]) -> bool:
    """`seen`: the ids of earlier calls; those of these messages are added."""
    due: set[str] = set()
    for message in messages:
        if isinstance(message, ToolResultMessage):
            if message.tool_call_id not in due:
                return False
            due.remove(message.tool_call_id)
        elif due:
            return False
        elif isinstance(message, AssistantMessage):
            if message.stop_reason != "stop" and _is_spoilt(message):
                return False
            for block in message.content:
                if isinstance(block, ToolCall):
                    if block.id in seen or not block.id:
                        return False
                    seen.add(block.id)
                    due.add(block.id)
    return not due


def _is_spoilt(message: AssistantMessage) -> bool:
    if message.stop_reason == "refusal":
        return True
    return message.stop_reason in BROKEN and any(
        isinstance(block, ThinkingBlock) for block in message.content
    )


class _Settling:
    """Results are matched with calls over the whole history before any is called missing."""

    def __init__(self, messages: Sequence[ModelMessage]) -> None:
        self._messages = messages
        self._taken: set[str] = set()
        self._results = _results(messages)

    def messages(self) -> Iterator[ModelMessage]:
        for message in self._messages:
            if isinstance(message, AssistantMessage):
                yield from self._assistant(message)
            elif not isinstance(message, ToolResultMessage):
                yield message

    def _assistant(self, message: AssistantMessage) -> Iterator[ModelMessage]:
        if message.stop_reason == "refusal":
            return
        results: list[ToolResultMessage] = []
        content = tuple(
            self._called(block, message, results) if isinstance(block, ToolCall) else block
            for block in message.content
            if not (message.stop_reason in BROKEN and isinstance(block, ThinkingBlock))
        )
        unchanged = content == message.content
        yield message if unchanged else replace(message, content=content)
        yield from results

    def _called(
        self, call: ToolCall, message: AssistantMessage, results: list[ToolResultMessage]
    ) -> ToolCall:
        """The call under an id of its own; its result is put to the others."""
        waiting = self._results.get((id(message), call.id))
        result = waiting.pop(0) if waiting else missing_result(call, message.time)
        own_id = self._own_id(call.id)
        results.append(result if own_id == result.tool_call_id else replace(result, tool_call_id=own_id))
        return call if own_id == call.id else replace(call, id=own_id)

    def _own_id(self, call_id: str) -> str:
        own_id, number = call_id, 1
        while not own_id or own_id in self._taken:
            number += 1
            own_id = f"{call_id or 'call'}-{number}"
        self._taken.add(own_id)
        return own_id


_Results = dict[tuple[int, str], list[ToolResultMessage]]


def _results(messages: Sequence[ModelMessage]) -> _Results:
    """By message and call id, in order; a result belongs to the nearest message before it that has its call.

    Where there are more results than calls, those that tell of failures give way.
    """
    found: _Results = {}
    callers: dict[str, AssistantMessage] = {}
    for message in messages:
        if isinstance(message, AssistantMessage):
            callers.update((call.id, message) for call in message.calls)
        elif isinstance(message, ToolResultMessage) and (caller := callers.get(message.tool_call_id)):
            waiting = found.setdefault((id(caller), message.tool_call_id), [])
            waiting.append(message)
            calls = sum(call.id == message.tool_call_id for call in caller.calls)
            if len(waiting) > calls:
                waiting.remove(next((result for result in waiting if result.is_error), message))
    return found
