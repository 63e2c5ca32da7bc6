"""Which options of a program are known to be harmless, and a command's arguments read by them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pilothouse_agent.permissions.shell.words import Word

__all__ = ["AcceptedOptions", "Arguments"]


@dataclass(frozen=True, slots=True)
class Arguments:
    operands: tuple[str, ...]
    options: tuple[tuple[str, str | None], ...]
    """Names with their dashes, one letter each for clusters; and values."""

    def values(self, *names: str) -> list[str]:
        return [value for name, value in self.options if name in names and value is not None]


@dataclass(frozen=True, slots=True)
class AcceptedOptions:
    """Everything that is not listed is refused, so that new and unknown options are."""

    flags: str = ""
    """Letters of options without a value."""
    valued: str = ""
    """Letters of options whose value is glued on or the next word."""
    words: str = ""
    """Whole options separated by blanks; with `=` at the end those that take a value."""
    digits: bool = False
    """`-5` is an option."""
    operands: int | None = None
    """At most so many, None for any number."""
    operands_need: str = ""
    """Options separated by blanks; without one of them no operand is accepted."""

    def read(self, words: Sequence[Word]) -> Arguments | None:
        """None when a word is not known to be harmless."""
        draft = _Draft()
        index = 0
        while index < len(words) and words[index].text != "--":
            width = self._read_one(words, index, draft)
            if width is None or index + width > len(words):
                return None
            index += width
        draft.operands += [word.text for word in words[index + 1 :]]
        return draft.arguments() if self._accepts(draft, words) else None

    def _accepts(self, draft: _Draft, words: Sequence[Word]) -> bool:
        if any(word.kind in ("number", "dynamic") or _may_be_option(word) for word in words):
            return False
        if self.operands is not None:
            several = any(word.kind == "glob" for word in words)
            return not several and len(draft.operands) <= self.operands
        needed = self.operands_need.split()
        return not (needed and draft.operands) or any(name in needed for name, _ in draft.options)

    def _read_one(self, words: Sequence[Word], index: int, draft: _Draft) -> int | None:
        """Read the option or operand at `index`; how many words it takes, None when it is refused."""
        text = words[index].text
        if not text.startswith("-") or text == "-":
            draft.operands.append(text)
            return 1
        accepted = self.words.split()
        name, equals, value = text.partition("=")
        if text in accepted:
            draft.options.append((text, None))
            return 1
        if name + "=" in accepted:
            return draft.add(name, value if equals else None, words, index)
        if self.digits and text[1:].isdecimal():
            return 1
        return None if text.startswith("--") else self._read_cluster(words, index, draft)

    def _read_cluster(self, words: Sequence[Word], index: int, draft: _Draft) -> int | None:
        letters = words[index].text[1:]
        for place, letter in enumerate(letters, start=1):
            if letter in self.valued:
                return draft.add(f"-{letter}", letters[place:] or None, words, index)
            if letter not in self.flags:
                return None
            draft.options.append((f"-{letter}", None))
        return 1


@dataclass(slots=True)
class _Draft:
    operands: list[str] = field(default_factory=list[str])
    options: list[tuple[str, str | None]] = field(default_factory=list[tuple[str, str | None]])

    def add(self, name: str, glued: str | None, words: Sequence[Word], index: int) -> int | None:
        """Add an option with its value; None when what follows may not be meant as its value."""
        if glued is not None:
            self.options.append((name, glued))
            return 1
        value = words[index + 1].text if index + 1 < len(words) else "-"
        self.options.append((name, value))
        return None if value.startswith("-") and not value[1:2].isdecimal() else 2

    def arguments(self) -> Arguments:
        return Arguments(tuple(self.operands), tuple(self.options))


def _may_be_option(word: Word) -> bool:
    """File names that begin with a dash may take the pattern's place."""
    return word.kind == "glob" and word.text[0] in "-*?["
