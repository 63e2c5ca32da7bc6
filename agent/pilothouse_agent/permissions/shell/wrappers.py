"""Commands that run other commands: what they run, or that it cannot be told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pilothouse_agent.permissions.shell.script import Assignment, SimpleCommand
from pilothouse_agent.permissions.shell.words import Word

__all__ = ["Inner", "inner_of", "tails"]

_MOST_TAILS = 1_000
_LONGEST_TAIL = 32


@dataclass(frozen=True, slots=True)
class Inner:
    """What a command runs besides itself."""

    commands: tuple[SimpleCommand, ...] = ()
    scripts: tuple[str, ...] = ()
    """Shell texts it is certain to run."""
    guesses: tuple[SimpleCommand, ...] = ()
    """What it may run."""
    guessed_scripts: tuple[str, ...] = ()
    doubt: str = ""
    transparent: bool = False
    """The outer command adds no power: whoever allows the inner one has allowed both."""
    privileged: bool = False
    """The outer command adds so much power that allowing the inner one allows nothing."""


@dataclass(frozen=True, slots=True)
class _Prefix:
    """Options of a command that runs the rest of its words."""

    flags: str = ""
    valued: str = ""
    long_flags: tuple[str, ...] = ()
    long_valued: tuple[str, ...] = ()
    operands: int = 0
    """Words of its own before the command."""
    assignments: bool = False
    privileged: bool = False


_PREFIXES = {
    "builtin": _Prefix(),
    "command": _Prefix(flags="p"),
    "doas": _Prefix(flags="n", valued="uC", privileged=True),
    "env": _Prefix(
        flags="i",
        valued="u",
        long_flags=("--ignore-environment",),
        long_valued=("--unset",),
        assignments=True,
    ),
    "exec": _Prefix(flags="cl", valued="a"),
    "ionice": _Prefix(flags="t", valued="cn"),
    "nice": _Prefix(valued="n", long_valued=("--adjustment",)),
    "nohup": _Prefix(),
    "setsid": _Prefix(flags="cfw", long_flags=("--ctty", "--fork", "--wait")),
    "stdbuf": _Prefix(valued="ioe", long_valued=("--input", "--output", "--error")),
    "sudo": _Prefix(flags="nEHSkbPA", valued="ugpChrtTDR", assignments=True, privileged=True),
    "time": _Prefix(flags="pv"),
    "timeout": _Prefix(
        valued="ks",
        long_flags=("--foreground", "--preserve-status", "--verbose"),
        long_valued=("--kill-after", "--signal"),
        operands=1,
    ),
    "xargs": _Prefix(
        flags="0rtx",
        valued="dILnPs",
        long_flags=("--null", "--no-run-if-empty", "--verbose", "--exit"),
        long_valued=("--delimiter", "--max-args", "--max-lines", "--max-procs", "--max-chars", "--replace"),
    ),
}
_SHELLS = frozenset({"ash", "bash", "dash", "rbash", "sh"})
_OTHER_SHELLS = frozenset({"csh", "fish", "ksh", "mksh", "nu", "pwsh", "tcsh", "xonsh", "zsh"})
_SHELL_FLAGS = frozenset("abcefhilmnpuvxBCEHPT")
_SHELL_LONG_FLAGS = frozenset({"--login", "--noprofile", "--norc", "--posix", "--verbose"})
_RUNNERS = frozenset(
    (
        "busybox",
        "chroot",
        "chrt",
        "coproc",
        "fakeroot",
        "flock",
        "gdb",
        "ltrace",
        "nsenter",
        "parallel",
        "pkexec",
        "proot",
        "rlwrap",
        "runuser",
        "script",
        "setarch",
        "setpriv",
        "softlimit",
        "ssh",
        "sshpass",
        "start-stop-daemon",
        "strace",
        "su",
        "systemd-run",
        "taskset",
        "toybox",
        "unbuffer",
        "unshare",
        "watch",
        "xvfb-run",
    )
)
_REBINDING = frozenset({"alias", "bind", "complete", "enable", "hash", "shopt"})
_FIND_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_UNSEEN = Word("", "dynamic")


def inner_of(command: SimpleCommand) -> Inner | None:
    """None for a command that runs nothing but itself."""
    program = command.program
    if program is None:
        return _unnamed(command) if command.words else None
    if program in _PREFIXES:
        return _prefixed(command, _PREFIXES[program])
    if program in _SHELLS:
        return _shell(command)
    if program in _OTHER_SHELLS:
        return _opaque(command, f"`{program}`, whose syntax is not known here")
    if program in _RUNNERS:
        return _opaque(command, f"`{program}`, which runs another command in a way of its own")
    if program in _REBINDING and len(command.words) > 1:
        return _opaque(command, f"`{program}`, which can change what later words mean")
    special = _SPECIAL.get(program)
    return special(command) if special else None


def tails(words: Sequence[Word]) -> tuple[SimpleCommand, ...]:
    """Every command that the words could be when those in front belong to something else."""
    return tuple(
        SimpleCommand(tuple(words[start : start + _LONGEST_TAIL]))
        for start in range(len(words[:_MOST_TAILS]))
    )


def _unnamed(command: SimpleCommand) -> Inner:
    doubt = f"the name of the command in `{command.words[0].text}`, which only the shell will know"
    return Inner(guesses=tails(command.words[1:]), doubt=doubt)


def _opaque(command: SimpleCommand, doubt: str) -> Inner:
    texts = tuple(word.text for word in command.words[1:] if " " in word.text)
    return Inner(guesses=tails(command.words[1:]), guessed_scripts=texts, doubt=doubt)


def _prefixed(command: SimpleCommand, prefix: _Prefix) -> Inner | None:
    program, words = command.program, command.words
    if program == "command" and len(words) > 1 and words[1].text in ("-v", "-V"):
        return None
    start = _behind_options(words, prefix)
    assigned: list[Assignment] = []
    while start is not None and prefix.assignments and start < len(words) and "=" in words[start].text:
        name, _, value = words[start].text.partition("=")
        assigned.append(Assignment(name, Word(value, words[start].kind)))
        start += 1
    if start is None:
        return _opaque(command, f"the options of `{program}`")
    if start + prefix.operands >= len(words):
        return None
    inner = SimpleCommand(
        words[start + prefix.operands :], (*command.assignments, *assigned), command.redirects
    )
    if program == "xargs":
        inner = _with_input(inner, _replaced(words[:start]))
    return Inner((inner,), transparent=not prefix.privileged, privileged=prefix.privileged)


def _behind_options(words: Sequence[Word], prefix: _Prefix) -> int | None:
    """The index of the first word that is no option; None when an option is not known."""
    index = 1
    while index < len(words):
        text = words[index].text
        if words[index].kind != "literal":
            return None
        if text == "--":
            return index + 1
        if not text.startswith("-"):
            return index
        width = _option_width(text, prefix)
        if width is None:
            return None
        index += width
    return index


def _option_width(text: str, prefix: _Prefix) -> int | None:
    """How many words an option takes; None when it is not known."""
    if text.startswith("--"):
        name, equals, _ = text.partition("=")
        if name in prefix.long_valued:
            return 1 if equals else 2
        return 1 if text in prefix.long_flags else None
    for place, letter in enumerate(text[1:], start=2):
        if letter in prefix.valued:
            return 2 if place == len(text) else 1
        if letter not in prefix.flags:
            return None
    return 1 if len(text) > 1 or prefix.assignments else None


def _replaced(options: Sequence[Word]) -> str:
    """The placeholder of `xargs -I`."""
    for index, option in enumerate(options):
        if option.text.startswith("-I"):
            return option.text[2:] or (options[index + 1].text if index + 1 < len(options) else "{}")
    return "{}"


def _with_input(command: SimpleCommand, placeholder: str) -> SimpleCommand:
    """The command that xargs runs: words from its input at the end, or wherever the placeholder is."""
    words = tuple(
        replace(word, kind="dynamic") if placeholder in word.text else word for word in command.words
    )
    return replace(command, words=(*words, _UNSEEN))


def _shell(command: SimpleCommand) -> Inner | None:
    program, words = command.program, command.words
    index, runs_text = 1, False
    while index < len(words) and words[index].text[:1] in ("-", "+") and len(words[index].text) > 1:
        text = words[index].text
        takes_value = text[-1] == "o" and not text.startswith("--")
        letters = text[1:-1] if takes_value else text[1:]
        if words[index].kind != "literal" or not (text in _SHELL_LONG_FLAGS or set(letters) <= _SHELL_FLAGS):
            return _opaque(command, f"the options of `{program}`")
        runs_text |= not text.startswith("--") and "c" in text
        index += 2 if takes_value else 1
    if index >= len(words):
        bodies = tuple(r.target.text for r in command.redirects if r.operator in ("<<", "<<<"))
        return Inner(guessed_scripts=bodies, doubt=f"`{program}`, which runs commands from its input")
    if not runs_text:
        return None
    if words[index].kind != "literal":
        return Inner(guessed_scripts=(words[index].text,), doubt=f"the text that `{program} -c` runs")
    return Inner(scripts=(words[index].text,), transparent=True)


def _eval(command: SimpleCommand) -> Inner:
    text = " ".join(word.text for word in command.words[1:])
    if any(word.kind != "literal" for word in command.words):
        return Inner(guessed_scripts=(text,), doubt="the text that `eval` runs")
    return Inner(scripts=(text,), transparent=True)


def _trap(command: SimpleCommand) -> Inner | None:
    operands = [word for word in command.words[1:] if word.text != "--"]
    if len(operands) < 2 or operands[0].text in ("-", "-l", "-p"):
        return None
    if operands[0].kind != "literal":
        return Inner(guessed_scripts=(operands[0].text,), doubt="the text that `trap` runs")
    return Inner(scripts=(operands[0].text,))


def _find(command: SimpleCommand) -> Inner | None:
    found: list[SimpleCommand] = []
    words = command.words
    start = 1
    while start < len(words):
        end = start
        if words[start].text in _FIND_RUNS:
            end = next((i for i in range(start, len(words)) if words[i].text in (";", "+")), len(words))
            found.append(_with_input(SimpleCommand(words[start + 1 : end]), "{}"))
        start = end + 1
    return Inner(tuple(found)) if found else None


_SPECIAL: dict[str, Callable[[SimpleCommand], Inner | None]] = {
    "eval": _eval,
    "find": _find,
    "trap": _trap,
}
