"""A question about a call as it stands on a terminal, and the keys that answer it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pilothouse_agent.tools.visible import visible
from pilothouse_cli.terminal.diff import hunk_lines
from pilothouse_cli.terminal.style import Style
from pilothouse_cli.terminal.text import clip, columns, count, one_line
from pilothouse_server.client.document_uris import path_of
from pilothouse_server.wire.json_object import Json

__all__ = ["ALL", "REASON", "STOP", "answer_of", "question", "rejection"]


REASON, STOP, ALL = "r", "s", "v"
_KEYS = {"allowOnce": "y", "allowAlways": "a", "rejectOnce": "n", "rejectAlways": "d"}
_OTHERS = "bcefghijklmopqtuwxz"
_PAINT = re.compile(r"\x1b\[[0-9;]*m")
_AROUND = 5
"""Rows for what else belongs to it: a blank line, how much is left out, the key for that, the input."""
_LEAST = 3
"""Rows that what is asked about has at the least, however low the terminal is."""


def question(params: Json, style: Style, *, width: int | None = None, height: int | None = None) -> list[str]:
    """What is to be done, cut to what fits on the terminal; then, next to each other, title, risk and keys.

    Without a size nothing is cut.
    """
    body, below = _body(params, style), _below(params, style, None)
    if width is None or height is None:
        return [*body, *below]
    clipped = _below(params, style, width)
    shown = _fitting(body, max(_LEAST, height - len(below) - _AROUND), width)
    if shown != body or params.get("cut"):
        known = count(len(body) - len(shown), "more line") if len(body) > len(shown) else ""
        shown.append(f"  {style.dim('… ' + (known if known and not params.get('cut') else 'and more'))}")
    elif clipped == below:
        return [*body, *below]
    return [*shown, *clipped, f"  {style.cyan(ALL)}  Show all of it"]


def answer_of(typed: str, options: Sequence[Json]) -> Json | None:
    """The result of the request: a key, then perhaps a reason. None when it is none of them."""
    key, _, reason = typed.strip().partition(" ")
    key = key.lower()
    chosen = rejection(options) if key in (STOP, REASON) else _chosen(key, options)
    if chosen is None:
        return None
    answer: Json = {"optionId": chosen}
    if reason.strip():
        answer["reason"] = reason.strip()
    return {**answer, "stop": True} if key == STOP else answer


def rejection(options: Sequence[Json]) -> str:
    return next((option["id"] for option in options if option["kind"] == "rejectOnce"), "reject")


def _chosen(key: str, options: Sequence[Json]) -> str | None:
    return next((option["id"] for letter, option in _lettered(options) if letter == key), None)


def _lettered(options: Sequence[Json]) -> list[tuple[str, Json]]:
    """Each with its key: the letter of its kind, some other one for a second of a kind."""
    free = iter(_OTHERS)
    taken: set[str] = set()
    lettered: list[tuple[str, Json]] = []
    for option in options:
        letter = _KEYS.get(option["kind"], "")
        key = letter if letter and letter not in taken else next(free, "")
        taken.add(key)
        lettered.append((key, option))
    return lettered


def _below(params: Json, style: Style, width: int | None) -> list[str]:
    return [_header(params, style, width), *_option_lines(params["options"], style, width)]


def _header(params: Json, style: Style, width: int | None) -> str:
    risk = f"{params['risk']} risk"
    paint = {"high": style.red, "medium": style.yellow}.get(params["risk"], style.dim)
    title = one_line(params["title"])
    if width is not None:
        title = clip(title, max(20, width - len(risk) - 5))
    return f"{style.yellow('?')} {style.bold(title)}  {paint(risk)}"


def _body(params: Json, style: Style) -> list[str]:
    lines: list[str] = []
    if command := params.get("command"):
        lines += [f"  {style.dim('$')} {line}" for line in visible(command, lines=True).split("\n")]
    diffs: list[Json] = params.get("diffs") or []
    for diff in diffs:
        lines += [f"  {line}" for line in _diff_lines(diff, style)]
    return lines


def _diff_lines(diff: Json, style: Style) -> list[str]:
    uri = str(diff["uri"])
    name = one_line(path_of(uri) or uri)
    if "oldText" not in diff:
        name += " (new file)"
    elif "newText" not in diff:
        name += " (deleted)"
    return [style.bold(name), *hunk_lines(diff["hunks"], style)]


def _fitting(lines: list[str], rows: int, width: int) -> list[str]:
    """The first of them, as many as fit; a line that alone is too long is cut."""
    fitting: list[str] = []
    for line in lines:
        plain = _PAINT.sub("", line)
        needed = max(1, -(-columns(plain.expandtabs()) // width))
        if needed > rows:
            return [*fitting, clip(plain, rows * width)] if rows and not fitting else fitting
        fitting.append(line)
        rows -= needed
    return fitting


def _option_lines(options: Sequence[Json], style: Style, width: int | None) -> list[str]:
    lines: list[str] = []
    for key, option in _lettered(options):
        label = one_line(option["label"])
        scope = f": {one_line(option['scope'])}" if option.get("scope") else ""
        if width is not None:
            scope = clip(scope, max(10, width - columns(label) - 6))
        lines.append(f"  {style.cyan(key)}  {label}{style.dim(scope)}")
    return [
        *lines,
        f"  {style.cyan(REASON)}  Reject and say why",
        f"  {style.cyan(STOP)}  Reject and stop the run",
    ]
