"""What happens in a run, as Markdown for the chat document."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, cast

from pilothouse_agent.kernel.events import AgentEnd, ApprovalResolved, FileChanged, QueuedItem
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.messages import text_of
from pilothouse_agent.kernel.questions import Question
from pilothouse_agent.tools.visible import visible
from pilothouse_server.chat.chat_text import fenced
from pilothouse_server.protocol.undo import RewindResult

__all__ = [
    "call_lines",
    "ending",
    "hunks_in",
    "not_read_yet",
    "one_line",
    "question_lines",
    "resolution_line",
    "tail_of",
    "undone_lines",
]

_SIGNS = {"ok": "✓", "error": "✗", "denied": "⊘", "blocked": "⊘", "aborted": "■"}
_ENDINGS = {
    "aborted": "*Stopped.*",
    "maxTurns": "*Stopped: the limit of turns was reached. Send a message to go on.*",
    "length": "*Stopped: the answer was longer than the model may write. Send a message to go on.*",
    "refused": "*The model declined to answer.*",
}
_UNDONE = {
    "restored": "restored",
    "deleted": "deleted, since the run made it",
    "created": "made again",
    "moved": "moved back",
    "unchanged": "as it was before",
    "offered": 'changed since, so left alone; "Undo run, keep later changes" takes only the run\'s part out',
}
_OUTPUT_LINES = 20
_LINE = 100


def call_lines(title: str, outcome: str, *, change: FileChanged | None = None, body: str = "") -> str:
    """One call, folded; `body` is a code block or nothing."""
    counts = f" (+{change.lines_added} −{change.lines_removed})" if change is not None else ""
    said = "" if outcome in ("ok", "error") else f": {outcome}"
    return _folded(f"{_SIGNS.get(outcome, '·')} {_plain(title)}{counts}{said}", body)


def question_lines(question: Question) -> str:
    """What the user decides on, whole."""
    preview = question.preview
    parts = [
        f"**May I? {_plain(question.title)}** Run the code action Allow or Reject, here or in any other file."
    ]
    if preview is not None and preview.command is not None:
        parts.append(fenced(visible(preview.command, lines=True), "sh"))
    for diff in preview.diffs if preview is not None else ():
        lines = [line for hunk in diff.hunks for line in hunk.lines]
        parts.append(_folded(f"The whole change of {_plain(Path(diff.path).name)}", diff_block(lines)))
    return "\n\n".join(parts)


def resolution_line(resolved: ApprovalResolved) -> str:
    said = {"allowed": "Allowed", "denied": "Rejected", "cancelled": "Withdrawn"}
    reason = f": {_plain(resolved.reason)}" if resolved.reason else ""
    return f"*{said[resolved.decision]}{reason}.*"


def ending(end: AgentEnd) -> str:
    """Empty for a run that simply was done."""
    parts = [_ENDINGS[end.stop_reason]] if end.stop_reason in _ENDINGS else []
    if end.stop_reason == "error":
        message = end.error.message if end.error is not None else "the run failed."
        parts.append(f"**Error:** {_plain(message)}")
    parts += [_not_delivered(item) for item in end.returned]
    return "\n\n".join(parts)


def not_read_yet(item: QueuedItem) -> str:
    """A message that the model has not seen; below the line that shows that the run is alive."""
    return _quote(f"*Not read yet:* {text_of(item.content)}")


def one_line(text: str) -> str:
    shown = visible(text)
    return _plain(shown if len(shown) <= _LINE else f"{shown[: _LINE - 1]}…")


def undone_lines(result: RewindResult) -> str:
    """What came of undoing a run, file by file."""
    if not result.files:
        return "*There is nothing to undo.*"
    lines = [f"- `{_plain(file.path)}`: {_UNDONE.get(file.action) or file.reason}" for file in result.files]
    rest = [] if result.complete else ["- Some changes of the run are not known any more."]
    return "\n".join(["*Undone:*", "", *lines, *rest])


def diff_block(lines: Iterable[str]) -> str:
    shown = (visible(line.rstrip("\r\n"), lines=True) for line in lines)
    return fenced("\n".join(shown), "diff")


def hunks_in(details: JsonObject | None) -> str:
    """The diff that a tool's details hold, as a code block; empty when they hold none."""
    hunks = cast("Sequence[dict[str, Any]]", (details or {}).get("hunks") or ())
    lines = [str(line) for hunk in hunks for line in hunk["lines"]]
    return diff_block(lines) if lines else ""


def tail_of(output: str) -> str:
    """The last lines as a code block; empty when there are none."""
    lines = output.strip().splitlines()
    cut = [f"… {len(lines) - _OUTPUT_LINES:,} more lines"] if len(lines) > _OUTPUT_LINES else []
    shown = [visible(line, lines=True) for line in lines[-_OUTPUT_LINES:]]
    return fenced("\n".join(cut + shown)) if shown else ""


def _not_delivered(item: QueuedItem) -> str:
    return f"*The model has not seen this; send it again:*\n\n{_quote(text_of(item.content))}"


def _folded(summary: str, body: str) -> str:
    if not body:
        return f"<details><summary>{summary}</summary></details>"
    return f"<details><summary>{summary}</summary>\n\n{body}\n\n</details>"


def _quote(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.strip().splitlines())


def _plain(text: str) -> str:
    return html.escape(visible(text), quote=False)
