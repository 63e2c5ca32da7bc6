"""The registry of tools."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from pilothouse_agent.kernel.events import ToolKind
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.ports import Invocation
from pilothouse_agent.kernel.request import ToolSpec
from pilothouse_agent.tools.registry import ToolRegistry


@dataclass
class Named:
    """A tool with nothing but a name."""

    name: str
    kind: ToolKind = "other"

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(self.name, "", {})

    def bind(self, arguments: JsonObject) -> Invocation:
        raise NotImplementedError


def test_tools_are_listed_in_the_order_they_came_and_found_by_name() -> None:
    zoom, add, last = Named("zoom"), Named("add"), Named("last")
    registry = ToolRegistry([zoom, add])
    registry.register(last)

    assert [spec.name for spec in registry.specs()] == ["zoom", "add", "last"]
    assert (list(registry), len(registry)) == ([zoom, add, last], 3)
    assert (registry.get("add"), registry.get("none")) == (add, None)


def test_a_name_that_is_taken_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^There are two tools named 'add'\. Names must differ\.$"):
        ToolRegistry([Named("add"), Named("add")])


@pytest.mark.parametrize("name", ["", "two words", "dot.ted", "1st", "grün", "x" * 65, "line\n"])
def test_a_name_that_a_provider_would_refuse_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is not legal"):
        ToolRegistry([Named(name)])
