"""The system prompt: the standing text, the tools on offer, and facts about where the agent works."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from importlib.resources import files

import orjson

from pilothouse_agent.kernel.request import ToolSpec

__all__ = ["Environment", "PromptMaker"]


@dataclass(frozen=True, slots=True)
class Environment:
    """Facts fixed for a session, so that the prompt stays the same and providers can cache it."""

    folders: tuple[str, ...]
    """The first is the working folder, the others are open besides."""
    today: date

    def text(self) -> str:
        lines = [f"- Working folder: {self.folders[0]}"]
        lines += [f"- Also open: {folder}" for folder in self.folders[1:]]
        lines += [f"- System: {platform.system()} {platform.machine()}", f"- Date: {self.today.isoformat()}"]
        return "\n".join(lines)


class PromptMaker:
    """Makes the prompt anew only when the tools have changed. Reads its text when it is made: blocks."""

    def __init__(self, environment: Environment, *, schemas: bool = False) -> None:
        """`schemas`: what tools are for and what they take stands in the prompt too, for servers that do
        not pass on the tools of a request.
        """
        self._describe = _described if schemas else _named
        text = files("pilothouse_agent.session").joinpath("system_prompt.md").read_text(encoding="utf-8")
        self._head = f"{text.strip()}\n\n# Environment\n\n{environment.text()}\n"
        self._made: tuple[tuple[ToolSpec, ...], str] | None = None

    def __call__(self, specs: Sequence[ToolSpec]) -> str:
        specs = tuple(specs)
        if self._made is None or self._made[0] != specs:
            self._made = (specs, self._prompt(specs))
        return self._made[1]

    def _prompt(self, specs: Sequence[ToolSpec]) -> str:
        if not specs:
            return self._head
        return f"{self._head}\n# Tools\n\n" + "\n\n".join(map(self._describe, specs)) + "\n"


def _named(spec: ToolSpec) -> str:
    """Without what goes with each request anyway."""
    return "\n".join(part for part in (f"## {spec.name}", spec.guidance.strip()) if part)


def _described(spec: ToolSpec) -> str:
    schema = orjson.dumps(spec.parameters).decode()
    parts = [f"## {spec.name}", spec.description.strip(), f"Arguments: {schema}", spec.guidance.strip()]
    return "\n".join(part for part in parts if part)
