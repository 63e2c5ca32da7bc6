"""What a JSON object is here, and how what somebody else sent is read as one."""

from __future__ import annotations

from typing import Any, TypeAlias, cast

__all__ = ["Json", "json_object"]

Json: TypeAlias = dict[str, Any]


def json_object(value: Any) -> Json:
    """What is not an object has no fields."""
    return cast("Json", value) if isinstance(value, dict) else {}
