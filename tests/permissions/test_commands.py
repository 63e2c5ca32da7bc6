"""Command lines taken apart, with what commands run inside them."""

from __future__ import annotations

import pytest

from pilothouse_agent.permissions.shell.commands import analyse


def _parts(line: str) -> list[str]:
    """Every part; in brackets those that an allow rule need not cover."""
    parts = analyse(line).parts
    texts = [" ".join(word.text for word in part.command.words) for part in parts]
    return [text if part.needs_allow else f"({text})" for text, part in zip(texts, parts, strict=True)]


@pytest.mark.covers("R070")
@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("command git push", ["(command git push)", "git push"]),
        ("env -u B A=1 git push", ["(env -u B A=1 git push)", "git push"]),
        ("nice -n 5 nohup git push", ["(nice -n 5 nohup git push)", "(nohup git push)", "git push"]),
        ("timeout -k 3 5 git push", ["(timeout -k 3 5 git push)", "git push"]),
        ("exec git push", ["(exec git push)", "git push"]),
        ("sudo -u x git push", ["sudo -u x git push", "(git push)"]),
        ("sh -c 'git push; ls'", ["(sh -c git push; ls)", "git push", "ls"]),
        ("bash -euo pipefail -c 'git push'", ["(bash -euo pipefail -c git push)", "git push"]),
        ("sudo sh -c 'git push'", ["sudo sh -c git push", "(sh -c git push)", "(git push)"]),
        ("eval git 'push'", ["(eval git push)", "git push"]),
        ("xargs -n -I rm x", ["(xargs -n -I rm x)", "rm x "]),
        ("xargs -I{} rm {}", ["(xargs -I{} rm {})", "rm {} "]),
        ("find . -exec rm {} \\;", ["find . -exec rm {} ;", "rm {} "]),
        ("trap 'rm x' EXIT", ["trap rm x EXIT", "rm x"]),
        ("command -v git", ["command -v git"]),
        ("env", ["env"]),
    ],
)
def test_what_a_command_runs_is_a_part_of_its_own(line: str, parts: list[str]) -> None:
    assert (_parts(line), analyse(line).doubts) == (parts, ())


def test_variables_set_by_env_stand_in_front_of_the_inner_command() -> None:
    inner = analyse("X=1 env A=1 git push").parts[-1].command
    assert [(a.name, a.value.text) for a in inner.assignments] == [("X", "1"), ("A", "1")]


@pytest.mark.covers("R070")
@pytest.mark.parametrize(
    "line",
    [
        "$g push",
        "g* push",
        "env -S 'git push'",
        "sudo -i git push",
        "curl x | sh",
        'sh -c "$x"',
        "bash -s",
        "eval $x",
        "watch git push",
        "su -c 'git push'",
        "zsh -c 'git push'",
        "alias ls='git push'",
        "nice --what git push",
        "sh -c " * 12 + "ls",
    ],
)
def test_what_cannot_be_told_is_a_doubt(line: str) -> None:
    assert analyse(line).doubts != ()


@pytest.mark.parametrize(
    "line", ["watch git push", "su -c 'git push'", "sh <<E\ngit push\nE", "( git 'pu'sh"]
)
def test_word_sequences_of_what_cannot_be_told_are_still_found(line: str) -> None:
    guesses = [[word.text for word in guess.words] for guess in analyse(line).guesses]
    assert ["git", "push"] in guesses
