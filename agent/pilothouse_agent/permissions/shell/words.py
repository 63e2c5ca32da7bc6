"""Words of a shell line: quotes and escapes resolved, expansions marked, substitutions handed on."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Literal

__all__ = ["Scanner", "Unreadable", "Word", "WordKind"]

WordKind = Literal["literal", "glob", "number", "dynamic"]

_PLAIN = re.compile(r"[^\x00-\x20\x7f;&|<>()\\'\"$`*?\[{]+")
_QUOTED_PLAIN = re.compile(r'[^"\\$`]+')
_BODY_PLAIN = re.compile(r"[^\\$`]+")
_PARAMETER_PLAIN = re.compile(r"[^}\\$`\"'<>{]+")
_ARITHMETIC_PLAIN = re.compile(r"[\w\s+*/%<>=!&|^~?:,#.-]+")
_VARIABLE = re.compile(r"\$(?:[A-Za-z_]\w*|[0-9@*#?$!-])")
_PARAMETER = re.compile(
    r"\$\{[!#]?(?:[A-Za-z_]\w*|[0-9]+|[@*#?$!-])(?P<index>\[[@*\w]*\])?(?=[-}:=?+#%/^,@])"
)
_ANSI = re.compile(r"\$'(?:[^'\\]|\\.)*'", re.DOTALL)
_BACKQUOTED = re.compile(r"`((?:[^`\\]|\\.)*)`", re.DOTALL)
_NAMED_INDEX = re.compile(r"\[(?![@*]?\]|[0-9]+\])")
_NAMED_OFFSET = re.compile(r":(?![-=?+])[^}]*[A-Za-z_$`]")
_LITERAL_BRACES = re.compile(r"\{[\w-]*\}")

_NUMBER = re.compile(r"\b(?:0[xX][0-9a-fA-F]+|[0-9]+#[0-9A-Za-z_]+|[0-9]+)\b")
_NAMED = re.compile(r"[^\W\d]")

_ARITHMETIC_DOUBT = "arithmetic on variables, which can run commands hidden in their values"


class Unreadable(Exception):
    """Syntax that is not understood here; the message says what it is."""


@dataclass(frozen=True, slots=True)
class Word:
    text: str
    """Without quotes and escapes. What only the running shell knows stands as it was written."""
    kind: WordKind = "literal"
    """glob: file names may take its place; number: holds what the shell works out of literal numbers;
    dynamic: anything may stand there, also no word or several."""


@dataclass(slots=True)
class _Draft:
    pieces: list[str] = field(default_factory=list[str])
    glob: bool = False
    number: bool = False
    dynamic: bool = False

    def add(self, text: str) -> None:
        self.pieces.append(text)

    def add_dynamic(self, source: str) -> None:
        self.pieces.append(source)
        self.dynamic = True

    def add_number(self, source: str) -> None:
        self.pieces.append(source)
        self.number = True

    def add_glob(self, char: str) -> None:
        self.pieces.append(char)
        self.glob = True

    def word(self) -> Word:
        text = "".join(self.pieces)
        return Word(text, self._kind(text))

    def _kind(self, text: str) -> WordKind:
        if self.dynamic or (self.number and self.glob):
            return "dynamic"
        if self.number:
            return "number"
        return "glob" if self.glob and text != "[" else "literal"


class Scanner:
    """A position in a text, and the reading of words from there. All methods raise `Unreadable`.

    `substitution` reads the commands of `$(` up to and with its `)`; `nested` reads a text of its own;
    `deeper` is entered for what may hold itself, and bounds how deep that goes.
    """

    def __init__(
        self,
        text: str,
        substitution: Callable[[], None],
        nested: Callable[[str], None],
        deeper: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self.text = text
        self.pos = 0
        self.doubts: list[str] = []
        """What was read but may still run something that cannot be seen."""
        self._substitution = substitution
        self._nested = nested
        self._deeper = deeper

    @property
    def ended(self) -> bool:
        return self.pos >= len(self.text)

    def at(self, token: str) -> bool:
        return self.text.startswith(token, self.pos)

    def take(self, token: str) -> bool:
        if not self.at(token):
            return False
        self.pos += len(token)
        return True

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Match here and move behind it."""
        found = pattern.match(self.text, self.pos)
        if found:
            self.pos = found.end()
        return found

    def word(self) -> Word | None:
        """The word that begins here; None at a blank, an operator or the end."""
        draft = _Draft()
        start = self.pos
        while not self.ended and self._piece(draft):
            pass
        return draft.word() if self.pos > start else None

    def body(self) -> Word:
        """The whole text as the body of a here-document with expansions."""
        draft = _Draft()
        while not self.ended:
            if plain := self.match(_BODY_PLAIN):
                draft.add(plain[0])
            elif self.at("\\"):
                draft.add(self._taken(2))
            elif self.at("$"):
                self._dollar(draft, quoted=True)
            else:
                self._backquotes(draft, quoted=True)
        return draft.word()

    def arithmetic(self, *, semicolons: bool = False) -> bool:
        """What follows `((`, up to and with its `))`; whether it is about literal numbers only."""
        depth = 0
        literal = True
        while not (depth == 0 and self.at(")")):
            if plain := self.match(_ARITHMETIC_PLAIN):
                literal = literal and _NAMED.search(_NUMBER.sub(" ", plain[0])) is None
            elif semicolons and self.take(";"):
                continue
            elif self.take("("):
                depth += 1
            elif self.take(")"):
                depth -= 1
            else:
                inner = _Draft()
                self._expansion(inner, "arithmetic")
                literal = literal and inner.number and not inner.dynamic
        if not literal:
            self.doubts.append(_ARITHMETIC_DOUBT)
        if not self.take("))"):
            raise Unreadable("double parentheses that may be arithmetic or commands")
        return literal

    def _piece(self, draft: _Draft) -> bool:
        """Read one piece of a word into `draft`; False where the word ends."""
        if plain := self.match(_PLAIN):
            draft.add(plain[0])
            return True
        match self.text[self.pos]:
            case "<" | ">" if self.text.startswith("(", self.pos + 1):
                self._process(draft)
            case " " | "\t" | "\n" | ";" | "&" | "|" | "<" | ">" | "(" | ")":
                return False
            case "*" | "?" | "[":
                draft.add_glob(self._taken(1))
            case "\\":
                self._escape(draft)
            case "'":
                self._single(draft)
            case '"':
                self._double(draft)
            case "$":
                self._unquoted_dollar(draft)
            case "`":
                self._backquotes(draft, quoted=False)
            case "{":
                self._brace(draft)
            case char:
                raise Unreadable(f"the control character {char!r}")
        return True

    def _taken(self, length: int) -> str:
        if self.pos + length > len(self.text):
            raise Unreadable("a backslash at the end")
        self.pos += length
        return self.text[self.pos - length : self.pos]

    def _escape(self, draft: _Draft) -> None:
        escaped = self._taken(2)[1]
        if escaped != "\n":
            draft.add(escaped)

    def _single(self, draft: _Draft) -> None:
        end = self.text.find("'", self.pos + 1)
        if end < 0:
            raise Unreadable("a quote that is not closed")
        draft.add(self.text[self.pos + 1 : end])
        self.pos = end + 1

    def _double(self, draft: _Draft) -> None:
        self.pos += 1
        while not self.take('"'):
            if plain := self.match(_QUOTED_PLAIN):
                draft.add(plain[0])
            elif self.at("\\"):
                pair = self._taken(2)
                draft.add("" if pair[1] == "\n" else pair[1] if pair[1] in '$`"\\' else pair)
            else:
                self._expansion(draft, "a quote that is not closed")

    def _expansion(self, draft: _Draft, otherwise: str) -> None:
        if self.at("$"):
            self._dollar(draft, quoted=True)
        elif self.at("`"):
            self._backquotes(draft, quoted=True)
        else:
            raise Unreadable(otherwise)

    def _unquoted_dollar(self, draft: _Draft) -> None:
        """Shells do not agree on `$'...'` and `$"..."`, so their values are taken for unknown."""
        start = self.pos
        if self.at("$'"):
            if not self.match(_ANSI):
                raise Unreadable("a quote that is not closed")
        elif self.at('$"'):
            self.pos += 1
            self._double(_Draft())
        else:
            return self._dollar(draft, quoted=False)
        draft.add_dynamic(self.text[start : self.pos])

    def _dollar(self, draft: _Draft, *, quoted: bool) -> None:
        start = self.pos
        if self.at("$\\\n") or self.at("$["):
            raise Unreadable("an unusual expansion")
        if self.at("${"):
            with self._deeper():
                self._parameter(quoted=quoted)
        elif self.take("$(("):
            with self._deeper():
                literal = self.arithmetic()
            if literal:
                draft.add_number(self.text[start : self.pos])
                return
        elif self.take("$("):
            self._substitution()
        elif not self.match(_VARIABLE):
            draft.add(self._taken(1))
            return
        draft.add_dynamic(self.text[start : self.pos])

    def _parameter(self, *, quoted: bool) -> None:
        """`${...}`: only what it may run matters, its value is unknown anyway."""
        name = self.match(_PARAMETER)
        if not name:
            raise Unreadable("an unusual ${} expansion")
        if _NAMED_INDEX.match(name["index"] or "") or _NAMED_OFFSET.match(self.text, self.pos):
            self.doubts.append(_ARITHMETIC_DOUBT)
        while not self.take("}"):
            if self.match(_PARAMETER_PLAIN):
                continue
            if self.at("\\"):
                self._taken(2)
            elif self.at('"') and not quoted:
                self._double(_Draft())
            else:
                self._expansion(_Draft(), "an unusual ${} expansion")

    def _backquotes(self, draft: _Draft, *, quoted: bool) -> None:
        found = self.match(_BACKQUOTED)
        if not found or (quoted and '\\"' in found[1]):
            raise Unreadable("unusual backquotes")
        self._nested(re.sub(r"\\([\\`$])", r"\1", found[1]))
        draft.add_dynamic(found[0])

    def _process(self, draft: _Draft) -> None:
        start = self.pos
        self.pos += 2
        self._substitution()
        draft.add_dynamic(self.text[start : self.pos])

    def _brace(self, draft: _Draft) -> None:
        if literal := self.match(_LITERAL_BRACES):
            draft.add(literal[0])
        else:
            draft.add_dynamic(self._taken(1))
