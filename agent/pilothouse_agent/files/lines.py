"""Lines as the agent counts them: ended by LF or CR LF. A lone CR is a character like any other."""

from __future__ import annotations

__all__ = ["count_lines", "fit_line_ends", "line_at", "line_end_of", "split_lines", "start_of_line"]


def split_lines(text: str) -> list[str]:
    """The lines with their endings; joined they are the text again."""
    *ended, last = text.split("\n")
    lines = [line + "\n" for line in ended]
    return [*lines, last] if last else lines


def count_lines(text: str) -> int:
    return text.count("\n") + (text != "" and not text.endswith("\n"))


def start_of_line(text: str, number: int) -> int:
    """Where the line (from 1) begins; the end of the text when it has fewer."""
    start = 0
    for _ in range(number - 1):
        start = text.find("\n", start) + 1
        if start == 0:
            return len(text)
    return start


def line_at(text: str, index: int) -> int:
    """The number of the line, from 1, that holds the character at `index`."""
    return text.count("\n", 0, index) + 1


def line_end_of(text: str) -> str | None:
    """The line end the whole text uses; None when it has none or uses both."""
    all_ends, windows_ends = text.count("\n"), text.count("\r\n")
    if windows_ends == 0:
        return "\n" if all_ends else None
    return "\r\n" if windows_ends == all_ends else None


def fit_line_ends(text: str, like: str) -> str:
    """Give a text written with LF the line ends of the CR LF text it replaces.

    A text with any CR of its own says what it wants and stays as it is.
    """
    if "\r" in text or line_end_of(like) != "\r\n":
        return text
    return text.replace("\n", "\r\n")
