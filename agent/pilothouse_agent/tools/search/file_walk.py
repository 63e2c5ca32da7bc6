"""Listing the files a search would look into."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from pilothouse_agent.kernel.tooling import ToolError
from pilothouse_agent.tools.search.glob_pattern import GlobPattern
from pilothouse_agent.tools.search.ripgrep import Ripgrep

__all__ = ["name_choice", "walk"]


async def walk(
    ripgrep: Ripgrep,
    roots: Sequence[str],
    take: Callable[[str], bool],
    *,
    globs: Sequence[GlobPattern] = (),
    holding: Sequence[bytes] = (),
    ignored: bool = False,
) -> bool:
    """Give every file below `roots` to `take`, once and in any order, until it returns False.

    With `globs`, files whose names cannot fit any of them may be left out beforehand; with `holding`, those
    whose paths hold none of these small letters. With `ignored`, what ignore rules hide is given too.
    Returns whether the walk came to its end in time.
    """
    reader = _PathReader(take, holding)
    # Beside a search, which has the threads: more of them cost more than they are quicker.
    spare = ["--threads=1"] if holding else []
    options = ["--files", *spare, *["--no-ignore"] * ignored, *name_choice(globs)]
    end = await ripgrep.run([*options, "--", *roots], reader.feed)
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
    def __init__(self, take: Callable[[str], bool], holding: Sequence[bytes]) -> None:
        self._take = take
        self._holding = holding
        self._rest = b""

    def feed(self, chunk: bytes) -> bool:
        whole, end, self._rest = (self._rest + chunk).rpartition(b"\0")
        if not end or not self._may_hold(whole):
            return True
        return all(self._take(os.fsdecode(path)) for path in whole.split(b"\0"))

    def _may_hold(self, paths: bytes) -> bool:
        if not self._holding:
            return True
        small = paths.lower()
        return any(part in small for part in self._holding)
