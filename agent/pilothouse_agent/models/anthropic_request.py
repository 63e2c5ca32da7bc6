"""Writes the body of a Messages request out of blocks that are made once for each message.

Thinking goes back unchanged and in its place, and only to the model it came from; the thinking of others
is left out. Marks for the prompt cache stand on the tools, the system prompt and the ends of the last two
user turns: each request finds the mark of the one before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from pilothouse_agent.kernel.json_types import JsonObject, JsonValue
from pilothouse_agent.kernel.request import ModelRequest, ToolSpec
from pilothouse_agent.models.anthropic_blocks import AnthropicPiece, anthropic_pieces, text_block
from pilothouse_agent.models.anthropic_models import BUDGETS, EFFORTS, output_limit, thinking_style
from pilothouse_agent.models.history import SettledHistory
from pilothouse_agent.models.legal import ToolNames, legal_name
from pilothouse_agent.models.model_traits import ModelTraits
from pilothouse_agent.models.schemas import object_schema
from pilothouse_agent.models.wire_json import encode

__all__ = ["CONCESSIONS", "AnthropicRequests"]

CONCESSIONS: Mapping[str, re.Pattern[str]] = {
    "thoughts": re.compile(r"signature.{0,40}thinking|thinking.{0,80}cannot be modified", re.IGNORECASE),
    "budget": re.compile(
        r"thinking\.type.{0,10}enabled.{0,40}not supported|use .{0,20}adaptive", re.IGNORECASE
    ),
    "adaptive": re.compile(r"adaptive.{0,40}not (?:supported|available)|output_config", re.IGNORECASE),
    "thinking": re.compile(r"\bthinking\b.{0,40}(?:not supported|not support|permitted)", re.IGNORECASE),
    "output": re.compile(r"max_tokens: \d+ > (\d+)"),
    "cache marks": re.compile(r"cache_control"),
    "images": re.compile(r"image inputs? (?:is|are) not supported|not support.{0,20}\bimage", re.IGNORECASE),
}
"""What is left out, or asked for otherwise, after a server has refused it in such words."""

_MARK = b',"cache_control":{"type":"ephemeral"}}'
_MARKED_TURNS = 2
_LEAST_BUDGET = 1_024
_LEAST_OUTPUT = 1_024
_MARGIN = 1_024
"""Tokens left free between what the prompt is thought to have and the window."""


class _Turn:
    """Messages of one role that follow each other are one."""

    def __init__(self, role: str) -> None:
        self.role = role
        self.blocks: list[bytes] = []
        self.calls = False
        self.thinks = False
        """Whether it opens with thinking."""
        self.paused = False

    def add(self, piece: AnthropicPiece, blocks: tuple[bytes, ...]) -> None:
        if not self.blocks:
            self.thinks = blocks is piece.own and piece.thinks
        self.blocks.extend(blocks)
        self.calls = self.calls or bool(piece.tools)
        self.paused = piece.paused and blocks is piece.own

    def json(self, *, marked: bool) -> bytes:
        blocks = [*self.blocks[:-1], _marked(self.blocks[-1])] if marked else self.blocks
        return b'{"role":"%b","content":[%b]}' % (self.role.encode(), b",".join(blocks))


class AnthropicRequests:
    """One for each provider object; keeps what it has written."""

    def __init__(self) -> None:
        self._pieces = anthropic_pieces(images=True)
        self._blind_pieces = anthropic_pieces(images=False)
        self._history = SettledHistory()
        self._names = ToolNames()
        self._tools: tuple[tuple[ToolSpec, ...], list[bytes]] = ((), [])

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
        pieces = self._read(request, traits, conceded)
        turns = _turns(pieces, None if "thoughts" in conceded else request.model)
        most = _output(model, traits, conceded, sum(piece.tokens for piece in pieces))
        options: JsonObject = {"max_tokens": most, "stream": True}
        if traits.thinking:
            options.update(_thinking(request, model, most, conceded, turns))
        marks = "cache marks" not in conceded
        tools = self._tools_json(request.tools)
        if not tools and (used := {name for piece in pieces for name in piece.tools}):
            # Calls in the history need their tools; these may not be called any more.
            tools = [_stub(name) for name in sorted(used)]
            options["tool_choice"] = {"type": "none"}
        return b"".join(
            (
                b'{"model":',
                encode(model),
                b',"tools":[%b]' % b",".join(_last_marked(tools, marks)) if tools else b"",
                b',"system":[%b]' % b",".join(_last_marked(_system(request.system), marks))
                if request.system.strip()
                else b"",
                b',"messages":[%b],' % b",".join(_messages(turns, marks)),
                encode(options)[1:],
            )
        )

    def _read(
        self, request: ModelRequest, traits: ModelTraits, conceded: Mapping[str, str]
    ) -> list[AnthropicPiece]:
        sees = traits.images and "images" not in conceded
        piece_of = (self._pieces if sees else self._blind_pieces).of
        return [piece_of(message) for message in self._history.settled(request.messages)]

    def _tools_json(self, tools: tuple[ToolSpec, ...]) -> list[bytes]:
        if self._tools[0] is not tools:
            self._tools = (tools, [_tool(tool) for tool in tools])
        return self._tools[1]


def _turns(pieces: Iterable[AnthropicPiece], back: str | None) -> list[_Turn]:
    """`back`: the model whose own thinking goes back."""
    turns: list[_Turn] = []
    for piece in pieces:
        blocks = piece.own if piece.own and piece.model == back else piece.plain
        if not blocks:
            continue
        if not turns and piece.role == "assistant":
            _say(turns, "(The conversation begins with your answer.)")
        if not turns or turns[-1].role != piece.role:
            turns.append(_Turn(piece.role))
        turns[-1].add(piece, blocks)
    if turns and turns[-1].role == "assistant" and not turns[-1].paused:
        _say(turns, "Go on.")
    return turns


def _say(turns: list[_Turn], text: str) -> None:
    turns.append(_Turn("user"))
    turns[-1].blocks.append(text_block(text))


def _messages(turns: Sequence[_Turn], marks: bool) -> list[bytes]:
    users = [turn for turn in turns if turn.role == "user"][-_MARKED_TURNS:] if marks else []
    return [turn.json(marked=turn in users) for turn in turns]


def _output(model: str, traits: ModelTraits, conceded: Mapping[str, str], tokens: int) -> int:
    """As much as the model takes and the window has room for."""
    limits = traits.limits
    most = limits.max_output or output_limit(model)
    most = min(most, traits.output_cap or most, int(conceded.get("output", most)))
    if limits.context_window is not None:
        most = min(most, max(limits.context_window - tokens - _MARGIN, _LEAST_OUTPUT))
    return max(most, 1)


def _thinking(
    request: ModelRequest, model: str, most: int, conceded: Mapping[str, str], turns: Sequence[_Turn]
) -> JsonObject:
    style = thinking_style(model)
    if "budget" in conceded:
        style = "adaptive"
    if "adaptive" in conceded:
        style = "budget" if "budget" not in conceded else "none"
    if request.thinking == "off" or style == "none" or "thinking" in conceded:
        return {}
    if style == "adaptive":
        effort: JsonObject = {"effort": EFFORTS[request.thinking]}
        return {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": effort}
    budget = min(BUDGETS[request.thinking], most // 2)
    if budget < _LEAST_BUDGET or not _may_think(turns):
        return {}
    return {"thinking": {"type": "enabled", "budget_tokens": budget}}


def _may_think(turns: Sequence[_Turn]) -> bool:
    """A turn with calls that another model began without thinking cannot be gone on with in thought."""
    last = next((turn for turn in reversed(turns) if turn.role == "assistant"), None)
    return last is None or not last.calls or last.thinks


def _system(text: str) -> list[bytes]:
    return [text_block(text)]


def _tool(tool: ToolSpec) -> bytes:
    return encode(
        {
            "name": legal_name(tool.name),
            "description": tool.description,
            "input_schema": object_schema(tool.parameters),
        }
    )


def _stub(name: str) -> bytes:
    schema: JsonValue = object_schema(None)
    return encode({"name": name, "description": "No longer there.", "input_schema": schema})


def _last_marked(blocks: list[bytes], marks: bool) -> list[bytes]:
    return [*blocks[:-1], _marked(blocks[-1])] if marks else blocks


def _marked(block: bytes) -> bytes:
    return block[:-1] + _MARK
