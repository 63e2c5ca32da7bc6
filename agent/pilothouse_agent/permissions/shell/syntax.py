"""Reads bash syntax into simple commands. What it does not know for certain it reports as a doubt."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from pilothouse_agent.permissions.shell.here_documents import HereDocuments
from pilothouse_agent.permissions.shell.script import Assignment, Function, Redirect, Script, SimpleCommand
from pilothouse_agent.permissions.shell.words import Scanner, Unreadable, Word

__all__ = ["read_script"]

_LONGEST = 100_000
_MOST_WORDS = 2_000
"""With redirections and assignments; reading and judging them takes its time."""
_DEEPEST = 24

_BLANKS = re.compile(r"(?:[ \t]|\\\n)+")
_COMMENT = re.compile(r"#[^\n]*")
_RESERVED = re.compile(
    r"(if|then|elif|else|fi|for|while|until|do|done|case|esac|select|function|coproc|time|\{|\}|!|\[\[)"
    r"(?=[ \t\n;&|<>()]|\\\n|$)"
)
_IN = re.compile(r"in(?=[ \t\n;]|$)")
_TIME_OPTIONS = re.compile(r"(?:[ \t]+(?:-p|--)(?=[ \t]))*")
_NAME = re.compile(r"[A-Za-z_]\w*(?=[ \t\n;])")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(?:\[[\w@*]*\])?\+?=")
_REDIRECT = re.compile(r"(?:\d*(<<<|<<-|<<|<>|<&|<(?!\()|>>|>&|>\||>(?!\())|(&>>|&>))")
_TEST_END = re.compile(r"\]\](?=[ \t\n;&|<>()]|$)")
_TEST_OPERATOR = re.compile(r"&&|\|\||[|<>()]")


def read_script(text: str) -> Script:
    """All simple commands of a shell text. Never raises."""
    draft = _Draft()
    try:
        if len(text) > _LONGEST:
            raise Unreadable("its length")
        _Parser(text, draft, depth=0).script()
    except Unreadable as error:
        draft.doubts.append(str(error))
    return draft.script()


@dataclass(slots=True)
class _Command:
    words: list[Word] = field(default_factory=list[Word])
    assignments: list[Assignment] = field(default_factory=list[Assignment])
    redirects: list[Redirect] = field(default_factory=list[Redirect])

    def finished(self) -> SimpleCommand:
        return SimpleCommand(tuple(self.words), tuple(self.assignments), tuple(self.redirects))


@dataclass(slots=True)
class _Draft:
    """What was found so far; here-document bodies are filled in later."""

    commands: list[_Command] = field(default_factory=list[_Command])
    functions: list[tuple[str, int, int]] = field(default_factory=list[tuple[str, int, int]])
    doubts: list[str] = field(default_factory=list[str])
    room: int = _MOST_WORDS

    def use_room(self) -> None:
        self.room -= 1
        if self.room < 0:
            raise Unreadable("its length")

    def script(self) -> Script:
        commands = tuple(command.finished() for command in self.commands)
        functions = tuple(Function(name, commands[start:end]) for name, start, end in self.functions)
        return Script(commands, functions, tuple(dict.fromkeys(self.doubts)))


class _Parser:
    def __init__(self, text: str, draft: _Draft, *, depth: int) -> None:
        if "\0" in text:
            raise Unreadable("a NUL character")
        self._draft = draft
        self._depth = depth
        self._scan = Scanner(text, self._substitution, self._nested, self._deeper)
        self._scan.doubts = draft.doubts
        self._here = HereDocuments(self._scan, self._expanded)

    def script(self) -> None:
        self._skip_lines()
        if not self._scan.ended:
            self._list()
        if not self._scan.ended:
            raise Unreadable(f"an unexpected {self._scan.text[self._scan.pos]!r}")
        self._here.require_none("a here-document without its end")

    @contextmanager
    def _deeper(self) -> Generator[None]:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise Unreadable("its deep nesting")
        yield
        self._depth -= 1

    def _nested(self, text: str) -> None:
        with self._deeper():
            _Parser(text, self._draft, depth=self._depth).script()

    def _substitution(self) -> None:
        self._here.require_none("a substitution behind a here-document")
        with self._deeper():
            self._skip_lines()
            if not self._scan.at(")"):
                self._list()
            self._expect(")")
        self._here.require_none("a here-document without its end")

    def _list(self) -> None:
        """Commands up to a word or sign that ends a list, which is left for the caller to check."""
        while True:
            self._command()
            self._skip_blanks()
            if self._operator("&&", "||", "|&", "|"):
                self._skip_lines()
                continue
            if (
                self._scan.at(";;")
                or self._scan.at(";&")
                or not (self._operator(";", "&") or self._newline())
            ):
                return
            self._skip_lines()
            if self._list_ended():
                return

    def _list_ended(self) -> bool:
        if self._scan.ended or self._scan.at(")") or self._item_ended():
            return True
        return self._reserved() in ("then", "elif", "else", "fi", "do", "done", "esac", "}")

    def _item_ended(self) -> bool:
        return self._scan.at(";;") or self._scan.at(";&")

    def _command(self) -> None:
        self._draft.use_room()
        with self._deeper():
            self._skip_prefixes()
            word = self._reserved()
            if word is None and self._scan.take("(("):
                self._scan.arithmetic()
            elif word is None and self._operator("("):
                self._group(")")
            elif word is None:
                return self._simple()
            else:
                self._compound(word)
            self._trailing_redirects()

    def _skip_prefixes(self) -> None:
        self._skip_blanks()
        while (word := self._reserved()) in ("!", "time"):
            self._scan.take(word)
            if word == "time":
                self._scan.match(_TIME_OPTIONS)
            self._skip_blanks()

    def _compound(self, word: str) -> None:
        self._scan.take(word)
        match word:
            case "{":
                self._group("}")
            case "if":
                self._if()
            case "while" | "until":
                self._list_until("do")
                self._list_until("done")
            case "for" | "select":
                self._for()
            case "case":
                self._case()
            case "[[":
                self._test()
            case "function":
                self._skip_blanks()
                self._function(self._required_word())
            case _:
                raise Unreadable(f"an unexpected {word!r}")

    def _group(self, end: str) -> None:
        self._skip_lines()
        self._list()
        self._expect(end)

    def _list_until(self, word: str) -> None:
        self._skip_lines()
        self._list()
        self._keyword(word)

    def _if(self) -> None:
        self._list_until("then")
        while True:
            self._skip_lines()
            self._list()
            word = self._reserved()
            if word not in ("elif", "else", "fi"):
                raise Unreadable("an if without its fi")
            self._scan.take(word)
            if word == "else":
                return self._list_until("fi")
            if word == "fi":
                return None
            self._list_until("then")

    def _for(self) -> None:
        self._skip_blanks()
        if self._scan.take("(("):
            self._scan.arithmetic(semicolons=True)
        else:
            self._loop_variable()
        self._skip_blanks()
        self._operator(";")
        self._skip_lines()
        self._keyword("do")
        self._list_until("done")

    def _loop_variable(self) -> None:
        name = self._scan.match(_NAME)
        if not name:
            raise Unreadable("an unusual loop variable")
        self._draft.commands.append(_Command(assignments=[Assignment(name[0], Word("", "dynamic"))]))
        self._skip_lines()
        if not self._scan.match(_IN):
            return
        self._skip_blanks()
        while self._scan.word() is not None:
            self._skip_blanks()

    def _case(self) -> None:
        self._skip_blanks()
        self._required_word()
        self._skip_lines()
        if not self._scan.match(_IN):
            raise Unreadable("a case without its in")
        self._skip_lines()
        while self._reserved() != "esac":
            self._case_item()
        self._scan.take("esac")

    def _case_item(self) -> None:
        self._operator("(")
        self._skip_blanks()
        self._required_word()
        self._skip_blanks()
        while self._operator("|"):
            self._skip_blanks()
            self._required_word()
            self._skip_blanks()
        self._expect(")")
        self._skip_lines()
        if not self._list_ended():
            self._list()
        self._skip_lines()
        if not self._operator(";;&", ";;", ";&") and self._reserved() != "esac":
            raise Unreadable("a case without its esac")
        self._skip_lines()

    def _test(self) -> None:
        """`[[ ... ]]`, kept as a command of that name."""
        words = [Word("[[")]
        while True:
            self._skip_lines(comments=False)
            if self._scan.match(_TEST_END):
                break
            if self._scan.at("<(") or self._scan.at(">(") or not self._scan.match(_TEST_OPERATOR):
                if self._scan.at("#"):
                    raise Unreadable("a comment inside [[ ]]")
                words.append(self._required_word())
        self._draft.commands.append(_Command(words))

    def _function(self, name: Word) -> None:
        """A definition, from behind its name on."""
        self._skip_blanks()
        if self._operator("("):
            self._skip_blanks()
            self._expect(")")
        self._skip_lines()
        start = len(self._draft.commands)
        self._command()
        self._draft.functions.append((name.text, start, len(self._draft.commands)))

    def _simple(self) -> None:
        command = _Command()
        start = self._scan.pos
        self._draft.commands.append(command)
        while True:
            self._skip_blanks()
            if self._redirect(command.redirects) or (not command.words and self._assignment(command)):
                continue
            word = self._scan.word() if command.words else self._name(command)
            if word is None:
                break
            command.words.append(word)
            self._draft.use_room()
        if self._scan.at("("):
            self._definition(command)
        elif self._scan.pos == start or not (command.words or command.assignments or command.redirects):
            raise Unreadable("a missing command")

    def _name(self, command: _Command) -> Word | None:
        """A command's name, refused where the shell would first make something else of it."""
        start = self._scan.pos
        if (command.redirects or command.assignments) and self._reserved():
            raise Unreadable(f"{self._reserved()!r} behind a redirection or an assignment")
        word = self._scan.word()
        source = self._scan.text[start : self._scan.pos]
        if "\\\n" in source.rstrip("\\\n"):
            raise Unreadable("a command name over two lines")
        if source.startswith("{") and (self._scan.at("<") or self._scan.at(">")):
            raise Unreadable("a redirection to a named descriptor")
        return word

    def _definition(self, command: _Command) -> None:
        if len(command.words) != 1 or command.assignments or command.redirects:
            raise Unreadable("an unexpected '('")
        self._draft.commands.remove(command)
        self._function(command.words[0])

    def _assignment(self, command: _Command) -> bool:
        found = self._scan.match(_ASSIGNMENT)
        if not found:
            return False
        self._draft.use_room()
        if self._operator("("):
            self._array()
            value = Word("", "dynamic")
        else:
            value = self._scan.word() or Word("")
        command.assignments.append(Assignment(found[1], value))
        return True

    def _array(self) -> None:
        self._skip_lines()
        while not self._operator(")"):
            self._required_word()
            self._skip_lines()

    def _redirect(self, redirects: list[Redirect]) -> bool:
        found = self._scan.match(_REDIRECT)
        if not found:
            return False
        self._refuse_continuation()
        self._skip_blanks()
        self._draft.use_room()
        operator: str = found[1] or found[2]
        start = self._scan.pos
        target = self._required_word()
        if operator in ("<<", "<<-"):
            self._here.announce(target, self._scan.text[start : self._scan.pos], operator, redirects)
            operator = "<<"
        redirects.append(Redirect(operator, target))
        return True

    def _trailing_redirects(self) -> None:
        command = _Command()
        self._skip_blanks()
        while self._redirect(command.redirects):
            self._skip_blanks()
        if command.redirects:
            self._draft.commands.append(command)

    def _newline(self) -> bool:
        if not self._scan.take("\n"):
            return False
        self._here.read()
        return True

    def _expanded(self, text: str) -> Word:
        with self._deeper():
            return _Parser(text, self._draft, depth=self._depth).body()

    def body(self) -> Word:
        return self._scan.body()

    def _reserved(self) -> str | None:
        found = _RESERVED.match(self._scan.text, self._scan.pos)
        return found[1] if found else None

    def _keyword(self, word: str) -> None:
        if self._reserved() != word:
            raise Unreadable(f"a missing {word!r}")
        self._scan.take(word)

    def _expect(self, sign: str) -> None:
        self._skip_blanks()
        if not self._operator(sign):
            raise Unreadable(f"a missing {sign!r}")

    def _operator(self, *signs: str) -> bool:
        taken = any(self._scan.take(sign) for sign in signs)
        if taken:
            self._refuse_continuation()
        return taken

    def _refuse_continuation(self) -> None:
        # The shell joins the lines first, which may make another operator of this one.
        if self._scan.at("\\\n"):
            raise Unreadable("an operator at a joined line")

    def _required_word(self) -> Word:
        word = self._scan.word()
        if word is None:
            raise Unreadable("a missing word")
        return word

    def _skip_blanks(self, *, comments: bool = True) -> None:
        self._scan.match(_BLANKS)
        if comments and self._token_starts():
            self._scan.match(_COMMENT)

    def _token_starts(self) -> bool:
        return self._scan.pos == 0 or self._scan.text[self._scan.pos - 1] in " \t\n;&|<>()"

    def _skip_lines(self, *, comments: bool = True) -> None:
        self._skip_blanks(comments=comments)
        while self._newline():
            self._skip_blanks(comments=comments)
