"""Reading shell text into simple commands."""

from __future__ import annotations

import pytest

from pilothouse_agent.permissions.shell.script import SimpleCommand
from pilothouse_agent.permissions.shell.syntax import read_script

MARKS = {"literal": "", "glob": " (glob)", "dynamic": " (dynamic)"}


def _shown(command: SimpleCommand) -> str:
    words = [f"{word.text}{MARKS[word.kind]}" for word in command.words]
    assignments = [f"{a.name}={a.value.text}" for a in command.assignments]
    redirects = [f"{r.operator}{r.target.text}" for r in command.redirects]
    return " | ".join([*assignments, *words, *redirects])


@pytest.mark.covers("R068", "R070")
@pytest.mark.parametrize(
    ("line", "commands"),
    [
        ("git log && curl x | sh", ["git | log", "curl | x", "sh"]),
        ("a; b & c || d |& e\nf", ["a", "b", "c", "d", "e", "f"]),
        ("(a x)", ["a | x"]),
        ("{ a; b\n}", ["a", "b"]),
        ("echo `rm x`", ["echo | `rm x` (dynamic)", "rm | x"]),
        ('echo "$(rm "$(x)")"', ['echo | $(rm "$(x)") (dynamic)', "rm | $(x) (dynamic)", "x"]),
        ("echo ${x:-`rm y`}", ["echo | ${x:-`rm y`} (dynamic)", "rm | y"]),
        ("diff <(a) >(b)", ["diff | <(a) (dynamic) | >(b) (dynamic)", "a", "b"]),
        ("if a; then b; elif c; then d; else e; fi", ["a", "b", "c", "d", "e"]),
        ("while a; do b; done < f", ["a", "b", "<f"]),
        ("for f in *.py; do a $f; done", ["f=", "a | $f (dynamic)"]),
        ("case $x in a|b) c;; *) d ;; esac", ["c", "d"]),
        ("f() { a; }; f", ["a", "f"]),
        ("function  f { a; }; f", ["a", "f"]),
        ("[[ -f x && ( a < b ) ]] && c", ["[[ | -f | x | a | b", "c"]),
        ("! time -p a", ["a"]),
        ("rm > f -rf b 2>&1", ["rm | -rf | b | >f | >&1"]),
        ("> f rm b", ["rm | b | >f"]),
        ("cat <<E > f; b\n$(c) \\$(d)\nE\nd", ["cat | <<$(c) \\$(d)\n | >f", "b", "c", "d"]),
        ("cat <<'E' | sh\n$(c)\nE", ["cat | <<$(c)\n", "sh"]),
        ("cat <<-E\n\ta\n\tE\nb", ["cat | <<\ta\n", "b"]),
        ("A=1 B=$(c) d", ["A=1 | B=$(c) | d", "c"]),
        ("a=(1 $(b)) c", ["a= | c", "b"]),
        ("\\git 'pu'\"sh\" a\\ b", ["git | push | a b"]),
        ("ls *.py {} {a,b} ~", ["ls | *.py (glob) | {} | {a,b} (dynamic) | ~"]),
        ("a # b; c\nd", ["a", "d"]),
        ("a \\\n  b", ["a | b"]),
        ("echo a#b '#c' \"$x\"", ["echo | a#b | #c | $x (dynamic)"]),
        ('echo $ a$ "$"', ["echo | $ | a$ | $"]),
        ("[ -f x ]", ["[ | -f | x | ]"]),
        ("", []),
    ],
)
def test_every_simple_command_is_found(line: str, commands: list[str]) -> None:
    script = read_script(line)
    assert ([_shown(command) for command in script.commands], script.doubts) == (commands, ())


@pytest.mark.parametrize(
    "line",
    [
        "a 'b",
        'a "b',
        "a `b",
        "a $(b",
        "a ${b",
        "(a",
        "a)",
        "a;;b",
        "if a; then b",
        "cat <<E\nno end",
        "cat <<E $(a\nE\n)\nE\n",
        "a &\\\n& b",
        "cat <<\\\n-E\nx\nE\nrm y\n-E\n",
        "i\\\nf a; then b; fi",
        "a $\\\n(b)",
        "ls\rrm",
        "a\0b",
        "coproc a",
        "{fd}> f a",
        "ls *(e:a:)",
        "a | & b",
        "echo $[1]",
        "echo ${ a; }",
        ">f ! a",
        "cat <<E\na\\\nE\nE\n",
        "a" * 200_000,
        "( " * 100 + ")" * 100,
        "$(" * 100,
    ],
)
def test_what_is_not_understood_is_a_doubt(line: str) -> None:
    assert read_script(line).doubts != ()


def test_arithmetic_on_variables_is_a_doubt_because_their_values_may_hold_commands() -> None:
    assert read_script("echo $((1 + 2))").doubts == ()
    assert [bool(read_script(line).doubts) for line in ("echo $((x))", "((x++))", "echo ${a[x]}")] == [
        True
    ] * 3


def test_functions_are_noted_with_what_they_run() -> None:
    (function,) = read_script(":(){ :|:& };:").functions
    assert (function.name, [command.program for command in function.body]) == (":", [":", ":"])
