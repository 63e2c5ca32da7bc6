"""The events of `agent/event` as models, for the schema and for tests: made from what declares them.

The server does not use them: a model for each delta would cost more than all the rest of its way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING
from functools import cache
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from pydantic import Field, create_model

from pilothouse_agent.kernel import events as e
from pilothouse_agent.kernel import messages as m
from pilothouse_server.protocol import events as shapes
from pilothouse_server.protocol import models as p
from pilothouse_server.protocol.kernel_values import declared_fields
from pilothouse_server.wire.json_object import Json

__all__ = ["EVENTS", "SOURCES", "event_model"]


class EventBase(p.Wire):
    """What every event carries."""

    session_id: str
    run_id: str | None
    """null outside a run."""
    epoch: str
    """Changes with the server process."""
    seq: int
    """Rises by one on the wire within a session."""
    time: str
    """ISO 8601, UTC."""


class BlockPlaceModel(p.Wire):
    message_id: str
    block: int
    """Index in the message's content."""


class MessageModel(p.Wire):
    id: str
    role: m.Role
    content: list[Json]
    """Blocks of type text, thinking, toolCall and image."""
    time: str
    queue_id: str | None = None
    """User messages delivered from a queue."""
    model: str | None = None
    stop_reason: m.MessageStop | None = None
    usage: p.UsageModel | None = None
    error: p.ErrorModel | None = None
    tool_call_id: str | None = None
    tool_name: str | None = None
    is_error: bool | None = None
    name: str | None = None
    """Custom messages: what they are."""
    left_out: list[BlockPlaceModel] | None = None
    """Custom messages: blocks of earlier messages in whose place this message's text stands from here on."""


SOURCES: dict[type[p.Wire], type] = {}
"""Which class the fields of a model that was made here are declared in."""

_MODELS: dict[Any, Any] = {
    m.Message: MessageModel,
    m.Usage: p.UsageModel,
    m.ErrorInfo: p.ErrorModel,
    e.Option: p.OptionModel,
    e.QueuedItem: p.ReturnedItem,
    shapes.QueuedText: p.QueuedText,
    Any: Any,
}
"""Values that requests and their results have as well, and those whose models say more."""


def event_model(kind: type) -> type[EventBase]:
    declared = shapes.SHAPES.get(kind, kind)
    return _made(f"{kind.__name__}Event", EventBase, declared, type=(Literal[_type_of(kind)], ...))


@cache
def _value_model(kind: type) -> type[p.Wire]:
    own = kind.__module__ == shapes.__name__
    return _made(kind.__name__ if own else f"{kind.__name__}Model", p.Wire, kind)


def _made(name: str, base: type[Any], declared: type, **more: Any) -> Any:
    hints = get_type_hints(declared, localns={"JsonObject": Json})
    for attribute, name_on_wire, default in declared_fields(declared):
        more[attribute] = _field(hints[attribute], name_on_wire, default)
    # A dataclass and a named tuple that say nothing get a docstring made of their fields.
    about = declared.__doc__ if not (declared.__doc__ or "").startswith(f"{declared.__name__}(") else None
    model: type[p.Wire] = create_model(name, __base__=base, __doc__=about, **more)
    SOURCES[model] = declared
    return model


def _field(hint: Any, name: str, default: object) -> tuple[Any, Any]:
    """What can be left out may be absent, whatever its default in the kernel."""
    wire = _on_wire(hint)
    if default is MISSING:
        return wire, Field(alias=name)
    return wire | None, Field(default=None, alias=name)


def _on_wire(hint: Any) -> Any:
    if hint in _MODELS:
        return _MODELS[hint]
    parts = tuple(_parts(hint))
    if get_origin(hint) is tuple:
        return list[parts[0]]
    if NoneType in parts:
        return parts[0] | None
    if get_origin(hint) is None and hint not in (str, int, bool, float, NoneType):
        return _value_model(hint)
    return hint


def _parts(hint: Any) -> Iterator[Any]:
    if get_origin(hint) is not Literal:
        yield from (_on_wire(part) for part in get_args(hint) if part is not ...)


def _type_of(kind: Any) -> str:
    return kind.type if isinstance(kind.type, str) else kind("", "text", 0, "").type


EVENTS: dict[str, type[EventBase]] = {_type_of(kind): event_model(kind) for kind in get_args(e.Event)}
"""By type."""
