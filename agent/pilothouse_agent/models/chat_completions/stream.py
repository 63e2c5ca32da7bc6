"""Reads the body of a Chat Completions answer, streamed or whole, into stream events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from pilothouse_agent.kernel.json_types import JsonObject, JsonValue
from pilothouse_agent.kernel.request import Delta, Failed, Finished, StreamEvent, ThinkingData
from pilothouse_agent.models.chat_completions.calls import ChatCalls
from pilothouse_agent.models.chat_completions.tables import ending, stated_cost, usage_of
from pilothouse_agent.models.chat_completions.think_tags import ThinkTags
from pilothouse_agent.models.chat_completions.thinking import ChatThinking
from pilothouse_agent.models.http.answer_reader import AnswerReader, kept, word
from pilothouse_agent.models.http.errors import Source, own_error

__all__ = ["ORIGIN", "ChatStream"]

ORIGIN = "openai-chat"
"""Marks what only this wire format may be sent back."""
_THINKING = ("thinking", "text", "summary")
"""Where parts of the content keep their thinking."""
_GROQ = ("usage", "error")
"""What may be in an object around the usage."""


class ChatStream(AnswerReader):
    def __init__(
        self, source: Source, *, model: str, names: Mapping[str, str], states_cost: bool = False
    ) -> None:
        """`model`: the whole id. `names`: from tool names on the wire to ours, where they differ.

        `states_cost`: as in the dialect.
        """
        super().__init__(source)
        self._asked = model
        self._states_cost = states_cost
        self._open: tuple[Literal["text", "thinking"], int] | None = None
        self._tags = ThinkTags()
        self._thinking = ChatThinking()
        self._calls = ChatCalls(new_block=self._new_block, names=names, model=model)
        self._spoken = False
        """Text or thinking."""
        self._told = False
        """Text."""
        self._refused = False
        self._answered = False
        self._reason = ""
        self._ended = False
        self._model = ""

    def _last_sign(self) -> None:
        self._ended = self.done = True

    def _whole(self, answer: JsonObject) -> bool:
        if "choices" not in answer:
            return False
        self._event(answer)
        self._ended = True
        return True

    def _event(self, event: JsonObject) -> None:
        if usage := event.get("usage") or event.get("x_groq"):
            self._count(usage)
        if event.get("error"):
            self._fail(event)
            return
        if (model := event.get("model")) and model != self._model:
            self._model = word(model) or self._model
        choices = event.get("choices")
        if not choices:
            self._without_choices(event)
            return
        for choice in choices if isinstance(choices, list) else [choices]:
            if isinstance(choice, dict) and choice.get("index") in (0, None, "0"):
                self._choice(choice)

    def _without_choices(self, event: JsonObject) -> None:
        verdict = event.get("base_resp")
        if "error" in (event.get("object"), event.get("type")):
            self._fail(event)
        elif isinstance(verdict, dict) and verdict.get("status_code"):
            self._fail(verdict)
        else:
            self._note_strange(event)

    def _choice(self, choice: JsonObject) -> None:
        self._answered = True
        delta = choice.get("delta")
        if delta is None and not (self._spoken or self._calls.begun):
            delta = choice.get("message")
        if isinstance(delta, dict):
            self._delta(delta)
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            # Where there are two, one that says more than a plain stop counts.
            self._reason = reason if ending(self._reason) == "stop" else self._reason
            self._ended = self.closing = True
        if usage := choice.get("usage"):
            self._count(usage)
        if error := choice.get("error"):
            self._fail(error)

    def _delta(self, delta: JsonObject) -> None:
        content = delta.get("content")
        if len(delta) > 1 or not content:
            thinking = self._thinking.feed(delta)
            if thinking:
                self._say("thinking", thinking)
        if isinstance(content, str):
            if content:
                self._content(content)
        elif content:
            self._parts(content if isinstance(content, list) else [content])
        if len(delta) > 1 or not content:
            self._beside_content(delta)

    def _beside_content(self, delta: JsonObject) -> None:
        refusal = delta.get("refusal")
        if isinstance(refusal, str) and refusal:
            self._refused = True
            self._say("text", refusal)
        calls, legacy = delta.get("tool_calls"), delta.get("function_call")
        if calls or legacy:
            self._settle_tags()
        if calls:
            for fragment in calls if isinstance(calls, list) else [calls]:
                if isinstance(fragment, dict):
                    self._call(self._calls.feed(fragment))
        elif isinstance(legacy, dict):
            self._call(self._calls.feed_legacy(legacy))
        if error := delta.get("error"):
            self._fail(error)

    def _content(self, text: str) -> None:
        if self._tags.settled:
            self._say("text", text)
            return
        for kind, part in self._tags.feed(text):
            self._say(kind, part)

    def _parts(self, parts: list[JsonValue]) -> None:
        for part in parts:
            if isinstance(part, str):
                self._content(part)
            if not isinstance(part, dict):
                continue
            if part.get("type") in ("thinking", "reasoning"):
                self._say("thinking", "".join(_joined(part.get(name)) for name in _THINKING))
            elif isinstance(text := part.get("text"), str) and text:
                self._content(text)
            elif part.get("refusal"):
                self._beside_content(part)

    def _say(self, kind: Literal["text", "thinking"], text: str) -> None:
        if not text:
            return
        self._spoken = True
        if self._open is None or self._open[0] != kind:
            self._open = (kind, self._new_block())
            self._told = self._told or kind == "text"
            if kind == "thinking" and self._thinking.block is None:
                self._thinking.block = self._open[1]
        self._put(Delta(kind, self._open[1], text))

    def _call(self, events: list[StreamEvent]) -> None:
        if events:
            self._open = None
            self._put_all(events)

    def _settle_tags(self) -> None:
        for kind, part in self._tags.end():
            self._say(kind, part)

    def _close(self) -> None:
        self._settle_tags()
        if self._ended and self._error is None:
            self._call(self._calls.end())
            self._send_back()

    def _send_back(self) -> None:
        data = self._thinking.to_send_back()
        if data is None or (data := kept({**data, "model": self._asked})) is None:
            return
        block = self._thinking.block if self._thinking.block is not None else self._new_block()
        self._out.append(ThinkingData(block, data=data, origin=ORIGIN))

    def _count(self, usage: JsonValue) -> None:
        if isinstance(usage, dict) and not usage.keys().isdisjoint(_GROQ):
            if error := usage.get("error"):
                self._fail(error)
            usage = usage.get("usage")
        counted = usage_of(usage)
        if counted is not None and self._states_cost:
            counted = replace(counted, cost=stated_cost(usage))
        self._usage = counted or self._usage

    def _finished(self) -> Finished | Failed | None:
        if not (self._ended and self._answered):
            return None
        said = ending(self._reason)
        if said == "contentFilter" and self._spoken:
            said = "refusal"
        if said == "toolCallInvalid" and (self._told or len(self._calls)):
            said = "stop"
        if said in ("contentFilter", "contextOverflow", "serverError", "overloaded", "toolCallInvalid"):
            text = f"{self._source.name} ended the answer with {self._reason!r}."
            return Failed(own_error(self._source, said, text), self._usage)
        if said == "stop":
            said = "toolUse" if len(self._calls) else "refusal" if self._refused else "stop"
        name = self._asked.partition("/")[2]
        return Finished(said, self._usage, self._model if self._model != name else None)


def _joined(value: JsonValue) -> str:
    """Thinking parts hold a text, or a list of text parts."""
    if isinstance(value, str):
        return value
    texts = (part.get("text") for part in value if isinstance(part, dict)) if isinstance(value, list) else ()
    return "".join(text for text in texts if isinstance(text, str))
