"""How a run ended, in a line or two."""

from __future__ import annotations

from pilothouse_cli.terminal.style import Style
from pilothouse_cli.terminal.text import count, duration, one_line
from pilothouse_server.wire.json_object import Json

__all__ = ["summary"]


_ENDINGS = {
    "completed": "completed",
    "aborted": "stopped",
    "error": "failed",
    "maxTurns": "stopped at the turn limit",
    "length": "cut at the output limit",
    "refused": "refused by the model",
}
_TOKENS = {"input": "in", "output": "out"}


def summary(result: Json, style: Style, *, turns: int, calls: int, milliseconds: int) -> list[str]:
    """`result` is the prompt's; the numbers are what was seen of the run."""
    stop = result["stopReason"]
    paint = {"completed": style.green, "error": style.red}.get(stop, style.yellow)
    sign = {"completed": "ok", "error": "error", "aborted": "aborted"}.get(stop, "warning")
    lines = [paint(f"{style.sign(sign)} {_ENDINGS.get(stop, stop)}")]
    if turns:
        usage = _usage(result.get("usage") or {})
        facts = [count(turns, "turn"), count(calls, "tool call"), *usage, duration(milliseconds)]
        lines[0] += f"  {style.dim(style.separator.join(facts))}"
    if error := result.get("error"):
        lines.append(f"  {paint(one_line(error['message']))}")
    if returned := result.get("returned"):
        lines.append(f"  {style.dim(count(len(returned), 'queued message') + ' not delivered')}")
    return lines


def _usage(usage: Json) -> list[str]:
    facts = [f"{usage[name]:,} tokens {word}" for name, word in _TOKENS.items() if name in usage]
    return [*facts, f"${usage['cost']}"] if "cost" in usage else facts
