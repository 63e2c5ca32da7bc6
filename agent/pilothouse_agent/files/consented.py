"""Keeps a change to what the user was shown (kernel.md P3)."""

from __future__ import annotations

from pilothouse_agent.files.diff import diff_file
from pilothouse_agent.files.same_text import with_lf
from pilothouse_agent.kernel.ports import Consent, FileText, TextChange, WriteScope
from pilothouse_agent.kernel.tooling import FileDiff

__all__ = ["NotShown", "consented", "refuse_unshown"]


class NotShown(Exception):
    """The change would be another than the user said yes to; nothing was done. Ask `consent` about it."""

    def __init__(self, consent: Consent, diff: FileDiff) -> None:
        super().__init__(diff.path)
        self.consent = consent
        self.diff = diff


def consented(change: TextChange, path: str, scope: WriteScope) -> TextChange:
    """`change`, raising `NotShown` where its outcome is not covered. `path` is real."""
    consent = scope.consent
    if consent is None:
        return change

    def kept_to_it(file: FileText | None) -> str:
        text = change(file)
        diff = diff_file(path, file.text if file is not None else None, text)
        if diff.hunks and not consent.covers(diff):
            raise NotShown(consent, diff)
        return text

    return kept_to_it


def refuse_unshown(path: str, text: str | None, scope: WriteScope) -> None:
    """Raises `NotShown` when `text` is to be deleted and is not the one that was shown. `path` is real."""
    consent = scope.consent
    if consent is None or text is None:
        return
    # An editor may have told, and so shown, a text with other line ends than its file has.
    diff, *others = (diff_file(path, each, None) for each in (text, with_lf(text)))
    if diff.hunks and not any(map(consent.covers, (diff, *others))):
        raise NotShown(consent, diff)
