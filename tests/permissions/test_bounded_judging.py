"""No command and no rule takes long to judge: what is too much is asked about."""

from __future__ import annotations

import pytest

from pilothouse_agent.kernel.json_types import JsonObject
from support.judging import command, pipeline

RULES: JsonObject = {"git push": "deny", "*a*a*a*b": "deny", "rm -rf *": "deny", "npm *": "allow"}
LENGTH = 99_000


def many(text: str) -> str:
    return text * (LENGTH // len(text))


@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    "line",
    [
        many("$("),
        "echo " + many("${x:"),
        "echo " + many('"${a'),
        "echo $((" + many("$(("),
        "echo `" + many("\\`"),
        "echo " + many("{a,b}"),
        "cat <<a\n" + many("$(cat <<b\n"),
        "sed -n '1" + many(" ") + "'",
        "sed 's/" + many("\\a"),
        "find " + many("-exec a "),
        "find " + many("-exec a ; "),
        "a " + many(">b "),
        many("a=b "),
        many("sudo "),
        many("eval "),
        many("bash -c '"),
        "$x " + many("rm "),
        "(" + many("rm -r a "),
        "echo " + "a" * 1_000_000,
    ],
    ids=lambda line: str(line)[:16],
)
def test_a_command_made_to_be_hard_is_asked_about(line: str) -> None:
    made = pipeline({"commands": RULES, "readOnlyCommands": "allow"})

    assert made.judge(command(line)).decision == "ask"


@pytest.mark.timeout(10)
@pytest.mark.parametrize("pattern", ["*a" * 400 + "*b", "**/a/" * 190 + "b", "a**" * 300, "[" * 900])
def test_no_rule_takes_long_to_match(pattern: str) -> None:
    made = pipeline({"commands": {pattern: "deny"}, "paths": {pattern: "deny"}})

    assert made.judge(command("echo " + "a" * 90_000 + " " + "a/" * 2_000)).decision == "ask"


@pytest.mark.timeout(10)
def test_a_command_that_cannot_be_read_for_its_length_is_still_searched_for_what_is_denied() -> None:
    made = pipeline({"commands": RULES})

    assert made.judge(command("git push; " + many("a b; "))).decision == "deny"


@pytest.mark.parametrize(
    ("before", "after", "deepest"),
    [("( ", " )", 23), ("{ ", "; }", 23), ("env ", "", 8)],
    ids=["groups in (…)", "groups in {…}", "commands that run commands"],
)
def test_nesting_is_judged_down_to_a_depth_and_asked_about_below_it(
    before: str, after: str, deepest: int
) -> None:
    made = pipeline({"readOnlyCommands": "allow"})

    deep = made.judge(command(before * deepest + "ls" + after * deepest))
    deeper = made.judge(command(before * (deepest + 1) + "ls" + after * (deepest + 1)))

    assert deep.decision == "allow"
    assert (deeper.decision, deeper.reason) == ("ask", "It cannot be judged because of its deep nesting.")
