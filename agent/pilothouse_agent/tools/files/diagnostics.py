"""The tool by which the model sees what the editor reports about a file: errors, warnings, hints."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Literal, Protocol, TypeAlias

from pydantic import Field

from pilothouse_agent.files.workspace import Workspace
from pilothouse_agent.kernel.events import Location, ToolKind
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.ports import ToolContext
from pilothouse_agent.kernel.request import ToolSpec
from pilothouse_agent.kernel.tooling import Footprint, ToolResult, Touch
from pilothouse_agent.tools.arguments import Arguments, schema_of, validate
from pilothouse_agent.tools.bound_call import BoundCall
from pilothouse_agent.tools.files.place import Place, locate
from pilothouse_agent.tools.limits import cut_text, sendable
from pilothouse_agent.tools.visible import visible

__all__ = ["Diagnostic", "DiagnosticSource", "DiagnosticsTool", "Severity", "listed"]

Severity: TypeAlias = Literal["error", "warning", "information", "hint"]

_DESCRIPTION = """\
What the editor's language tools report about a file as it stands in the editor: errors, warnings and hints, \
with line numbers from 1."""

_CUT = "[More are reported than are shown here.]"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    line: int
    """From 1."""
    severity: Severity
    message: str
    source: str = ""
    """The program that reports it, with the code it gives the finding."""

    def __str__(self) -> str:
        named = f" [{visible(self.source)}]" if self.source else ""
        return f"line {self.line}: {self.severity}: {visible(self.message)}{named}"


class DiagnosticSource(Protocol):
    async def of(self, path: str) -> tuple[Diagnostic, ...]:
        """What is reported about a file (real path). Raises `ToolError` when nobody can tell."""
        ...


def listed(diagnostics: Iterable[Diagnostic], *, lines: int = 100) -> str:
    """One a line, in the order of the file."""
    ordered = sorted(diagnostics, key=lambda each: each.line)
    return cut_text("\n".join(sendable(str(each)) for each in ordered), notice=_CUT, lines=lines)


class DiagnosticsArguments(Arguments):
    path: str = Field(description="The file, relative to the working folder or absolute.")


class DiagnosticsTool:
    kind: ToolKind = "read"

    def __init__(self, workspace: Workspace, source: DiagnosticSource) -> None:
        self._workspace = workspace
        self._source = source
        self.spec = ToolSpec("diagnostics", _DESCRIPTION, schema_of(DiagnosticsArguments))

    def bind(self, arguments: JsonObject) -> BoundCall:
        place = locate(self._workspace, validate(DiagnosticsArguments, arguments).path)
        return BoundCall(
            title=f"Look at the diagnostics of {visible(place.shown)}",
            footprint=Footprint(reads=(Touch(place.real),)),
            locations=(Location(place.real),),
            run=partial(self._look, place),
        )

    async def _look(self, place: Place, context: ToolContext) -> ToolResult:
        found = await self._source.of(place.real)
        if not found:
            return ToolResult.text(f"Nothing is reported about {place.shown}.")
        return ToolResult.text(f"{place.shown}:\n{listed(found)}")
