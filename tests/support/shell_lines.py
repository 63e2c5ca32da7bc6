"""Random shell lines around given simple commands, for properties of the command analysis."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

__all__ = ["any_text", "damaged", "lines"]

_JOINTS = ("; ", " && ", " || ", " | ", " & ", "\n", ";", "|&", " \\\n&& ")
_FRAMES = (
    "(X)",
    "{ X; }",
    "{ X\n}",
    "! X",
    "echo $(X)",
    'echo "x $(X)"',
    "echo ${x:-$(X)}",
    "cat <(X)",
    "if X; then Y; fi",
    "if X\nthen Y\nelse true\nfi",
    "for i in a b; do X; done",
    "case a in b|a) X;; *) Y ;; esac",
    "f() { X; }; f",
    "[[ a == a ]] && X",
    "x=$(X) Y",
    "# a comment\nX # and another\n",
)
_SETTINGS = ("", "", "", "Z=1 ", ">/dev/null ", "2>&1 Z=$(echo a) ")
_PREFIXES = ("command ", "nohup ", "timeout 5 ", "time ", "env A=1 ", "xargs ", "exec ")
_SUFFIXES = (
    " 2>&1",
    " >/dev/null",
    " </dev/null",
    " <<<a",
    " a 'b c'",
    ' "$x"',
    " `echo a`",
    "\\\n b",
    " <<'E'\n$(x)\nE\n",
    " <<E\n$(echo a)\nE\n",
)
_SPECIAL = "();&|<>{}'\"\\`$#!*?[]~= \n\t"
_WORDS = ("\\\n", "<<E\n", "\nE\n", "$(", "${", "((", "))", ";;", " then ", " fi", " do ", "case ", "esac")


def lines(simple: Sequence[str]) -> SearchStrategy[str]:
    """Lines in which each simple command is one of these, more or less decorated; most are correct."""
    prefix = st.lists(st.sampled_from(_PREFIXES), max_size=2).map("".join)
    suffix = st.lists(st.sampled_from(_SUFFIXES), max_size=2).map("".join)
    parts = st.tuples(st.sampled_from(_SETTINGS), prefix, st.sampled_from(simple), suffix)
    return st.recursive(parts.map("".join), _composed, max_leaves=5)


def _composed(inner: SearchStrategy[str]) -> SearchStrategy[str]:
    joined = st.tuples(inner, st.sampled_from(_JOINTS), inner).map("".join)
    return joined | st.builds(_framed, st.sampled_from(_FRAMES), inner, inner)


def _framed(frame: str, first: str, second: str) -> str:
    return "".join({"X": first, "Y": second}.get(char, char) for char in frame)


@st.composite
def damaged(draw: st.DrawFn, line: SearchStrategy[str]) -> str:
    """Such lines with some characters put in, replaced or taken out."""
    text = draw(line)
    for _ in range(draw(st.integers(0, 3))):
        place = draw(st.integers(0, len(text)))
        piece = draw(st.sampled_from([*_SPECIAL, *_WORDS, ""]))
        text = text[:place] + piece + text[place + draw(st.integers(0, 1)) :]
    return text


def any_text() -> SearchStrategy[str]:
    shellish = st.lists(st.sampled_from([*_SPECIAL, *_WORDS, "a", "rm", "\0", "\r", "é"])).map("".join)
    return st.text() | shellish
