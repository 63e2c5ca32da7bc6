"""Drafts that were sent and that the document still shows."""

from __future__ import annotations

from pilothouse_server.chat.chat_text import draft_of, said, sent, taken

__all__ = ["SentDraft", "SentDrafts"]


class SentDraft:
    """Until the document shows another one, it is not sent again."""

    def __init__(self, message: str) -> None:
        self.message = message
        self.run_id: str | None = None
        self.stands = True

    def put_down(self, text: str, again: bool) -> str:
        """As a message that stands in the conversation."""
        return sent(text, self.message, again) if self.stands else said(text, self.message, again)

    def take_out(self, text: str, again: bool) -> str:
        """It is to stand where the model reads it, later."""
        return taken(text, self.message) if self.stands else text


class SentDrafts:
    def __init__(self) -> None:
        self._drafts: list[SentDraft] = []

    def add(self, message: str) -> SentDraft:
        draft = SentDraft(message)
        self._drafts.append(draft)
        return draft

    def done(self, draft: SentDraft) -> None:
        """The document has taken the change."""
        draft.stands = False
        self._drafts = [each for each in self._drafts if each.stands]

    def look(self, text: str) -> None:
        """The document's text has changed."""
        shown = draft_of(text)
        for draft in self._drafts:
            draft.stands = shown.startswith(draft.message)
        self._drafts = [each for each in self._drafts if each.stands]

    def __bool__(self) -> bool:
        return bool(self._drafts)

    def last_of(self, shown: str) -> SentDraft | None:
        """The one that all of this draft was sent as."""
        return next((each for each in reversed(self._drafts) if each.message == shown), None)

    def unsent(self, shown: str) -> str:
        """What of the draft has not been sent: nothing, what follows it on lines of its own, or another."""
        for draft in self._drafts:
            if shown == draft.message:
                return ""
            if shown.startswith(f"{draft.message}\n"):
                shown = shown[len(draft.message) :].strip()
        return shown
