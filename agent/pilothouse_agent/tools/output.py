"""What a command prints, on its three ways: to the display, to its result, to a file."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pilothouse_agent.tools.excerpt import Excerpt, Extract
from pilothouse_agent.tools.limits import MAX_BYTES, MAX_LINES
from pilothouse_agent.tools.output_file import MAX_FILE_BYTES, OutputFile
from pilothouse_agent.tools.progress import Progress
from pilothouse_agent.tools.terminal_text import TerminalText

__all__ = ["CommandOutput", "OutputLimits"]


@dataclass(frozen=True, slots=True)
class OutputLimits:
    """How much of a command's output is shown and kept."""

    lines: int = MAX_LINES
    size: int = MAX_BYTES
    """Bytes of UTF-8."""
    file: int = MAX_FILE_BYTES
    """Bytes of raw output kept in a file when the result cannot show all of it."""


class CommandOutput:
    """Takes raw output and gives text: decoded, cleaned as a terminal would, cut in the middle."""

    def __init__(self, report: Callable[[str], None], folder: Path, limits: OutputLimits) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._progress = Progress(report)
        self._terminal = TerminalText()
        self._excerpt = Excerpt(lines=limits.lines, size=limits.size)
        self._file = OutputFile(folder, cap=limits.file)

    async def add(self, chunk: bytes) -> None:
        self._file.add(chunk)
        self._take(self._decoder.decode(chunk))
        if self._file.due:
            await self._file.flush()

    async def finish(self) -> tuple[str, str | None]:
        """The text for the model, and the path of the whole output when that text is not all of it."""
        self._take(self._decoder.decode(b"", final=True))
        self._excerpt.add(self._terminal.finish())
        self._progress.close()
        extract = self._excerpt.extract()
        if extract.complete:
            await self._file.discard()
            return extract.tail.removesuffix("\n"), None
        path = await self._file.keep()
        head = f"{extract.head.removesuffix(chr(10))}\n" if extract.head else ""
        return f"{head}{self._notice(extract, path)}\n{extract.tail.removesuffix(chr(10))}", path

    def close(self) -> None:
        """Let go of file and timer; what was not finished is lost."""
        self._progress.close()
        self._file.close()

    def _take(self, text: str) -> None:
        if text:
            self._progress.add(text)
            self._excerpt.add(self._terminal.feed(text))

    def _notice(self, extract: Extract, path: str | None) -> str:
        omitted = _lines(extract.omitted_lines) if extract.omitted_lines else "part of a long line"
        return f"[… {omitted} left out ({extract.omitted_characters:,} characters); {self._rest(path)} …]"

    def _rest(self, path: str | None) -> str:
        if path is None:
            return f"the whole output could not be kept ({self._file.problem})"
        if self._file.capped:
            return f"the first {self._file.kept:,} of {self._file.total:,} bytes of it are in {path}"
        return f"the whole output is in {path}"


def _lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count:,} lines"
