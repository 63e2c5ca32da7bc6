"""Exit codes in words."""

from __future__ import annotations

import signal

__all__ = ["exit_words"]


def exit_words(code: int) -> str:
    """`exit code 3`, or the signal's name; a negative code is that of a signal."""
    if code < 0:
        return f"killed by signal {_signal_name(-code)}"
    if code > 128 and _signal_name(code - 128).startswith("SIG"):
        return f"exit code {code}: a process of it was killed by {_signal_name(code - 128)}"
    return f"exit code {code}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
