"""Where an edit came to stand that met another text than it was meant for, and how that is taken back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pilothouse_agent.files.same_text import same_but_last_end
from pilothouse_server.client.positions import Encoding
from pilothouse_server.documents.line_text import LineText, OutsideText
from pilothouse_server.documents.sync_params import Change
from pilothouse_server.edits.text_edits import Splice, TextEdit, spliced, splices

__all__ = ["Landing", "landing_of", "put_back"]


class Landing(NamedTuple):
    """The text just before and just after."""

    before: str
    after: str

    @property
    def replaced(self) -> str:
        """What stood there, where it was not the same."""
        return "\n".join(self.before[each.start : each.end] for each in splices(self.before, self.after))


def landing_of(
    edits: Sequence[TextEdit], text: str, told: Sequence[Change], encoding: Encoding
) -> Landing | None:
    """`told` are the changes of the text since the edit was sent. None when it is not among them as such.

    May take a while.
    """
    lines = LineText(text)
    starts = {edit.start for edit in edits}
    try:
        for index, change in enumerate(told):
            if change.span is not None and change.span[0] in starts:
                after = _landed(lines.text, edits, told[index : index + len(edits)], encoding)
                if after is not None:
                    return Landing(lines.text, after)
            lines = _changed(lines, change, encoding)
    except OutsideText:
        return None
    return None


def put_back(landing: Landing, now: str) -> str | None:
    """`now` without the edit and with what it replaced; None where the same place was changed since."""
    undone = list(splices(landing.after, landing.before))
    since = list(splices(landing.after, now))
    if any(_meet(one, other) for one in undone for other in since):
        return None
    return spliced(landing.after, sorted([*undone, *since], key=lambda each: each[:2]))


def _landed(text: str, edits: Sequence[TextEdit], steps: Sequence[Change], encoding: Encoding) -> str | None:
    """The text after the first of the steps that together are the edits; None when they are others."""
    made = LineText(text)
    try:
        for edit in reversed(edits):
            made.replace(edit.start, edit.end, edit.new_text, encoding)
    except OutsideText:
        return None
    lines = LineText(text)
    for step in steps:
        lines = _changed(lines, step, encoding)
        if same_but_last_end(lines.text, made.text):
            return lines.text
    return None


def _changed(lines: LineText, change: Change, encoding: Encoding) -> LineText:
    if change.span is None:
        return LineText(change.text)
    lines.replace(*change.span, change.text, encoding)
    return lines


def _meet(one: Splice, other: Splice) -> bool:
    return one.start < other.end and other.start < one.end
