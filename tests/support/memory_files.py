"""Files in memory, what operations do to them, and tools that pause between looking and changing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.ports import ToolContext
from pilothouse_agent.kernel.tooling import Footprint, ToolResult, Touch
from support.footprints import EVERYTHING, READS_EVERYTHING, changes, looks_at, turns_of_the_loop
from support.kernel import FakeTool

__all__ = ["Files", "Operation", "OperationKind", "file_tools", "outcome"]

Files: TypeAlias = dict[str, str]
OperationKind: TypeAlias = Literal["read", "write", "append", "copy", "list", "fill", "look", "shell"]


@dataclass(frozen=True, slots=True)
class Operation:
    kind: OperationKind
    path: str
    other: str = "/"
    """Where a copy comes from."""
    text: str = ""
    pauses: tuple[int, int] = (0, 0)
    """Turns of the loop before it looks at the files and before it changes them."""

    @property
    def footprint(self) -> Footprint:
        match self.kind:
            case "read":
                return looks_at(self.path)
            case "write" | "append":
                return changes(self.path)
            case "copy":
                return Footprint(reads=(Touch(self.other),), writes=(Touch(self.path),))
            case "list":
                return looks_at(self.path, subtree=True)
            case "fill":
                return changes(self.path, subtree=True)
            case "look":
                return READS_EVERYTHING
            case "shell":
                return EVERYTHING


def outcome(operation: Operation, files: Mapping[str, str]) -> tuple[str, Files]:
    """What the operation says, and what it changes, on the files as they are."""
    path, text = operation.path, operation.text
    below = {name: held for name, held in files.items() if name.startswith(path.rstrip("/") + "/")}
    match operation.kind:
        case "read":
            return files.get(path, "nothing"), {}
        case "write":
            return f"was {files.get(path)}", {path: text}
        case "append":
            return f"{len(files.get(path, ''))} before", {path: files.get(path, "") + text}
        case "copy":
            return "copied", {path: files.get(operation.other, "")}
        case "list":
            return str(sorted(below.items())), {}
        case "fill":
            return str(len(below)), {name: held + text for name, held in below.items()}
        case "look":
            return str(sorted(files.items())), {}
        case "shell":
            return "ran", {name: held[::-1] + text for name, held in files.items()} | {path: text}


def file_tools(operations: Mapping[str, Operation], files: Files) -> list[FakeTool]:
    """One tool for each operation, named by its key."""
    return [_tool(name, operation, files) for name, operation in operations.items()]


def _tool(name: str, operation: Operation, files: Files) -> FakeTool:
    async def body(arguments: JsonObject, context: ToolContext) -> ToolResult:
        before_looking, before_changing = operation.pauses
        await turns_of_the_loop(before_looking)
        said, changed = outcome(operation, files)
        await turns_of_the_loop(before_changing)
        files.update(changed)
        return ToolResult.text(said)

    return FakeTool(name, body, footprint=operation.footprint)
