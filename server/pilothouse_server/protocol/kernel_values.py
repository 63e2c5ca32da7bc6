"""Kernel values as JSON: each by the fields of its declaration, camelCase, without those at their default."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, fields, is_dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache, lru_cache
from types import NoneType
from typing import Any, TypeAlias, cast, dataclass_transform

from pydantic.alias_generators import to_camel

from pilothouse_agent.kernel import messages as m
from pilothouse_agent.kernel.events import AgentEnd, AgentStart, ApprovalRequested, Option, PhaseChange
from pilothouse_server.protocol.shortened import brief

__all__ = [
    "DeclaredField",
    "Shape",
    "WireObject",
    "clock_time",
    "declared_fields",
    "object_to_wire",
    "timestamp",
    "to_wire",
]

WireObject: TypeAlias = dict[str, Any]

_AS_IT_IS = frozenset({str, int, bool, float, NoneType, dict})


DeclaredField: TypeAlias = tuple[str, str, object]
"""Its name here and on the wire, and its default; MISSING: it is always said."""

_HEADS: Mapping[type, Mapping[str, str]] = {
    m.TextBlock: {"type": "text"},
    m.ImageBlock: {"type": "image"},
    m.ThinkingBlock: {"type": "thinking"},
    m.UserMessage: {"role": "user"},
    m.AssistantMessage: {"role": "assistant"},
    m.ToolResultMessage: {"role": "toolResult"},
    m.CustomMessage: {"role": "custom"},
}
"""What tells the values of a union apart; said first."""
_UNSAID: Mapping[type, Collection[str]] = {
    AgentStart: ("run_id",),
    AgentEnd: ("run_id",),
    m.ErrorInfo: ("refused",),
    m.ThinkingBlock: ("signature", "data", "origin"),
    m.CustomMessage: ("for_model", "as_user"),
}
_ALWAYS_SAID: Mapping[type, Collection[str]] = {
    m.ErrorInfo: ("retryable",),
    m.ToolResultMessage: ("is_error",),
}
"""At their default too."""
_RENAMED: Mapping[tuple[type, str], str] = {(PhaseChange, "source"): "from", (PhaseChange, "target"): "to"}


@dataclass_transform(kw_only_default=True)
class Shape:
    """Fields that are declared for the wire alone. Unlike a dataclass it costs nothing until it is used."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)


@cache
def declared_fields(kind: type) -> tuple[DeclaredField, ...]:
    """Those that go out of a dataclass or shape, in their order."""
    always, unsaid = _ALWAYS_SAID.get(kind, ()), _UNSAID.get(kind, ())
    return tuple(
        (
            attribute,
            _RENAMED.get((kind, attribute)) or to_camel(attribute),
            MISSING if attribute in always else default,
        )
        for attribute, default in _defaults(kind)
        if attribute not in unsaid
    )


def to_wire(value: object) -> Any:
    """A kernel value of any type. Arguments and details of tools are JSON already.

    Raises TypeError for what has no fields to be said.
    """
    kind = type(value)
    if kind in _AS_IT_IS:
        return value
    if kind is tuple:
        return [to_wire(item) for item in cast("tuple[object, ...]", value)]
    special = _SPECIAL.get(kind)
    return object_to_wire(value) if special is None else special(value)


def object_to_wire(value: object) -> WireObject:
    """A dataclass or a shape, by its declaration."""
    kind = type(value)
    said: WireObject = {**_HEADS[kind]} if kind in _HEADS else {}
    for attribute, name, default in declared_fields(kind):
        item = getattr(value, attribute)
        if item is default or (default is not MISSING and item == default):
            continue
        said[name] = item if type(item) in _AS_IT_IS else to_wire(item)
    return said


def timestamp(time: datetime) -> str:
    """ISO 8601, UTC, milliseconds."""
    if time.tzinfo is not UTC:
        time = time.astimezone(UTC)
    return time.isoformat(timespec="milliseconds")[: -len("+00:00")] + "Z"


def clock_time(seconds: float) -> str:
    """The same of a Unix time; quick where many fall into one millisecond."""
    return _clock_time(int(seconds * 1000))


@lru_cache(maxsize=1)
def _clock_time(milliseconds: int) -> str:
    seconds, rest = divmod(milliseconds, 1000)
    return timestamp(datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest * 1000))


def _defaults(kind: type[Any]) -> list[tuple[str, object]]:
    if is_dataclass(kind):
        return [(field.name, field.default) for field in fields(kind)]
    if issubclass(kind, Shape):
        return [(name, getattr(kind, name, MISSING)) for name in kind.__annotations__]
    raise TypeError(f"{kind!r} is neither JSON nor declared by its fields")


def _call(call: m.ToolCall) -> WireObject:
    said = {"type": "toolCall", "id": call.id, "name": call.name}
    if call.arguments is None:
        return said | {"argumentsText": call.arguments_text or ""}
    return said | {"arguments": call.arguments}


def _option(option: Option) -> WireObject:
    return object_to_wire(replace(option, scope=option.scope and brief(option.scope)))


def _question(event: ApprovalRequested) -> WireObject:
    return object_to_wire(replace(event, title=brief(event.title)))


def _decimal(number: Decimal) -> str:
    return format(number, "f")


_SPECIAL: Mapping[type, Callable[[Any], Any]] = {
    datetime: timestamp,
    Decimal: _decimal,
    m.ToolCall: _call,
    Option: _option,
    ApprovalRequested: _question,
}
