"""Writes the body of a Chat Completions request out of pieces that are made once for each message."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pilothouse_agent.kernel.json_types import JsonObject, JsonValue
from pilothouse_agent.kernel.messages import (
    AssistantMessage,
    ImageBlock,
    ModelMessage,
    RefusedBlock,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolResultMessage,
    UserBlock,
    UserMessage,
    text_of,
)
from pilothouse_agent.kernel.request import ModelRequest, ThinkingLevel, ToolSpec
from pilothouse_agent.models.by_session import BySession
from pilothouse_agent.models.chat_dialect import ChatDialect
from pilothouse_agent.models.chat_lines import ChatLines, ChatPiece, Reasoning
from pilothouse_agent.models.chat_marks import marked
from pilothouse_agent.models.chat_stream import ORIGIN
from pilothouse_agent.models.chat_turns import Neighbours
from pilothouse_agent.models.concessions import Concession, is_conceded
from pilothouse_agent.models.continuation import Continuation, LastMade
from pilothouse_agent.models.history import SettledHistory
from pilothouse_agent.models.image_refusals import NO_IMAGES, TOO_MANY_IMAGES, WirePlace, sent_blocks
from pilothouse_agent.models.image_type import image_type
from pilothouse_agent.models.legal import ToolNames, digest, legal_arguments, legal_name
from pilothouse_agent.models.model_traits import ModelTraits, rough_tokens
from pilothouse_agent.models.own_thoughts import goes_back
from pilothouse_agent.models.pieces import Pieces
from pilothouse_agent.models.schemas import object_schema, reduced_schema
from pilothouse_agent.models.sight import Sight
from pilothouse_agent.models.thinking_off import thinking_off
from pilothouse_agent.models.wire_json import encode, packed

__all__ = ["CONCESSIONS", "ChatRequests"]

CONCESSIONS: Mapping[str, Concession] = {
    "usage": Concession(re.compile(r"stream_options")),
    "token field": Concession(
        re.compile(r"\bmax_(?:completion_)?tokens\b.{0,80}(?:support|permitted|recogni)", re.IGNORECASE)
    ),
    "reasoning wanted": Concession(
        re.compile(
            r"reasoning_content.{0,60}(?:missing|required|must be (?:passed|provided|present|included))"
            r"|(?:missing|must include|requires?).{0,20}reasoning_content",
            re.IGNORECASE,
        )
    ),
    "reasoning unwanted": Concession(
        re.compile(
            r"reasoning_content.{0,60}(?:not (?:allowed|permitted|supported)|unexpected|forbidden|extra)"
            r"|(?:unknown|unexpected|extra|unsupported|unrecognized).{0,40}reasoning_content",
            re.IGNORECASE,
        )
    ),
    "thoughts": Concession(
        re.compile(
            r"signature.{0,40}(?:thinking|reasoning)|thinking.{0,80}cannot be modified|reasoning_details"
            r"|(?:invalid|corrupt\w*|expired).{0,20}(?:thought|thinking|reasoning)"
            r"|thought.?signature.{0,40}(?:not valid|invalid|corrupt)|encrypted.{0,80}(?:verif|decrypt)",
            re.IGNORECASE,
        ),
        "does not take the earlier thinking of its model back; it is left out.",
        of_past=True,
    ),
    "thinking": Concession(
        re.compile(
            r"reasoning_effort|unknown name .reasoning.|\bthinking\.type\b|not support.{0,20}\bthinking"
            r"|enable_thinking|chat_template_kwargs|(?:thinking|reasoning) (?:level|budget|effort)"
            r"|(?:reasoning|thinking) (?:is mandatory|cannot be disabled)",
            re.IGNORECASE,
        ),
        "does not think as it is asked to; it decides for itself.",
        by_level=True,
    ),
    "cache marks": Concession(re.compile(r"cache_control")),
    "images": Concession(NO_IMAGES, "does not take images; notes stand in their places."),
    "image count": Concession(TOO_MANY_IMAGES, "does not take so many images; the newest are sent."),
}
"""What is left out after a server has refused it in such words."""

_LONGEST_ID = 40
_NINE = 62**9
_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_NINE_LETTERS = re.compile(r"[a-zA-Z0-9]{9}\Z")
_NO_IMAGE = "(an image that this model cannot see)"
_UNSIGNED: JsonObject = {"google": {"thought_signature": "skip_thought_signature_validator"}}


class _Session:
    def __init__(self) -> None:
        self.history = SettledHistory()
        self.written = Continuation[ChatLines]()
        self.neighbours = Neighbours()


class ChatRequests:
    """One for each provider object; keeps what it has written."""

    def __init__(self, dialect: ChatDialect | None = None) -> None:
        self._dialect = dialect or ChatDialect()
        self._sight = Sight(self._new_pieces(images=True), self._new_pieces(images=False))
        self._sessions = BySession(_Session)
        self._system = LastMade(self._system_message)
        self._names = ToolNames()
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
        lines = self._lines(request, traits, conceded)
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
        lines = self._lines(request, traits or ModelTraits(), conceded or {})
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

    def _lines(self, request: ModelRequest, traits: ModelTraits, conceded: Mapping[str, str]) -> ChatLines:
        session = self._sessions.of(request.session_id)
        history = session.history.settled(request.messages)
        if self._dialect.alternating:
            history = session.neighbours.merged([message for message in history if _says(message)])
        pieces = self._sight.of(history, traits, conceded)
        back, reasoning = goes_back(request.model, history, conceded), _reasoning(conceded)
        return session.written.of(
            history,
            (back, pieces, reasoning),
            lambda: ChatLines(self._dialect, pieces, back, reasoning),
        )

    def _system_message(self, text: str) -> bytes:
        return encode({"role": self._dialect.system_role, "content": text})

    def _tools_json(self, tools: tuple[ToolSpec, ...]) -> bytes:
        schema = reduced_schema if self._dialect.schema == "reduced" else object_schema
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

    def _new_pieces(self, *, images: bool) -> Pieces[ChatPiece]:
        writer = _Writer(self._dialect, images=images)
        return Pieces(writer.piece, lambda piece: len(piece.plain) + len(piece.own) + len(piece.images))


class _Writer:
    def __init__(self, dialect: ChatDialect, *, images: bool) -> None:
        self._dialect = dialect
        self._images = images

    def piece(self, message: ModelMessage) -> ChatPiece:
        match message:
            case UserMessage():
                return ChatPiece(packed({"role": "user", "content": self._user_content(message.content)}))
            case AssistantMessage():
                return self._assistant(message)
            case ToolResultMessage():
                return self._tool_result(message)

    def _user_content(self, content: tuple[UserBlock, ...]) -> JsonValue:
        """A plain string where it can be one: some templates know nothing else."""
        if self._images and any(isinstance(block, ImageBlock) for block in content):
            return [_part(block) for block in sent_blocks(content)]
        return self._lines(content) or "(empty)"

    def _assistant(self, message: AssistantMessage) -> ChatPiece:
        if not _says(message):
            return ChatPiece(b"")
        text, calls = text_of(message.content), message.calls
        wire: JsonObject = {"role": "assistant", "content": text if text.strip() else None}
        if self._dialect.reasoning_back == "always":
            wire["reasoning_content"] = _thoughts(message)
        if calls:
            wire["tool_calls"] = [self._call(call) for call in calls]
        model, signed, thoughts = _maker(message), self._signed(wire), _thoughts(message)
        if model is None:
            return ChatPiece(packed(wire), signed=signed, thoughts=thoughts)
        own = {**wire, **self._thinking(message)}
        if calls:
            own["tool_calls"] = [{**self._call(call), **_extra(call)} for call in calls]
        return ChatPiece(packed(wire), packed(own), model, signed=signed, thoughts=thoughts)

    def _signed(self, wire: JsonObject) -> bytes:
        """With the words that Google has for calls of other models in the place of a signature."""
        calls = wire.get("tool_calls")
        if self._dialect.schema == "full" or not isinstance(calls, list) or not isinstance(calls[0], dict):
            return b""
        return packed({**wire, "tool_calls": [{**calls[0], "extra_content": _UNSIGNED}, *calls[1:]]})

    def _thinking(self, message: AssistantMessage) -> JsonObject:
        """Only what the server has shown it takes: its details unchanged, or the field beside calls."""
        fields: JsonObject = {}
        if self._dialect.reasoning_back != "as it came":
            return fields
        for data in (block.data for block in _own_blocks(message) if block.data):
            if details := data.get("reasoning_details"):
                fields["reasoning_details"] = details
            elif data.get("field") == "reasoning_content" and message.calls:
                fields["reasoning_content"] = _thoughts(message)
        return fields

    def _call(self, call: ToolCall) -> JsonObject:
        arguments = encode(legal_arguments(call)).decode()
        function: JsonObject = {"name": legal_name(call.name), "arguments": arguments}
        return {"id": self._id(call.id), "type": "function", "function": function}

    def _tool_result(self, message: ToolResultMessage) -> ChatPiece:
        images = [block for block in message.content if isinstance(block, ImageBlock) and self._images]
        text = self._lines(message.content) or ("(image, see below)" if images else "(no output)")
        wire = packed({"role": "tool", "tool_call_id": self._id(message.tool_call_id), "content": text})
        return ChatPiece(wire, images=b",".join(packed(_part(image)) for image in images))

    def _lines(self, content: tuple[UserBlock, ...]) -> str:
        texts = (
            _NO_IMAGE if isinstance(block, ImageBlock) else block.text
            for block in content
            if isinstance(block, TextBlock) or not self._images
        )
        return "\n".join(text for text in texts if text.strip())

    def _id(self, call_id: str) -> str:
        if self._dialect.nine_letter_ids:
            return call_id if _NINE_LETTERS.match(call_id) else _nine_letters(call_id)
        return call_id if 0 < len(call_id) <= _LONGEST_ID else f"call_{digest(call_id)[:24]}"


def _reasoning(conceded: Mapping[str, str]) -> Reasoning:
    if "reasoning wanted" in conceded:
        return "wanted"
    return "unwanted" if "reasoning unwanted" in conceded else "as written"


def _says(message: ModelMessage) -> bool:
    """Whether anything of it is to be sent."""
    return not isinstance(message, AssistantMessage) or bool(
        message.calls or text_of(message.content).strip()
    )


def _own_blocks(message: AssistantMessage) -> list[ThinkingBlock]:
    return [block for block in message.content if isinstance(block, ThinkingBlock) and block.origin == ORIGIN]


def _maker(message: AssistantMessage) -> str | None:
    """The model that wants something of the message back; None when there is nothing."""
    datas = [block.data for block in _own_blocks(message) if block.data]
    datas += [call.extra for call in message.calls if call.extra and "extra_content" in call.extra]
    for data in datas:
        model = data.get("model")
        return model if isinstance(model, str) else message.model
    return None


def _thoughts(message: AssistantMessage) -> str:
    return "".join(block.text for block in message.content if isinstance(block, ThinkingBlock))


def _extra(call: ToolCall) -> JsonObject:
    extra = call.extra.get("extra_content") if call.extra else None
    return {"extra_content": extra} if extra else {}


def _part(block: UserBlock) -> JsonObject:
    if isinstance(block, TextBlock):
        return {"type": "text", "text": block.text}
    return {"type": "image_url", "image_url": {"url": f"data:{image_type(block)};base64,{block.data}"}}


def _nine_letters(call_id: str) -> str:
    number = int(digest(call_id), 16) % _NINE
    letters: list[str] = []
    for _ in range(9):
        number, place = divmod(number, 62)
        letters.append(_LETTERS[place])
    return "".join(letters)
