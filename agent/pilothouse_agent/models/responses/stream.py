"""Reads the body of a Responses answer, streamed or whole, into stream events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from pilothouse_agent.kernel.json_types import JsonObject, JsonValue
from pilothouse_agent.kernel.messages import Usage
from pilothouse_agent.kernel.request import Delta, Failed, Finished, ProviderStop, ThinkingData
from pilothouse_agent.models.http.answer_reader import AnswerReader, kept, word
from pilothouse_agent.models.http.errors import Source, own_error
from pilothouse_agent.models.http.token_counts import first_count
from pilothouse_agent.models.responses.calls import CALL_TYPES, ResponsesCalls
from pilothouse_agent.models.responses.items import ResponsesItems

__all__ = ["ORIGIN", "ResponsesStream"]

ORIGIN = "openai"
"""Marks what only this wire format may be sent back."""

_LENGTH = ("max_output_tokens", "max_tokens", "length")
_FILTER = "content_filter"
_SENT_BACK = ("type", "id", "summary", "encrypted_content")

Place = tuple[str, int, int]
"""Kind of a part, number of its item, index of the part in the item."""


class ResponsesStream(AnswerReader):
    def __init__(self, source: Source, *, model: str, names: Mapping[str, str]) -> None:
        """`model`: the whole id. `names`: from tool names on the wire to ours, where they differ."""
        super().__init__(source)
        self._asked = model
        self._model = ""
        self._ending: str | None = None
        self._refused = False
        self._spoken = False
        self._heard: dict[Place, list[str]] = {}
        """The text of each part, as it came."""
        self._texts: dict[Place, int] = {}
        """The block of each part of the text."""
        self._thoughts: dict[int, int] = {}
        """The block of each item of thinking."""
        self._part: dict[int, Place] = {}
        """The part of the thinking that came last."""
        self._sent_back: set[int] = set()
        self._items = ResponsesItems()
        self._calls = ResponsesCalls(new_block=self._new_block, names=names, model=model)
        self._handlers: dict[str, Callable[[JsonObject], None]] = {
            "response.output_text.delta": self._text_delta,
            "response.output_text.done": self._text_done,
            "response.refusal.delta": self._refusal_delta,
            "response.refusal.done": self._refusal_done,
            "response.reasoning_summary_text.delta": self._summary_delta,
            "response.reasoning_summary_text.done": self._summary_done,
            "response.reasoning_text.delta": self._thought_delta,
            "response.reasoning_text.done": self._thought_done,
            "response.function_call_arguments.delta": self._arguments_delta,
            "response.function_call_arguments.done": self._arguments_done,
            "response.custom_tool_call_input.delta": self._arguments_delta,
            "response.custom_tool_call_input.done": self._arguments_done,
            "response.content_part.done": self._part_done,
            "response.output_item.added": self._item_added,
            "response.output_item.done": self._item_done,
            "response.created": self._began,
            "response.in_progress": self._began,
            "response.completed": self._ended,
            "response.incomplete": self._ended,
            "response.failed": self._ended,
            "response.cancelled": self._ended,
            "response.done": self._ended,
        }

    def _event(self, event: JsonObject) -> None:
        kind = event.get("type")
        handler = self._handlers.get(kind) if isinstance(kind, str) else None
        if handler is not None:
            handler(event)
        elif kind in ("error", "response.error") or "error" in (event.get("object"), event.get("status")):
            self._fail(event)
        elif not isinstance(kind, str) or not kind.startswith("response."):
            self._untyped(event)

    def _untyped(self, event: JsonObject) -> None:
        if self._whole(event):
            return
        if event.get("error"):
            self._fail(event)
        else:
            self._note_strange(event)

    def _whole(self, answer: JsonObject) -> bool:
        if not isinstance(answer.get("output"), list):
            return False
        self._ended({"response": answer})
        return True

    def _close(self) -> None:
        if self._ending is not None and self._error is None:
            self._put_all(self._calls.end())

    def _finished(self) -> Finished | Failed | None:
        if self._ending is None:
            return None
        stop: ProviderStop = "refusal" if self._refused else "stop"
        if len(self._calls):
            stop = "toolUse"
        if self._ending in _LENGTH:
            stop = "length"
        elif self._ending == _FILTER:
            if not self._spoken:
                text = f"{self._source.name} ended the answer with {self._ending!r}."
                return Failed(own_error(self._source, "contentFilter", text), self._usage)
            stop = "refusal"
        name = self._asked.partition("/")[2]
        return Finished(stop, self._usage, self._model if self._model not in ("", name) else None)

    def _text_delta(self, event: JsonObject) -> None:
        self._say(self._place("text", event, "content_index"), event.get("delta"))

    def _text_done(self, event: JsonObject) -> None:
        self._say_whole(self._place("text", event, "content_index"), event.get("text"))

    def _refusal_delta(self, event: JsonObject) -> None:
        self._refuse(self._place("text", event, "content_index"), event.get("delta"))

    def _refusal_done(self, event: JsonObject) -> None:
        self._refuse_whole(self._place("text", event, "content_index"), event.get("refusal"))

    def _summary_delta(self, event: JsonObject) -> None:
        self._think(self._place("summary", event, "summary_index"), event.get("delta"))

    def _summary_done(self, event: JsonObject) -> None:
        self._think_whole(self._place("summary", event, "summary_index"), event.get("text"))

    def _thought_delta(self, event: JsonObject) -> None:
        self._think(self._place("thought", event, "content_index"), event.get("delta"))

    def _thought_done(self, event: JsonObject) -> None:
        self._think_whole(self._place("thought", event, "content_index"), event.get("text"))

    def _arguments_delta(self, event: JsonObject) -> None:
        delta = event.get("delta")
        if isinstance(delta, str):
            self._put_all(self._calls.more(self._items.of_event(event), delta))

    def _arguments_done(self, event: JsonObject) -> None:
        arguments = event.get("arguments", event.get("input"))
        self._put_all(self._calls.whole(self._items.of_event(event), arguments))

    def _part_done(self, event: JsonObject) -> None:
        part = event.get("part")
        if not isinstance(part, dict):
            return
        if part.get("type") == "reasoning_text":
            self._think_whole(self._place("thought", event, "content_index"), part.get("text"))
        else:
            place = self._place("text", event, "content_index")
            self._say_whole(place, part.get("text"))
            self._refuse_whole(place, part.get("refusal"))

    def _item_added(self, event: JsonObject) -> None:
        item = event.get("item")
        if isinstance(item, dict):
            index = self._items.added(event, item)
            if item.get("type") in CALL_TYPES:
                self._put_all(self._calls.start(index, item))

    def _item_done(self, event: JsonObject) -> None:
        item = event.get("item")
        if isinstance(item, dict):
            self._take(self._items.done(event, item), item)

    def _began(self, event: JsonObject) -> None:
        response = event.get("response")
        if isinstance(response, dict):
            self._model = word(response.get("model")) or self._model

    def _ended(self, event: JsonObject) -> None:
        """The last event has the whole response; what of it has been heard already is not taken twice."""
        self._began(event)
        response = event.get("response")
        response = response if isinstance(response, dict) else {}
        self._usage = _usage(response.get("usage")) or self._usage
        details = response.get("incomplete_details")
        reason = details.get("reason") if isinstance(details, dict) else None
        status = response.get("status") or str(event.get("type")).removeprefix("response.")
        if response.get("error") or status in ("failed", "cancelled"):
            self._fail(response.get("error") or {"message": f"The response was {status}."})
            return
        for index, item in self._items.at_end(response.get("output")):
            self._take(index, item)
        is_cut = "incomplete" in (status, str(event.get("type")).removeprefix("response."))
        self._ending = reason if is_cut and isinstance(reason, str) else "stop"
        self.done = True

    def _take(self, index: int, item: JsonObject) -> None:
        """A whole item: what of it has not come piece by piece."""
        match item.get("type"):
            case "message":
                for place, part in enumerate(_parts(item.get("content"))):
                    self._say_whole(("text", index, place), part.get("text"))
                    self._refuse_whole(("text", index, place), part.get("refusal"))
            case "reasoning":
                self._take_thinking(index, item)
            case "function_call" | "custom_tool_call":
                self._put_all(self._calls.finish(index, item))
            case _:
                pass

    def _take_thinking(self, index: int, item: JsonObject) -> None:
        for kind, name in (("summary", "summary"), ("thought", "content")):
            for place, part in enumerate(_parts(item.get(name))):
                self._think_whole((kind, index, place), part.get("text"))
        sealed = item.get("encrypted_content")
        if index in self._sent_back or not (isinstance(sealed, str) and sealed):
            return
        self._sent_back.add(index)
        back = {name: item[name] for name in _SENT_BACK if name in item}
        data = kept({"item": back, "model": self._asked})
        if data is not None:
            self._out.append(ThinkingData(self._thinking_block(index), data=data, origin=ORIGIN))

    def _say(self, place: Place, text: JsonValue) -> None:
        if not isinstance(text, str) or not text:
            return
        heard = self._heard.get(place)
        if heard is None:
            heard = self._heard[place] = []
            self._texts[place] = self._new_block()
            self._items.came(place[1], "message")
            self._spoken = True
        heard.append(text)
        self._put(Delta("text", self._texts[place], text))

    def _say_whole(self, place: Place, text: JsonValue) -> None:
        self._say(place, self._unheard(place, text))

    def _refuse(self, place: Place, text: JsonValue) -> None:
        if isinstance(text, str) and text:
            self._refused = True
            self._say(place, text)

    def _refuse_whole(self, place: Place, text: JsonValue) -> None:
        self._refuse(place, self._unheard(place, text))

    def _think(self, place: Place, text: JsonValue) -> None:
        """The parts of one item are one thinking, with a blank line between them."""
        if not isinstance(text, str) or not text:
            return
        index = place[1]
        block, before = self._thinking_block(index), self._part.get(index)
        if before is not None and before != place:
            self._put(Delta("thinking", block, "\n\n"))
        self._part[index] = place
        self._heard.setdefault(place, []).append(text)
        self._put(Delta("thinking", block, text))

    def _think_whole(self, place: Place, text: JsonValue) -> None:
        self._think(place, self._unheard(place, text))

    def _unheard(self, place: Place, text: JsonValue) -> str:
        """What of a whole text has not come piece by piece. What has come cannot be taken back."""
        heard = "".join(self._heard.get(place, ()))
        return text[len(heard) :] if isinstance(text, str) and text.startswith(heard) else ""

    def _thinking_block(self, index: int) -> int:
        if index not in self._thoughts:
            self._thoughts[index] = self._new_block()
            self._items.came(index, "reasoning")
        return self._thoughts[index]

    def _place(self, kind: Literal["text", "summary", "thought"], event: JsonObject, part: str) -> Place:
        index = event.get(part)
        return kind, self._items.of_event(event), index if isinstance(index, int) else 0


def _parts(value: JsonValue) -> list[JsonObject]:
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []


def _usage(value: JsonValue) -> Usage | None:
    if not isinstance(value, dict):
        return None
    usage = Usage(
        input=first_count(value, ("input_tokens",)),
        output=first_count(value, ("output_tokens",)),
        cache_read=first_count(value, ("input_tokens_details", "cached_tokens")),
        cache_write=first_count(value, ("input_tokens_details", "cache_write_tokens")),
        reasoning=first_count(value, ("output_tokens_details", "reasoning_tokens")),
    )
    return usage if usage != Usage() else None
