"""Text that is piped into `pilothouse run`: what is read, how it joins the prompt, what is said."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from pilothouse_cli.run.options import parse_run
from pilothouse_cli.run.standard_input import StandardInput

Arguments = list[str]


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe()
    yield reader, writer
    for end in (reader, writer):
        with suppress(OSError):
            os.close(end)


def prompt(arguments: Arguments, descriptor: int) -> str:
    return parse_run(arguments, StandardInput(descriptor)).text


def piped(arguments: Arguments, data: bytes, pipe: tuple[int, int]) -> str:
    """The prompt when this has been written to the pipe, which then ended."""
    reader, writer = pipe
    os.write(writer, data)
    os.close(writer)
    return prompt(arguments, reader)


JOINED = """\
Review this

From standard input:

```
+ new
- old
```
"""


@pytest.mark.covers("R266")
@pytest.mark.parametrize("arguments", [["Review this"], ["-m", "Review this"], ["-m", "Review this", "-"]])
@pytest.mark.parametrize("data", [b"+ new\n- old\n", b"+ new\n- old", b"\xef\xbb\xbf+ new\n- old\n"])
def test_piped_text_joins_the_prompt_as_marked_text(
    arguments: Arguments, data: bytes, pipe: tuple[int, int]
) -> None:
    assert piped(arguments, data, pipe) == JOINED


@pytest.mark.covers("R266")
@pytest.mark.parametrize("arguments", [[], ["-"], ["--json"]])
def test_piped_text_alone_is_the_prompt(arguments: Arguments, pipe: tuple[int, int]) -> None:
    assert piped(arguments, "\ufeffErklär a\r\nb\n".encode(), pipe) == "Erklär a\r\nb\n"


@pytest.mark.covers("R266")
@pytest.mark.parametrize(
    ("text", "fence"), [("a ` b", "```"), ("```py\nx\n```", "````"), ("`" * 9 + " end\n", "`" * 10)]
)
def test_nothing_in_the_text_can_end_its_mark(text: str, fence: str, pipe: tuple[int, int]) -> None:
    lines = piped(["Review"], text.encode(), pipe).splitlines()

    assert [number for number, line in enumerate(lines) if line == fence] == [4, len(lines) - 1]


@pytest.mark.covers("R266")
@pytest.mark.parametrize("content", [b"from a file\n", b"x" * 3_000_000])
def test_a_file_is_read_to_its_end(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "input"
    file.write_bytes(content)
    with file.open("rb") as opened:
        assert prompt([], opened.fileno()).encode() == content


@pytest.mark.covers("R266")
def test_a_socket_counts_as_a_pipe() -> None:
    ours, theirs = socket.socketpair()
    with ours:
        theirs.sendall(b"over a socket")
        theirs.close()

        assert prompt([], ours.fileno()) == "over a socket"


@pytest.mark.covers("R266")
@pytest.mark.parametrize("data", [b"", b" \n\t\n", b"\xef\xbb\xbf"])
def test_an_empty_input_adds_nothing(
    data: bytes, pipe: tuple[int, int], capfd: pytest.CaptureFixture[str]
) -> None:
    assert (piped(["Hi"], data, pipe), capfd.readouterr().err) == ("Hi", "")


@pytest.mark.covers("R266")
@pytest.mark.parametrize("device", ["/dev/null", "/dev/zero", "/dev/tty"])
def test_a_device_is_not_read(device: str, capfd: pytest.CaptureFixture[str]) -> None:
    try:
        descriptor = os.open(device, os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        pytest.skip(f"there is no {device} here")
    try:
        assert (prompt(["Hi"], descriptor), capfd.readouterr().err) == ("Hi", "")
    finally:
        os.close(descriptor)


@pytest.mark.covers("R266")
def test_a_closed_input_is_nothing(pipe: tuple[int, int]) -> None:
    os.close(pipe[0])

    assert prompt(["Hi"], pipe[0]) == "Hi"


@pytest.mark.covers("R266")
def test_a_pipe_that_says_nothing_is_left_with_a_word(
    pipe: tuple[int, int], capfd: pytest.CaptureFixture[str]
) -> None:
    assert (prompt(["Hi"], pipe[0]), capfd.readouterr().err) == (
        "Hi",
        "pilothouse: standard input was not read, since nothing came within a second; "
        "with -m TEXT - it is waited for\n",
    )


@pytest.mark.covers("R266")
def test_an_input_of_ten_megabytes_is_taken(tmp_path: Path) -> None:
    file = tmp_path / "input"
    file.write_bytes(b"x" * 10 * 1024 * 1024)
    with file.open("rb") as opened:
        assert len(prompt([], opened.fileno())) == 10 * 1024 * 1024


@pytest.mark.covers("R266")
@pytest.mark.parametrize("arguments", [["Hi"], ["-m", "Hi"], ["-"], []])
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\xff\xfe\x00", "standard input is not UTF-8 text: invalid start byte at byte 0"),
        (b"good, then \xc3", "standard input is not UTF-8 text: unexpected end of data at byte 11"),
        (b"a\x00b", "standard input is not text: there is a zero byte in it"),
        (b"x" * (10 * 1024 * 1024 + 1), "standard input is more than 10 MB; give a part of it"),
    ],
)
def test_an_input_that_cannot_be_taken_is_wrong_usage(
    arguments: Arguments, content: bytes, words: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "input"
    file.write_bytes(content)
    with file.open("rb") as opened, pytest.raises(SystemExit) as raised:
        prompt(arguments, opened.fileno())

    assert (raised.value.code, capfd.readouterr().err.splitlines()[-1]) == (
        2,
        f"pilothouse run: error: {words}",
    )


@pytest.mark.covers("R266")
def test_a_folder_as_input_is_wrong_usage(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        with pytest.raises(SystemExit):
            prompt(["-"], folder)
    finally:
        os.close(folder)

    assert capfd.readouterr().err.splitlines()[-1] == (
        "pilothouse run: error: standard input cannot be read: Is a directory"
    )


@pytest.mark.covers("R266")
@pytest.mark.parametrize("arguments", [["Hi"], ["-"], ["-m", "Hi", "-"]])
def test_an_input_that_does_not_end_is_left_when_the_time_of_the_run_is_over(
    arguments: Arguments, pipe: tuple[int, int], capfd: pytest.CaptureFixture[str]
) -> None:
    os.write(pipe[1], b"the beginning")
    with pytest.raises(SystemExit) as raised:
        prompt(["--timeout", "0.05", *arguments], pipe[0])

    assert (raised.value.code, capfd.readouterr().err) == (
        3,
        "pilothouse: the time that --timeout gives is over; standard input has not ended\n",
    )
