"""What a headless run was asked to do."""

from __future__ import annotations

import math
import os
import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from pilothouse_cli.run.standard_input import StandardInput, Unreadable

__all__ = ["Approve", "RunOptions", "parse_run"]

Approve: TypeAlias = Literal["ask", "none", "edits", "all"]

_NO_PROMPT = 'say what to do: pilothouse run "TEXT", -m "TEXT", or - to read it from standard input'
_TWO_PROMPTS = "the prompt was given twice; use either TEXT or -m TEXT"
_NO_FOLDER = "the current folder is not there any more; change to one that is, or name one"
_TIME_OVER = 3


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
    session: str | None = None
    """Go on with this one."""
    continue_: bool = False
    """Go on with the last one of the folder."""
    settings: dict[str, Any] = field(default_factory=dict[str, Any])
    """By their dotted keys."""


def parse_run(arguments: Sequence[str], standard_input: StandardInput | None = None) -> RunOptions:
    """Raises SystemExit, as argparse does: 2 after a word on stderr, 0 after --help. May wait for input."""
    parser = _parser()
    given = _parsed(parser, arguments)
    if given.session is not None and given.continue_:
        parser.error("argument --continue: not allowed with --session, which names one")
    settings: dict[str, Any] = dict(given.set)
    if settings and (wrong := _wrong_in_objects(settings)):
        parser.error(f"argument --set: {' '.join(wrong)}")
    if given.max_turns is not None:
        settings["run.maxTurns"] = given.max_turns
    return RunOptions(
        text=_prompt(parser, given, standard_input or StandardInput()),
        cwd=given.cwd,
        model=given.model,
        approve=cast("Approve | None", given.approve),
        json=given.json,
        quiet=given.quiet,
        timeout=given.timeout,
        session=given.session,
        continue_=given.continue_,
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
    add("text", nargs="*", metavar="TEXT", help="the prompt; - waits for standard input, which joins it")
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
    add("--session", metavar="ID", help="go on with this session; pilothouse sessions list shows them")
    add("--continue", dest="continue_", action="store_true", help="go on with the last session of the folder")
    add("--timeout", metavar="S", type=_seconds, help="stop after so many seconds")
    add("--set", metavar="KEY=VALUE", type=_setting, action="append", default=[], help="a setting")
    add("--quiet", action="store_true", help="no progress on standard error")
    return parser


def _parsed(parser: ArgumentParser, arguments: Sequence[str]) -> Namespace:
    """The words of the prompt may stand anywhere; behind -- there is nothing else."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    given = parser.parse_intermixed_args(_with_prompt_attached(arguments[:end]))
    given.text += arguments[end + 1 :]
    return given


def _with_prompt_attached(arguments: Sequence[str]) -> list[str]:
    """A prompt that begins with a dash is taken for an option unless it is one word with its -m."""
    attached = list(arguments)
    for index in range(len(attached) - 1):
        if attached[index] == "-m" and attached[index + 1].startswith("-"):
            attached[index : index + 2] = [f"-m{attached[index + 1]}"]
            break
    return attached


def _prompt(parser: ArgumentParser, given: Namespace, standard_input: StandardInput) -> str:
    waits = given.text == ["-"]
    words = None if waits or not given.text else " ".join(given.text)
    if words is not None and given.message is not None:
        parser.error(_TWO_PROMPTS)
    said: str | None = given.message if words is None else words
    if said is not None and not said.strip():
        parser.error("the prompt is empty")
    try:
        read = standard_input.whole if waits else standard_input.piped
        piped = read(given.timeout)
    except Unreadable as error:
        parser.error(str(error))
    except TimeoutError:
        parser.exit(
            _TIME_OVER, "pilothouse: the time that --timeout gives is over; standard input has not ended\n"
        )
    if piped is not None and not piped.strip():
        piped = None
    if said is None and piped is None:
        parser.error("the prompt is empty" if waits else _NO_PROMPT)
    return _joined(said, piped)


def _joined(said: str | None, piped: str | None) -> str:
    """What was piped in stands in a fence that nothing in it can end."""
    if said is None or piped is None:
        return said or piped or ""
    longest = max(map(len, re.findall("`+", piped)), default=0)
    fence = "`" * max(3, longest + 1)
    ending = "" if piped.endswith("\n") else "\n"
    return f"{said}\n\nFrom standard input:\n\n{fence}\n{piped}{ending}{fence}\n"


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
    from pilothouse_agent.settings.keys import parse_assignment

    try:
        return parse_assignment(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None


def _wrong_in_objects(settings: dict[str, Any]) -> list[str]:
    """A sentence for each setting within an object that cannot be used, over what stands elsewhere."""
    from pilothouse_agent.settings.keys import KEYS

    if all(name in KEYS and not isinstance(value, dict) for name, value in settings.items()):
        return []
    from pilothouse_agent.permissions.layers import Layer
    from pilothouse_agent.settings.chosen import chosen_settings
    from pilothouse_agent.settings.complaints import complaints

    chosen, _ = chosen_settings(os.environ)
    return complaints(settings, layer=Layer.COMMAND_LINE, over=chosen, environment=os.environ)
