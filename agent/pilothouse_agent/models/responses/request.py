"""Writes the body of a Responses request out of pieces that are made once for each message.

Nothing is stored at the provider, so thinking goes back whole and encrypted, and only to the model it
came from; the thinking of others is left out.
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
from pilothouse_agent.models.model_traits import ModelTraits, rough_tokens
from pilothouse_agent.models.responses.models import effort, reasons
from pilothouse_agent.models.responses.turns import ResponsesTurns, responses_pieces
from pilothouse_agent.models.wire_json import encode

__all__ = ["CONCESSIONS", "ResponsesRequests"]

CONCESSIONS: Mapping[str, Concession] = {
    "thoughts": Concession(
        re.compile(
            r"encrypted content.{0,200}(?:verif|decrypt|invalid)|type 'reasoning' was provided"
            r"|item with id 'rs_",
            re.IGNORECASE | re.DOTALL,
        ),
        "does not take the earlier thinking of its model back; it is left out.",
        of_past=True,
    ),
    "encrypted": Concession(
        re.compile(r"encrypted content is not supported|encrypted_content", re.IGNORECASE)
    ),
    "summary": Concession(re.compile(r"reasoning\.summary|reasoning summar", re.IGNORECASE)),
    "effort": Concession(
        re.compile(r"reasoning\.effort|\breasoning\b.{0,40}support", re.IGNORECASE),
        "does not think as it is asked to; it decides for itself.",
        by_level=True,
    ),
    "cache key": Concession(re.compile(r"prompt_cache_key")),
    **OF_IMAGES,
}
"""What is left out after a server has refused it in such words."""

_LONGEST_CACHE_KEY = 64


class ResponsesRequests:
    """One for each provider object; keeps what it has written."""

    def __init__(self) -> None:
        self._items = WrittenHistories(
            Sight(responses_pieces(images=True), responses_pieces(images=False)),
            lambda pieces, back, _: ResponsesTurns(pieces, back),
        )
        self._names = LastMade(own_names)
        self._tools = LastMade(_tools_json)

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
        items = self._items.of(request, traits, conceded)
        return b"".join(
            (
                b'{"model":',
                encode(model),
                b',"input":[',
                b",".join(items.all()),
                b"]",
                b',"tools":' + tools if tools else b"",
                b",",
                encode(_options(request, model, traits, conceded, items.tokens + rough_tokens(tools)))[1:],
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
        return self._items.of(request, traits or ModelTraits(), conceded or {}).refused(place)


def _tools_json(tools: tuple[ToolSpec, ...]) -> bytes:
    functions: list[JsonValue] = [
        {
            "type": "function",
            "name": legal_name(tool.name),
            "description": tool.description,
            "parameters": object_schema(tool.parameters),
            "strict": False,
        }
        for tool in tools
    ]
    return encode(functions) if functions else b""


def _options(
    request: ModelRequest, model: str, traits: ModelTraits, conceded: Mapping[str, str], tokens: int
) -> JsonObject:
    """`tokens`: a rough size of the history and the tools."""
    options: JsonObject = {"stream": True, "store": False}
    if request.system:
        options["instructions"] = request.system
    if "cache key" not in conceded:
        options["prompt_cache_key"] = request.session_id[:_LONGEST_CACHE_KEY]
    if traits.output_cap is not None:
        options["max_output_tokens"] = traits.fitting(
            traits.output_cap, tokens + rough_tokens(request.system.encode()), conceded
        )
    if not traits.thinking or not reasons(model):
        return options
    if "encrypted" not in conceded:
        options["include"] = ["reasoning.encrypted_content"]
    reasoning: JsonObject = {}
    if not is_conceded("effort", request.thinking, conceded) and (word := effort(model, request.thinking)):
        reasoning["effort"] = word
    if "summary" not in conceded and request.thinking != "off":
        reasoning["summary"] = "auto"
    if reasoning:
        options["reasoning"] = reasoning
    return options
