"""Listing the files a search would look into."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from pilothouse_agent.kernel.tooling import ToolError
from pilothouse_agent.tools.glob_pattern import GlobPattern
from pilothouse_agent.tools.ripgrep import Ripgrep

__all__ = ["name_choice", "walk"]


async def walk(
    ripgrep: Ripgrep,
    roots: Sequence[str],
    take: Callable[[str], bool],
    *,
    globs: Sequence[GlobPattern] = (),
) -> bool:
    """Give every file below `roots` to `take`, once and in any order, until it returns False.

    With `globs`, files whose names cannot fit any of them may be left out beforehand. Returns whether
    the walk came to its end in time.
    """
    reader = _PathReader(take)
    end = await ripgrep.run(["--files", *name_choice(globs), "--", *roots], reader.feed)
    if end.error:
        raise ToolError(f"The files could not be listed: {end.error}")
    return not end.timed_out


def name_choice(globs: Sequence[GlobPattern]) -> list[str]:
    """Arguments that leave out files no glob can match.

    By file type and not by glob, because a glob there would bring ignored files back.
    """
    names = [glob.name_filter for glob in globs]
    if not names or None in names:
        return []
    return [*(f"--type-add=chosen:{name}" for name in names), "--type=chosen"]


class _PathReader:
    def __init__(self, take: Callable[[str], bool]) -> None:
        self._take = take
        self._rest = b""

    def feed(self, chunk: bytes) -> bool:
        *paths, self._rest = (self._rest + chunk).split(b"\0")
        return all(self._take(os.fsdecode(path)) for path in paths)
