"""Neighbours of one role made into one message, for servers whose roles must take turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pilothouse_agent.kernel.messages import AssistantMessage, ModelMessage, TextBlock, UserMessage
from pilothouse_agent.models.chat_completions.messages import says

__all__ = ["Neighbours"]

_Merged = dict[tuple[int, ...], tuple[tuple[ModelMessage, ...], ModelMessage]]


class Neighbours:
    """Keeps what it has merged, so that the same neighbours stay the same message from request to request."""

    def __init__(self) -> None:
        self._kept: _Merged = {}
        """By the identities of the messages, which are kept beside: a freed one would hand its to another."""
        self._last: _Merged = {}
        """Of the request before, as far as it was not needed again."""

    def merged(self, messages: Sequence[ModelMessage]) -> list[ModelMessage]:
        self._last, self._kept = self._kept, {}
        merged: list[ModelMessage] = []
        run: list[ModelMessage] = []
        for message in filter(says, messages):
            if run and not _may_join(run[-1], message):
                merged.append(self._one(tuple(run)))
                run = []
            run.append(message)
        return [*merged, self._one(tuple(run))] if run else merged

    def _one(self, run: tuple[ModelMessage, ...]) -> ModelMessage:
        if len(run) == 1:
            return run[0]
        key = tuple(map(id, run))
        found = self._kept[key] = self._last.get(key) or (run, _joined(run))
        return found[1]


def _may_join(first: ModelMessage, second: ModelMessage) -> bool:
    if isinstance(first, UserMessage):
        return isinstance(second, UserMessage)
    return isinstance(first, AssistantMessage) and isinstance(second, AssistantMessage)


def _joined(run: tuple[ModelMessage, ...]) -> ModelMessage:
    """The last of them, with the content of all."""
    last = run[-1]
    if isinstance(last, UserMessage):
        users = [message for message in run if isinstance(message, UserMessage)]
        return replace(last, content=tuple(block for user in users for block in user.content))
    assert isinstance(last, AssistantMessage)
    answers = [message for message in run if isinstance(message, AssistantMessage)]
    content = [(*answer.content, TextBlock("\n\n")) for answer in answers[:-1]]
    return replace(last, content=(*(block for blocks in content for block in blocks), *last.content))
