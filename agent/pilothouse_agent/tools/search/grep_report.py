"""The result of a search as the model reads it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pilothouse_agent.tools.search.grep_matches import FoundLine
from pilothouse_agent.tools.search.search_scope import SearchScope
from pilothouse_agent.tools.shell.output import OutputLimits

__all__ = ["Findings", "report"]


@dataclass(frozen=True, slots=True)
class Findings:
    """What a search came back with."""

    lines: Sequence[FoundLine]
    """In order of path and line."""
    complete: bool
    """There are no more matches than these."""


def report(findings: Findings, scope: SearchScope, *, limit: int, context: int, limits: OutputLimits) -> str:
    """At most `limit` matching lines with `context` lines around each, then what is missing. Blocks."""
    chosen = _first_matches(findings.lines, limit, context)
    texts = _formatted(chosen, scope, separated=context > 0)
    shown = chosen[: _fitting(texts, limits)]
    return "\n".join([*texts[: len(shown)], *_notices(findings, shown)])


def _first_matches(lines: Sequence[FoundLine], limit: int, context: int) -> Sequence[FoundLine]:
    matches = [position for position, line in enumerate(lines) if line.column is not None]
    if len(matches) <= limit:
        return lines
    last = lines[matches[limit - 1]]
    between = lines[matches[limit - 1] + 1 : matches[limit]]
    after = [line for line in between if line.path == last.path and line.number <= last.number + context]
    return [*lines[: matches[limit - 1] + 1], *after]


def _formatted(lines: Sequence[FoundLine], scope: SearchScope, *, separated: bool) -> list[str]:
    texts: list[str] = []
    previous: FoundLine | None = None
    names = {path: scope.shown_path(path) for path in dict.fromkeys(line.path for line in lines)}
    for line in lines:
        gap = separated and previous is not None and not _adjacent(previous, line)
        texts.append(f"{'--' + chr(10) if gap else ''}{names[line.path]}{_numbered(line)}")
        previous = line
    return texts


def _adjacent(line: FoundLine, following: FoundLine) -> bool:
    return line.path == following.path and line.number + 1 == following.number


def _numbered(line: FoundLine) -> str:
    if line.column is None:
        return f"-{line.number}-{line.text}{'…' if line.clipped else ''}"
    if line.clipped:
        return f":{line.number}:[column {line.column}] …{line.text}…"
    return f":{line.number}:{line.text}"


def _fitting(texts: Sequence[str], limits: OutputLimits) -> int:
    size = 0
    for position, text in enumerate(texts[: limits.lines]):
        size += len(text.encode()) + 1
        if size > limits.size:
            return position
    return min(len(texts), limits.lines)


def _notices(findings: Findings, shown: Sequence[FoundLine]) -> list[str]:
    total = _matches(findings.lines)
    first = _matches(shown)
    clipped = sum(line.clipped for line in shown)
    notices: list[str] = []
    if first < total or not findings.complete:
        of = f"{total:,}" if findings.complete else f"at least {total:,}"
        notices.append(
            f"[more matches: the first {first:,} of {of} are shown; "
            "narrow pattern, path or glob, or raise limit]"
        )
    if clipped:
        notices.append(f"[lines clipped: {clipped}, shown only in part, around the match]")
    return notices


def _matches(lines: Sequence[FoundLine]) -> int:
    return sum(line.column is not None for line in lines)
