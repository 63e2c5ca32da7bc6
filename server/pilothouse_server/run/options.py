"""What a headless run was asked to do."""

from __future__ import annotations

import math
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NoReturn, TypeAlias, cast

import orjson

__all__ = ["Approve", "RunOptions", "parse_run"]

Approve: TypeAlias = Literal["ask", "none", "edits", "all"]

_NO_PROMPT = "say what to do: pilothouse run TEXT, -m TEXT, or - to read it from standard input"
_TWO_PROMPTS = "the prompt was given twice; use either TEXT or -m TEXT"
_NO_FOLDER = "the current folder is not there any more; change to one that is, or name one"
_NO_SESSIONS = "--session is not there yet: sessions are not kept; run without it"


@dataclass(frozen=True, slots=True)
class RunOptions:
    text: str
    cwd: Path
    """Absolute."""
    model: str | None = None
    approve: Approve | None = None
    """None: ask on a terminal, else none."""
    json: bool = False
    quiet: bool = False
    timeout: float | None = None
    """Seconds."""
    settings: dict[str, Any] = field(default_factory=dict[str, Any])
    """By their dotted keys."""


def parse_run(arguments: Sequence[str]) -> RunOptions:
    """Raises SystemExit, as argparse does: 2 after a word on stderr, 0 after --help."""
    parser = _parser()
    given = parser.parse_args(_with_prompt_attached(arguments))
    if given.session is not None:
        parser.error(_NO_SESSIONS)
    settings: dict[str, Any] = dict(given.set)
    if given.max_turns is not None:
        settings["run.maxTurns"] = given.max_turns
    return RunOptions(
        text=_prompt(parser, given),
        cwd=given.cwd,
        model=given.model,
        approve=cast("Approve | None", given.approve),
        json=given.json,
        quiet=given.quiet,
        timeout=given.timeout,
        settings=settings,
    )


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="pilothouse run",
        description="Give the agent one prompt and wait until it is done.",
        epilog="Exit code: 0 completed, 1 error, 2 usage, 3 stopped early, 130 interrupted.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("text", nargs="?", metavar="TEXT", help="the prompt; - reads it from standard input")
    add("-m", dest="message", metavar="TEXT", help="the prompt, also when it begins with a dash")
    add("--model", metavar="ID", help="provider/model; default: the setting, then PILOTHOUSE_MODEL")
    add("--cwd", metavar="DIR", type=_folder, default=".", help="where the agent works; default: here")
    add(
        "--json",
        action="store_true",
        help="every event, then the result, as lines of JSON",
    )
    add(
        "--approve",
        choices=("ask", "none", "edits", "all"),
        help="what may run without a question; default: ask on a terminal, else none",
    )
    add("--max-turns", metavar="N", type=_at_least_one, help="stop after so many turns")
    add("--session", metavar="ID", help="not there yet")
    add("--timeout", metavar="S", type=_seconds, help="stop after so many seconds")
    add("--set", metavar="KEY=VALUE", type=_setting, action="append", default=[], help="a setting")
    add("--quiet", action="store_true", help="no progress on standard error")
    return parser


def _with_prompt_attached(arguments: Sequence[str]) -> list[str]:
    """A prompt that begins with a dash is taken for an option unless it is one word with its -m."""
    attached = list(arguments)
    for index in range(len(attached) - 1):
        if attached[index] == "--":
            break
        if attached[index] == "-m" and attached[index + 1].startswith("-"):
            attached[index : index + 2] = [f"-m{attached[index + 1]}"]
            break
    return attached


def _prompt(parser: ArgumentParser, given: Namespace) -> str:
    if given.text is not None and given.message is not None:
        parser.error(_TWO_PROMPTS)
    text: str | None = given.message
    if given.text == "-":
        text = _standard_input(parser)
    elif text is None:
        text = given.text
    if text is None:
        parser.error(_NO_PROMPT)
    if not text.strip():
        parser.error("the prompt is empty")
    return text


def _standard_input(parser: ArgumentParser) -> str:
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        _fail(parser, f"standard input is not UTF-8 text: {error}")
    except OSError as error:
        _fail(parser, f"standard input cannot be read: {error.strerror or error}")


def _fail(parser: ArgumentParser, message: str) -> NoReturn:
    parser.error(message)


def _folder(text: str) -> Path:
    try:
        path = Path(text).expanduser().absolute()
        found = path.is_dir()
    except FileNotFoundError:
        raise ArgumentTypeError(_NO_FOLDER) from None
    except (OSError, RuntimeError, ValueError) as error:
        raise ArgumentTypeError(f"{text!r} cannot be used as a folder: {error}") from None
    if not found:
        raise ArgumentTypeError(f"{text!r} is not a folder")
    return path


def _at_least_one(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is not a whole number from 1")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return seconds


def _setting(text: str) -> tuple[str, Any]:
    """The value is JSON where it reads as JSON, else the text as it stands."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    try:
        return key.strip(), orjson.loads(value)
    except orjson.JSONDecodeError:
        return key.strip(), value
