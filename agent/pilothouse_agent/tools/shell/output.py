"""What a command prints, on its three ways: to the display, to its result, to a file."""

from __future__ import annotations

import asyncio
import codecs
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pilothouse_agent.tools.limits import MAX_BYTES, MAX_LINES
from pilothouse_agent.tools.shell.excerpt import Excerpt, Extract
from pilothouse_agent.tools.shell.output_file import MAX_FILE_BYTES, OutputFile
from pilothouse_agent.tools.shell.progress import Progress
from pilothouse_agent.tools.shell.terminal_text import TerminalText

__all__ = ["CommandOutput", "OutputLimits"]


@dataclass(frozen=True, slots=True)
class OutputLimits:
    """How much of a command's output is shown and kept."""

    lines: int = MAX_LINES
    size: int = MAX_BYTES
    """Bytes of UTF-8."""
    file: int = MAX_FILE_BYTES
    """Bytes of raw output kept in a file when the result cannot show all of it."""


_READ_WHOLE = 4_194_304
"""Bytes that are decoded and cleaned as they come; of more, only the end."""
_KEPT_END = 1_048_576
_GLIMPSE = 2_048
_CONTINUATION = bytes(range(0x80, 0xC0))


class _End:
    """The last bytes of what streams by, in whole chunks, and how much was before them."""

    def __init__(self) -> None:
        self._chunks: deque[bytes] = deque()
        self._size = 0
        self.lines = 0
        self.characters = 0

    def add(self, chunk: bytes) -> None:
        self._chunks.append(chunk)
        self._size += len(chunk)
        while self._size - len(self._chunks[0]) >= _KEPT_END:
            self._leave_out(self._chunks.popleft())

    def take(self) -> bytes:
        """What is kept; when something was left out, from its first whole line on, if it has one."""
        data = b"".join(self._chunks)
        if not (self.lines or self.characters):
            return data
        cut = data.find(b"\n", 0, -1) + 1
        cut = cut or next((index for index, byte in enumerate(data[:4]) if byte & 0xC0 != 0x80), 0)
        self._size += cut
        self._leave_out(data[:cut])
        return data[cut:]

    def _leave_out(self, chunk: bytes) -> None:
        self._size -= len(chunk)
        self.lines += chunk.count(b"\n")
        self.characters += len(chunk if chunk.isascii() else chunk.translate(None, _CONTINUATION))


class CommandOutput:
    """Takes raw output and gives text: decoded, cleaned as a terminal would, cut in the middle."""

    def __init__(self, report: Callable[[str], None], folder: Path, limits: OutputLimits) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._progress = Progress(report)
        self._terminal = TerminalText()
        self._excerpt = Excerpt(lines=limits.lines, size=limits.size)
        self._file = OutputFile(folder, cap=limits.file)
        self._end = _End()

    async def add(self, chunk: bytes) -> None:
        self._file.add(chunk)
        if self._file.total <= _READ_WHOLE:
            self._take(self._decoder.decode(chunk))
        else:
            self._end.add(chunk)
            self._glimpse(chunk)
        if self._file.due:
            await self._file.flush()

    async def finish(self) -> tuple[str, str | None]:
        """The text for the model, and the path of the whole output when that text is not all of it."""
        if self._file.total > _READ_WHOLE:
            await asyncio.to_thread(self._read_end)
        else:
            self._read_end()
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

    def _glimpse(self, chunk: bytes) -> None:
        shown = chunk[-_GLIMPSE:]
        self._progress.drop(len(chunk) - len(shown))
        self._progress.add(shown.decode("utf-8", "replace").lstrip("\ufffd"))

    def _read_end(self) -> None:
        end = self._end.take()
        if self._end.characters:
            held = len(self._terminal.finish()) + bool(self._decoder.getstate()[0])
            self._terminal = TerminalText()
            self._decoder.reset()
            self._excerpt.skip(self._end.lines, self._end.characters + held)
        self._excerpt.add(self._terminal.feed(self._decoder.decode(end, final=True)))
        self._excerpt.add(self._terminal.finish())

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
