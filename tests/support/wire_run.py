"""`pilothouse run --json` as a real process, its lines read as they come."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from support.wire_lines import folded, line

__all__ = ["Outcome", "run_json", "settled_home"]

Json: TypeAlias = dict[str, Any]

_LIMIT = 30.0


@dataclass(frozen=True)
class Outcome:
    events: list[Json]
    result: Json
    """Without its type."""
    code: int

    @property
    def lines(self) -> list[str]:
        return folded(self.events)


async def run_json(
    *arguments: str,
    environment: Mapping[str, str],
    on: Mapping[str, Callable[[], None]] | None = None,
) -> Outcome:
    """`on`: what is done when an event with this line has come."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "pilothouse_cli.main", "run", "--json", *arguments),
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=1 << 20,
    )
    try:
        async with asyncio.timeout(_LIMIT):
            return await _outcome(process, on or {})
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def settled_home(folder: Path) -> dict[str, str]:
    """An environment in which nothing of the user's own settings counts."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("PILOTHOUSE_", "OPENAI_"))
    }
    return {**kept, "PILOTHOUSE_HOME": str(folder)}


async def _outcome(process: asyncio.subprocess.Process, on: Mapping[str, Callable[[], None]]) -> Outcome:
    assert process.stdout is not None
    assert process.stderr is not None
    stderr = asyncio.create_task(process.stderr.read())
    events: list[Json] = []
    async for text in process.stdout:
        event = json.loads(text)
        if event["type"] == "result":
            del event["type"]
            code = await process.wait()
            await stderr
            return Outcome(events, event, code)
        events.append(event)
        on.get(line(event), lambda: None)()
    raise AssertionError(f"no result; standard error: {(await stderr).decode()}")
