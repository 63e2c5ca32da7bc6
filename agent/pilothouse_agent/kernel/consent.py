"""What the user said yes to: the change that was shown, and no other (P3)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from pilothouse_agent.kernel.tooling import FileDiff, Preview

__all__ = ["ShownChanges"]


class ShownChanges:
    """Implements `Consent` for one call that was asked about."""

    def __init__(self, preview: Preview | None, ask: Callable[[Preview], Awaitable[None]]) -> None:
        """`preview` is None when nothing could be shown beforehand; then every change is asked about.

        `ask` puts a new question and raises `ToolError` or `Aborted` unless the answer is yes.
        """
        self._shown = {diff.path: _lines(diff) for diff in (preview.diffs if preview is not None else ())}
        self._ask = ask

    def covers(self, diff: FileDiff) -> bool:
        """Whether these very lines were shown, with their context; where they stand does not matter."""
        return self._shown.get(diff.path) == _lines(diff)

    async def extend(self, diff: FileDiff) -> None:
        await self._ask(Preview((diff,)))
        self._shown[diff.path] = _lines(diff)


def _lines(diff: FileDiff) -> list[tuple[str, ...]]:
    return [hunk.lines for hunk in diff.hunks]
