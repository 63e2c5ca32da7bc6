"""Writes the body of a Chat Completions request out of pieces that are made once for each message."""

from __future__ import annotations

from collections.abc import Mapping

from pilothouse_agent.kernel.json_types import JsonObject, JsonValue
from pilothouse_agent.kernel.messages import RefusedBlock
from pilothouse_agent.kernel.request import ModelRequest, ThinkingLevel, ToolSpec
from pilothouse_agent.models.chat_completions.cache_marks import marked
from pilothouse_agent.models.chat_completions.dialect import ChatDialect
from pilothouse_agent.models.chat_completions.lines import ChatLines, ChatPiece, Reasoning
from pilothouse_agent.models.chat_completions.messages import chat_pieces
from pilothouse_agent.models.chat_completions.thinking_off import thinking_off
from pilothouse_agent.models.chat_completions.turns import Neighbours
from pilothouse_agent.models.history.continuation import LastMade
from pilothouse_agent.models.history.image_refusals import WirePlace
from pilothouse_agent.models.history.legal import legal_name, own_names
from pilothouse_agent.models.history.own_thoughts import Back
from pilothouse_agent.models.history.schemas import object_schema, reduced_schema
from pilothouse_agent.models.history.sight import PiecesOf, Sight
from pilothouse_agent.models.history.written import WrittenHistories
from pilothouse_agent.models.http.concessions import is_conceded
from pilothouse_agent.models.model_traits import ModelTraits, rough_tokens
from pilothouse_agent.models.wire_json import encode

__all__ = ["ChatRequests"]


class ChatRequests:
    """One for each provider object; keeps what it has written."""

    def __init__(self, dialect: ChatDialect | None = None) -> None:
        self._dialect = dialect or ChatDialect()
        self._lines = WrittenHistories(
            Sight(chat_pieces(self._dialect, images=True), chat_pieces(self._dialect, images=False)),
            self._begin,
            *([lambda: Neighbours().merged] if self._dialect.alternating else []),
        )
        self._system = LastMade(self._system_message)
        self._names = LastMade(own_names)
        self._tools = LastMade(self._tools_json)

    def names(self, tools: tuple[ToolSpec, ...]) -> Mapping[str, str]:
        """From the names on the wire to the tools' own, where these are not legal there."""
        return self._names.of(tools)

    def body(
        self,
        request: ModelRequest,
        *,
        model: str,
        traits: ModelTraits | None = None,
        conceded: Mapping[str, str] | None = None,
    ) -> bytes:
        """`model` is the name on the wire."""
        traits, conceded = traits or ModelTraits(), conceded or {}
        tools = self._tools.of(request.tools)
        lines = self._lines.of(request, traits, conceded)
        marks = self._marks(model) and "cache marks" not in conceded
        system = [self._system.of(request.system)] if request.system else []
        tokens = lines.tokens + rough_tokens(*system, tools)
        if marks:
            system = [marked(line) for line in system]
        return b"".join(
            (
                b'{"model":',
                encode(model),
                b',"messages":[',
                b",".join([*system, *lines.all(marks=marks)]),
                b"]",
                b',"tools":' + tools if tools else b"",
                b",",
                encode(self._options(request, model, traits, conceded, tokens))[1:],
            )
        )

    def refused(
        self,
        request: ModelRequest,
        place: WirePlace,
        *,
        traits: ModelTraits | None = None,
        conceded: Mapping[str, str] | None = None,
    ) -> RefusedBlock:
        """The image at a place in the body of a request."""
        if self._dialect.alternating:
            # Neighbours were made one message, whose blocks nobody counts as we do.
            return RefusedBlock()
        lines = self._lines.of(request, traits or ModelTraits(), conceded or {})
        return lines.refused(place._replace(message=place.message - bool(request.system)))

    def _marks(self, model: str) -> bool:
        return self._dialect.cache_marks == "claude" and "claude" in model

    def _options(
        self,
        request: ModelRequest,
        model: str,
        traits: ModelTraits,
        conceded: Mapping[str, str],
        tokens: int,
    ) -> JsonObject:
        """`tokens`: a rough size of all that the model is told."""
        dialect = self._dialect
        options: JsonObject = {"stream": True}
        if dialect.usage_option and "usage" not in conceded:
            options["stream_options"] = {"include_usage": True}
        if traits.output_cap is not None:
            fields = ("max_tokens", "max_completion_tokens")
            other = fields[dialect.token_field == "max_tokens"]
            options[other if "token field" in conceded else dialect.token_field] = traits.fitting(
                traits.output_cap, tokens, conceded
            )
        if traits.thinking and not is_conceded("thinking", request.thinking, conceded):
            options |= self._thinking(request.thinking, model)
        return options

    def _thinking(self, level: ThinkingLevel, model: str) -> JsonObject:
        dialect = self._dialect
        if level == "off" and not dialect.thinking_switch:
            return thinking_off(model, dialect)
        options: JsonObject = {}
        if dialect.thinking_switch:
            options["thinking"] = {"type": "disabled" if level == "off" else "enabled"}
        if level != "off" and dialect.thinking_field == "reasoning_effort":
            options["reasoning_effort"] = level
        elif level != "off" and dialect.thinking_field == "reasoning":
            options["reasoning"] = {"effort": level}
        return options

    def _begin(self, pieces: PiecesOf[ChatPiece], back: Back, conceded: Mapping[str, str]) -> ChatLines:
        return ChatLines(self._dialect, pieces, back, _reasoning(conceded))

    def _system_message(self, text: str) -> bytes:
        return encode({"role": self._dialect.system_role, "content": text})

    def _tools_json(self, tools: tuple[ToolSpec, ...]) -> bytes:
        schema = reduced_schema if self._dialect.tool_schema == "reduced" else object_schema
        functions: list[JsonValue] = [
            {
                "type": "function",
                "function": {
                    "name": legal_name(tool.name),
                    "description": tool.description,
                    "parameters": schema(tool.parameters),
                },
            }
            for tool in tools
        ]
        return encode(functions) if functions else b""


def _reasoning(conceded: Mapping[str, str]) -> Reasoning:
    if "reasoning wanted" in conceded:
        return "wanted"
    return "unwanted" if "reasoning unwanted" in conceded else "as written"
