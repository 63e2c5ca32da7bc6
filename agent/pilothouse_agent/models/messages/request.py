"""Writes the body of a Messages request out of blocks that are made once for each message.

Thinking goes back unchanged and in its place, and only to the model it came from; the thinking of others
is left out. Marks for the prompt cache stand on the tools, the system prompt and the ends of the last two
user turns: each request finds the mark of the one before.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from pilothouse_agent.kernel.json_types import JsonObject, JsonValue
from pilothouse_agent.kernel.messages import RefusedBlock
from pilothouse_agent.kernel.request import ModelRequest, ToolSpec
from pilothouse_agent.models.history.continuation import LastMade
from pilothouse_agent.models.history.image_refusals import WirePlace
from pilothouse_agent.models.history.legal import legal_name, own_names
from pilothouse_agent.models.history.schemas import object_schema
from pilothouse_agent.models.history.sight import Sight
from pilothouse_agent.models.history.written import WrittenHistories
from pilothouse_agent.models.http.concessions import OF_IMAGES, Concession, is_conceded
from pilothouse_agent.models.messages.blocks import anthropic_pieces, text_block
from pilothouse_agent.models.messages.models import BUDGETS, EFFORTS, output_limit, thinking_style
from pilothouse_agent.models.messages.turns import AnthropicTurns, marked
from pilothouse_agent.models.model_traits import ModelTraits, rough_tokens
from pilothouse_agent.models.wire_json import encode

__all__ = ["CONCESSIONS", "AnthropicRequests"]

CONCESSIONS: Mapping[str, Concession] = {
    "thoughts": Concession(
        re.compile(r"signature.{0,40}thinking|thinking.{0,80}cannot be modified", re.IGNORECASE),
        "does not take the earlier thinking of its model back; it is left out.",
        of_past=True,
    ),
    "budget": Concession(
        re.compile(r"thinking\.type.{0,10}enabled.{0,40}not supported|use .{0,20}adaptive", re.IGNORECASE)
    ),
    "adaptive": Concession(
        re.compile(r"adaptive.{0,40}not (?:supported|available)|output_config", re.IGNORECASE), by_level=True
    ),
    "thinking": Concession(
        re.compile(r"\bthinking\b.{0,40}(?:not supported|not support|permitted)", re.IGNORECASE),
        "does not think as it is asked to; it is not asked any more.",
    ),
    "output": Concession(re.compile(r"max_tokens: \d+ > (\d+)")),
    "cache marks": Concession(re.compile(r"cache_control")),
    **OF_IMAGES,
}
"""What is left out, or asked for otherwise, after a server has refused it in such words."""

_LEAST_BUDGET = 1_024


class AnthropicRequests:
    """One for each provider object; keeps what it has written."""

    def __init__(self) -> None:
        self._turns = WrittenHistories(
            Sight(anthropic_pieces(images=True), anthropic_pieces(images=False)),
            lambda pieces, back, _: AnthropicTurns(pieces, back),
        )
        self._names = LastMade(own_names)
        self._tools = LastMade(_tools)
        self._system = LastMade(text_block)

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
        turns = self._turns.of(request, traits, conceded)
        tools = self._tools.of(request.tools)
        told = turns.tokens + rough_tokens(request.system.encode(), *tools)
        most = _output(model, traits, conceded, told)
        options: JsonObject = {"max_tokens": most, "stream": True}
        if traits.thinking:
            options.update(_thinking(request, model, most, conceded, turns))
        marks = "cache marks" not in conceded
        if not tools and turns.tools:
            # Calls in the history need their tools; these may not be called any more.
            tools = [_stub(name) for name in sorted(turns.tools)]
            options["tool_choice"] = {"type": "none"}
        return b"".join(
            (
                b'{"model":',
                encode(model),
                b',"tools":[%b]' % b",".join(_last_marked(tools, marks)) if tools else b"",
                b',"system":[%b]' % b",".join(_last_marked([self._system.of(request.system)], marks))
                if request.system.strip()
                else b"",
                b',"messages":[%b],' % b",".join(turns.all(marks=marks)),
                encode(options)[1:],
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
        return self._turns.of(request, traits or ModelTraits(), conceded or {}).refused(place)


def _output(model: str, traits: ModelTraits, conceded: Mapping[str, str], tokens: int) -> int:
    """As much as the model takes and the window has room for."""
    most = traits.limits.max_output or output_limit(model)
    most = min(most, traits.output_cap or most, int(conceded.get("output", most)))
    return max(traits.fitting(most, tokens, conceded), 1)


def _thinking(
    request: ModelRequest, model: str, most: int, conceded: Mapping[str, str], turns: AnthropicTurns
) -> JsonObject:
    style = thinking_style(model)
    if "budget" in conceded:
        style = "adaptive"
    if is_conceded("adaptive", request.thinking, conceded):
        style = "budget" if "budget" not in conceded else "none"
    if request.thinking == "off" or style == "none" or "thinking" in conceded:
        return {}
    if style == "adaptive":
        effort: JsonObject = {"effort": EFFORTS[request.thinking]}
        return {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": effort}
    budget = min(BUDGETS[request.thinking], most // 2)
    if budget < _LEAST_BUDGET or not turns.may_think:
        return {}
    return {"thinking": {"type": "enabled", "budget_tokens": budget}}


def _tools(tools: tuple[ToolSpec, ...]) -> list[bytes]:
    return [
        encode(
            {
                "name": legal_name(tool.name),
                "description": tool.description,
                "input_schema": object_schema(tool.parameters),
            }
        )
        for tool in tools
    ]


def _stub(name: str) -> bytes:
    schema: JsonValue = object_schema(None)
    return encode({"name": name, "description": "No longer there.", "input_schema": schema})


def _last_marked(blocks: list[bytes], marks: bool) -> list[bytes]:
    return [*blocks[:-1], marked(blocks[-1])] if marks else blocks
