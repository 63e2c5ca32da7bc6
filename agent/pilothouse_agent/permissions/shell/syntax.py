"""Reads bash syntax into simple commands. What it does not know for certain it reports as a doubt."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager

from pilothouse_agent.permissions.shell.draft import Command, Draft
from pilothouse_agent.permissions.shell.here_documents import HereDocuments
from pilothouse_agent.permissions.shell.script import Assignment, Redirect, Script
from pilothouse_agent.permissions.shell.tokens import Tokens
from pilothouse_agent.permissions.shell.words import Scanner, Unreadable, Word

__all__ = ["read_script"]

_LONGEST = 100_000
_DEEPEST = 24

_IN = re.compile(r"in(?=[ \t\n;]|$)")
_TIME_OPTIONS = re.compile(r"(?:[ \t]+(?:-p|--)(?=[ \t]))*")
_NAME = re.compile(r"[A-Za-z_]\w*(?=[ \t\n;])")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(?:\[[\w@*]*\])?\+?=")
_REDIRECT = re.compile(r"(?:\d*(<<<|<<-|<<|<>|<&|<(?!\()|>>|>&|>\||>(?!\())|(&>>|&>))")
_TEST_END = re.compile(r"\]\](?=[ \t\n;&|<>()]|$)")
_TEST_OPERATOR = re.compile(r"&&|\|\||[|<>()]")


def read_script(text: str) -> Script:
    """All simple commands of a shell text. Never raises."""
    draft = Draft()
    try:
        if len(text) > _LONGEST:
            raise Unreadable("its length")
        _Parser(text, draft, depth=0).script()
    except Unreadable as error:
        draft.doubts.append(str(error))
    return draft.script()


class _Parser:
    def __init__(self, text: str, draft: Draft, *, depth: int) -> None:
        if "\0" in text:
            raise Unreadable("a NUL character")
        self._draft = draft
        self._depth = depth
        self._scan = Scanner(text, self._substitution, self._nested, self._deeper)
        self._scan.doubts = draft.doubts
        self._here = HereDocuments(self._scan, self._expanded)
        self._tokens = Tokens(self._scan, self._here)

    def script(self) -> None:
        self._tokens.skip_lines()
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
            self._tokens.skip_lines()
            if not self._scan.at(")"):
                self._list()
            self._tokens.expect(")")
        self._here.require_none("a here-document without its end")

    def _list(self) -> None:
        """Commands up to a word or sign that ends a list, which is left for the caller to check."""
        while True:
            self._command()
            self._tokens.skip_blanks()
            if self._tokens.operator("&&", "||", "|&", "|"):
                self._tokens.skip_lines()
                continue
            if (
                self._scan.at(";;")
                or self._scan.at(";&")
                or not (self._tokens.operator(";", "&") or self._tokens.newline())
            ):
                return
            self._tokens.skip_lines()
            if self._list_ended():
                return

    def _list_ended(self) -> bool:
        if self._scan.ended or self._scan.at(")") or self._item_ended():
            return True
        return self._tokens.reserved() in ("then", "elif", "else", "fi", "do", "done", "esac", "}")

    def _item_ended(self) -> bool:
        return self._scan.at(";;") or self._scan.at(";&")

    def _command(self) -> None:
        self._draft.use_room()
        with self._deeper():
            self._skip_prefixes()
            word = self._tokens.reserved()
            if word is None and self._scan.take("(("):
                self._scan.arithmetic()
            elif word is None and self._tokens.operator("("):
                self._group(")")
            elif word is None:
                return self._simple()
            else:
                self._compound(word)
            self._trailing_redirects()

    def _skip_prefixes(self) -> None:
        self._tokens.skip_blanks()
        while (word := self._tokens.reserved()) in ("!", "time"):
            self._scan.take(word)
            if word == "time":
                self._scan.match(_TIME_OPTIONS)
            self._tokens.skip_blanks()

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
                self._tokens.skip_blanks()
                self._function(self._tokens.required_word())
            case _:
                raise Unreadable(f"an unexpected {word!r}")

    def _group(self, end: str) -> None:
        self._tokens.skip_lines()
        self._list()
        self._tokens.expect(end)

    def _list_until(self, word: str) -> None:
        self._tokens.skip_lines()
        self._list()
        self._tokens.keyword(word)

    def _if(self) -> None:
        self._list_until("then")
        while True:
            self._tokens.skip_lines()
            self._list()
            word = self._tokens.reserved()
            if word not in ("elif", "else", "fi"):
                raise Unreadable("an if without its fi")
            self._scan.take(word)
            if word == "else":
                return self._list_until("fi")
            if word == "fi":
                return None
            self._list_until("then")

    def _for(self) -> None:
        self._tokens.skip_blanks()
        if self._scan.take("(("):
            self._scan.arithmetic(semicolons=True)
        else:
            self._loop_variable()
        self._tokens.skip_blanks()
        self._tokens.operator(";")
        self._tokens.skip_lines()
        self._tokens.keyword("do")
        self._list_until("done")

    def _loop_variable(self) -> None:
        name = self._scan.match(_NAME)
        if not name:
            raise Unreadable("an unusual loop variable")
        self._draft.commands.append(Command(assignments=[Assignment(name[0], Word("", "dynamic"))]))
        self._tokens.skip_lines()
        if not self._scan.match(_IN):
            return
        self._tokens.skip_blanks()
        while self._scan.word() is not None:
            self._tokens.skip_blanks()

    def _case(self) -> None:
        self._tokens.skip_blanks()
        self._tokens.required_word()
        self._tokens.skip_lines()
        if not self._scan.match(_IN):
            raise Unreadable("a case without its in")
        self._tokens.skip_lines()
        while self._tokens.reserved() != "esac":
            self._case_item()
        self._scan.take("esac")

    def _case_item(self) -> None:
        self._tokens.operator("(")
        self._tokens.skip_blanks()
        self._tokens.required_word()
        self._tokens.skip_blanks()
        while self._tokens.operator("|"):
            self._tokens.skip_blanks()
            self._tokens.required_word()
            self._tokens.skip_blanks()
        self._tokens.expect(")")
        self._tokens.skip_lines()
        if not self._list_ended():
            self._list()
        self._tokens.skip_lines()
        if not self._tokens.operator(";;&", ";;", ";&") and self._tokens.reserved() != "esac":
            raise Unreadable("a case without its esac")
        self._tokens.skip_lines()

    def _test(self) -> None:
        """`[[ ... ]]`, kept as a command of that name."""
        words = [Word("[[")]
        while True:
            self._tokens.skip_lines(comments=False)
            if self._scan.match(_TEST_END):
                break
            if self._scan.at("<(") or self._scan.at(">(") or not self._scan.match(_TEST_OPERATOR):
                if self._scan.at("#"):
                    raise Unreadable("a comment inside [[ ]]")
                words.append(self._tokens.required_word())
        self._draft.commands.append(Command(words))

    def _function(self, name: Word) -> None:
        """A definition, from behind its name on."""
        self._tokens.skip_blanks()
        if self._tokens.operator("("):
            self._tokens.skip_blanks()
            self._tokens.expect(")")
        self._tokens.skip_lines()
        start = len(self._draft.commands)
        self._command()
        self._draft.functions.append((name.text, start, len(self._draft.commands)))

    def _simple(self) -> None:
        command = Command()
        start = self._scan.pos
        self._draft.commands.append(command)
        while True:
            self._tokens.skip_blanks()
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

    def _name(self, command: Command) -> Word | None:
        """A command's name, refused where the shell would first make something else of it."""
        start = self._scan.pos
        if (command.redirects or command.assignments) and self._tokens.reserved():
            raise Unreadable(f"{self._tokens.reserved()!r} behind a redirection or an assignment")
        word = self._scan.word()
        source = self._scan.text[start : self._scan.pos]
        if "\\\n" in source.rstrip("\\\n"):
            raise Unreadable("a command name over two lines")
        if source.startswith("{") and (self._scan.at("<") or self._scan.at(">")):
            raise Unreadable("a redirection to a named descriptor")
        return word

    def _definition(self, command: Command) -> None:
        if len(command.words) != 1 or command.assignments or command.redirects:
            raise Unreadable("an unexpected '('")
        self._draft.commands.remove(command)
        self._function(command.words[0])

    def _assignment(self, command: Command) -> bool:
        found = self._scan.match(_ASSIGNMENT)
        if not found:
            return False
        self._draft.use_room()
        if self._tokens.operator("("):
            self._array()
            value = Word("", "dynamic")
        else:
            value = self._scan.word() or Word("")
        command.assignments.append(Assignment(found[1], value))
        return True

    def _array(self) -> None:
        self._tokens.skip_lines()
        while not self._tokens.operator(")"):
            self._tokens.required_word()
            self._tokens.skip_lines()

    def _redirect(self, redirects: list[Redirect]) -> bool:
        found = self._scan.match(_REDIRECT)
        if not found:
            return False
        self._tokens.refuse_continuation()
        self._tokens.skip_blanks()
        self._draft.use_room()
        operator: str = found[1] or found[2]
        start = self._scan.pos
        target = self._tokens.required_word()
        if operator in ("<<", "<<-"):
            self._here.announce(target, self._scan.text[start : self._scan.pos], operator, redirects)
            operator = "<<"
        redirects.append(Redirect(operator, target))
        return True

    def _trailing_redirects(self) -> None:
        command = Command()
        self._tokens.skip_blanks()
        while self._redirect(command.redirects):
            self._tokens.skip_blanks()
        if command.redirects:
            self._draft.commands.append(command)

    def _expanded(self, text: str) -> Word:
        with self._deeper():
            return _Parser(text, self._draft, depth=self._depth).body()

    def body(self) -> Word:
        return self._scan.body()
