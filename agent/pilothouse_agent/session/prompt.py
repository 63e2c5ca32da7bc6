"""The system prompt: the standing text, the tools on offer, and facts about where the agent works."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from importlib.resources import files

import orjson

from pilothouse_agent.kernel.request import ToolSpec

__all__ = ["Environment", "system_prompt"]


@dataclass(frozen=True, slots=True)
class Environment:
    """Facts fixed for a session, so that the prompt stays the same and providers can cache it."""

    folders: tuple[str, ...]
    """The first is the working folder."""
    today: date

    def text(self) -> str:
        lines = [f"- Working folder: {self.folders[0]}"]
        lines += [f"- Also open: {folder}" for folder in self.folders[1:]]
        lines += [f"- System: {platform.system()} {platform.machine()}", f"- Date: {self.today.isoformat()}"]
        return "\n".join(lines)


def system_prompt(specs: Sequence[ToolSpec], environment: Environment) -> str:
    standing = files("pilothouse_agent.session").joinpath("system_prompt.md").read_text(encoding="utf-8")
    sections = [standing.strip(), f"# Environment\n\n{environment.text()}"]
    if specs:
        sections.append("# Tools\n\n" + "\n\n".join(_tool(spec) for spec in specs))
    return "\n\n".join(sections) + "\n"


def _tool(spec: ToolSpec) -> str:
    schema = orjson.dumps(spec.parameters).decode()
    parts = [f"## {spec.name}", spec.description.strip(), f"Arguments: {schema}", spec.guidance.strip()]
    return "\n".join(part for part in parts if part)
