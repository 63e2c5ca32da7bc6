"""The text of the chat document: sections below `## You` and `## Pilothouse`, the last one being the draft.

Every function takes the newest text, whatever the user has made of it, and keeps all that was typed. What
is added goes in front of the last `## You`, so that the draft stays at the end and can be written meanwhile.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = [
    "BLANK",
    "Tail",
    "answered",
    "asks_to_send",
    "draft_line",
    "draft_of",
    "fenced",
    "grown",
    "harmless",
    "has_answers",
    "life_line",
    "marked",
    "noted",
    "quoted",
    "said",
    "sent",
    "spoken",
    "taken",
]

BLANK = (
    "# Pilothouse\n"
    "\n"
    'Write below the last "## You", then run the code action "Pilothouse: Send" here.\n'
    "Or end the message with a line that reads /send, and save.\n"
    "\n"
    "## You\n"
    "\n"
)

_YOU, _PILOTHOUSE = "## You", "## Pilothouse"
_ROLE = re.compile(r"^## (You|Pilothouse)[ \t]*(?:\r?\n|\r?\Z)", re.MULTILINE)
_STATUS = re.compile(r"(?:(?<=\n\n)|(?<=\n\r\n))\*⋯ [^\n]*\*(?=\s*(?:> [^\n]*\s*)*\Z)")
_DEAD = "*The server ended while this run was at work.*"
_SEND = re.compile(r"(?:\A|(?<=\n))[ \t]*/send[ \t]*\s*\Z")
_SEND_NEXT = re.compile(r"\A\s*\n[ \t]*/send[ \t]*(?=\r?\n|\Z)")


class Tail(NamedTuple):
    """The end of an answer that is still being written."""

    words: str = ""
    status: str = ""
    """That it lives, and what has not been read yet."""


def draft_of(text: str) -> str:
    """What the user has written for the next message, without a `/send` line, ended by LF only."""
    _, tail = _parted(text)
    return _SEND.sub("", tail).strip().replace("\r\n", "\n")


def draft_line(text: str) -> int:
    """Where the draft begins: the line of its heading, from 0."""
    head, _ = _parted(text)
    return head.count("\n")


def asks_to_send(text: str) -> bool:
    """Whether the last line is `/send`, below a message."""
    _, tail = _parted(text)
    return bool(_SEND.search(tail) and draft_of(text))


def has_answers(text: str) -> bool:
    return any(found[1] == "Pilothouse" for found in _ROLE.finditer(text))


def sent(text: str, message: str, again: bool = False) -> str:
    """The draft, which `message` was, as a message that stands; a fresh draft follows it.

    What was typed behind it meanwhile becomes the new draft. If the draft is another by now, all of it
    does, and the message is put in front of it.
    """
    head, tail = _parted(text)
    if again and _ends_with_message(head, message):
        return text
    typed = tail.lstrip()
    own = message.replace("\n", _line_end(text))
    rest = _SEND_NEXT.sub("", typed.removeprefix(own)) if typed.startswith(own) else typed
    return _joined(text, head, f"{_YOU}\n\n{message}", rest)


def taken(text: str, message: str) -> str:
    """The draft without `message`, which is put down elsewhere."""
    head, tail = _parted(text)
    typed, own = tail.lstrip(), message.replace("\n", _line_end(text))
    if not typed.startswith(own):
        return text
    return _joined(text, head, "", _SEND_NEXT.sub("", typed.removeprefix(own)))


def said(text: str, message: str, again: bool = False) -> str:
    """A message that did not come from the draft, which stays."""
    head, tail = _parted(text)
    message = harmless(message.strip())
    if again and _ends_with_message(head, message):
        return text
    return _joined(text, head, f"{_YOU}\n\n{message}", tail)


def answered(text: str, block: str, again: bool = False) -> str:
    """`block` added to the answer, which begins with it if the user spoke last."""
    head, tail = _parted(text)
    block = harmless(block.strip())
    if again and block.replace("\n", _line_end(text)) in head:
        return text
    speakers = [found[1] for found in _ROLE.finditer(head)]
    heading = "" if speakers[-1:] == ["Pilothouse"] else f"{_PILOTHOUSE}\n\n"
    return _joined(text, head, heading + block, tail)


def grown(text: str, was: Tail, fixed: str, becomes: Tail, again: bool = False) -> str:
    """The answer's end `was` made into `fixed`, which stays, and `becomes`.

    Where the user has changed that end, only what is new is added behind it.
    """
    head, tail = _parted(text)
    line_end = _line_end(text)
    words = _paragraphs(fixed, becomes.words)
    whole = _paragraphs(words, becomes.status)
    if again and whole and head.rstrip().endswith(whole.replace("\n", line_end)):
        return text
    head, _ = _without_end(head, was.status.replace("\n", line_end))
    head, found = _without_end(head, was.words.replace("\n", line_end))
    if not found and was.words and words.startswith(was.words):
        whole = _paragraphs(words.removeprefix(was.words).strip(), becomes.status)
    speakers = [each[1] for each in _ROLE.finditer(head)]
    heads_itself = whole.startswith((_YOU, _PILOTHOUSE))
    heading = "" if speakers[-1:] == ["Pilothouse"] or heads_itself or not whole else f"{_PILOTHOUSE}\n\n"
    return _joined(text, head, heading + whole, tail)


def marked(text: str) -> str:
    """The end of an answer whose server is gone says so."""
    head, tail = _parted(text)
    found = _STATUS.search(head.rstrip())
    if found is None:
        return text
    return _joined(text, head[: found.start()] + _DEAD + head[found.end() :], "", tail)


def noted(text: str, note: str, again: bool = False) -> str:
    """A line between the messages."""
    head, tail = _parted(text)
    return text if again and note in head else _joined(text, head, note, tail)


def quoted(text: str, quote: str, again: bool = False) -> str:
    """`quote` added to the draft."""
    head, tail = _parted(text)
    quote = harmless(quote.strip())
    if again and quote.replace("\n", _line_end(text)) in tail:
        return text
    draft = f"{tail.strip()}\n\n{quote}\n\n" if tail.strip() else f"{quote}\n\n"
    return _joined(text, head, "", draft)


def life_line(doing: str) -> str:
    """What shows that a run is alive, in one line."""
    return f"*⋯ {doing}*"


def spoken(message: str) -> str:
    """What the user said, where the model reads it, and the answer to it begun."""
    return f"{_YOU}\n\n{harmless(message.strip())}\n\n{_PILOTHOUSE}"


def fenced(text: str, language: str = "") -> str:
    """As a code block that nothing in the text can end."""
    runs = [len(run) for run in re.findall(r"^\s*(`{3,})", text, re.MULTILINE)]
    fence = "`" * (max(runs, default=2) + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def _parted(text: str) -> tuple[str, str]:
    """What is before the last `## You`, and what is below it; a text without one has no draft."""
    headings = [found for found in _ROLE.finditer(text) if found[1] == "You"]
    if not headings:
        return text, ""
    return text[: headings[-1].start()], text[headings[-1].end() :]


def _joined(text: str, head: str, block: str, draft: str) -> str:
    """`text` only tells how lines end in it."""
    line_end = _line_end(text)
    parts = [head.rstrip(), block.replace("\r\n", "\n").replace("\n", line_end), _YOU]
    draft = draft.lstrip("\r\n").replace("\r\n", "\n").replace("\n", line_end)
    return (line_end * 2).join(part for part in parts if part) + line_end * 2 + draft


def _ends_with_message(head: str, message: str) -> bool:
    return head.rstrip().replace("\r\n", "\n").endswith(f"{_YOU}\n\n{message}")


def _paragraphs(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)


def _without_end(head: str, end: str) -> tuple[str, bool]:
    """Whether it ended so."""
    bare = head.rstrip()
    return (bare.removesuffix(end), True) if end and bare.endswith(end) else (head, False)


def harmless(block: str) -> str:
    """Without lines that would be taken for headings of ours."""
    return _ROLE.sub(lambda found: " " + found[0], block)


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
