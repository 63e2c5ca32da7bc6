"""The pipeline: defaults, modes, answers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pilothouse_agent.kernel.events import Option
from pilothouse_agent.kernel.questions import PermissionRequest, Verdict
from pilothouse_agent.kernel.tooling import Footprint, Touch
from pilothouse_agent.permissions.approval_mode import ApprovalMode
from pilothouse_agent.permissions.pipeline import Pipeline
from support.judging import WORKSPACE, command, pipeline, request, touching

READ = touching("read_file", "read", reads="a.py")
GREP = request("grep", "search", Footprint(reads=(Touch(WORKSPACE, subtree=True),)))
TODO = request("todo_write", "think")
EDIT = touching("edit_file", "edit", writes="src/a.py")
DELETE = touching("delete_file", "delete", writes="a.py")
MOVE = touching("move_file", "move", writes="a.py b.py")
FETCH = request("web_fetch", "fetch", arguments={"url": "http://x"})
BASH = command("make test")
LOOK = command("git status")
READ_OUTSIDE = touching("read_file", "read", reads="/etc/hosts")
EDIT_OUTSIDE = touching("edit_file", "edit", writes="/etc/hosts")
EDIT_SETTINGS = touching("edit_file", "edit", writes=".git/config")

CALLS = {
    "read": READ,
    "grep": GREP,
    "todo": TODO,
    "edit": EDIT,
    "delete": DELETE,
    "move": MOVE,
    "fetch": FETCH,
    "bash": BASH,
    "look": LOOK,
    "read outside": READ_OUTSIDE,
    "edit outside": EDIT_OUTSIDE,
    "edit .git": EDIT_SETTINGS,
}


def _allowed(made: Pipeline) -> set[str]:
    return {name for name, call in CALLS.items() if made.judge(call).decision == "allow"}


def _others(made: Pipeline) -> set[str]:
    return {made.judge(CALLS[name]).decision for name in CALLS.keys() - _allowed(made)}


@pytest.mark.covers("R092", "P1")
def test_without_settings_reading_in_the_workspace_runs_and_everything_else_asks() -> None:
    made = pipeline()
    assert (_allowed(made), _others(made)) == ({"read", "grep", "todo"}, {"ask"})


@pytest.mark.covers("P4")
def test_with_nobody_to_ask_everything_that_would_ask_is_denied_with_a_reason() -> None:
    made = pipeline(mode=ApprovalMode.NONE)
    assert (_allowed(made), _others(made)) == ({"read", "grep", "todo"}, {"deny"})
    assert made.judge(BASH).reason == (
        "Not allowed: no rule allows `make test`. In this session nobody is asked, so the answer is no. "
        "Go on without it, or tell the user what would have to be allowed."
    )


def test_the_edits_mode_adds_changes_of_plain_files_in_the_workspace() -> None:
    made = pipeline(mode=ApprovalMode.EDITS)
    assert (_allowed(made), _others(made)) == ({"read", "grep", "todo", "edit", "delete", "move"}, {"ask"})


def test_the_edits_mode_lifts_no_ask_rule() -> None:
    made = pipeline({"paths": {"src/**": "ask"}}, mode=ApprovalMode.EDITS)
    assert made.judge(EDIT).decision == "ask"


def test_the_all_mode_allows_what_would_ask_but_nothing_that_is_denied() -> None:
    made = pipeline({"tools": {"web_fetch": "deny"}}, mode=ApprovalMode.ALL)
    assert (_allowed(made), _others(made)) == (set(CALLS) - {"fetch"}, {"deny"})


@pytest.mark.covers("R094")
def test_the_read_only_mode_refuses_commands_not_known_to_be_read_only_whatever_rules_say() -> None:
    made = pipeline({"commands": {"python3": "allow"}}, mode=ApprovalMode.READ_ONLY)
    verdict = made.judge(command("python3 -c \"open('j','w').write('x')\""))
    assert (verdict.decision, verdict.reason.partition(",")[0]) == (
        "deny",
        "Refused: this session is in read-only mode",
    )


@pytest.mark.covers("R094")
def test_the_read_only_mode_denies_changes_and_asks_about_the_rest() -> None:
    made = pipeline({"tools": {"*": "allow"}, "readOnlyCommands": "allow"}, mode=ApprovalMode.READ_ONLY)
    decisions = {name: made.judge(call).decision for name, call in CALLS.items()}
    assert decisions == {
        "read": "allow",
        "grep": "allow",
        "todo": "allow",
        "edit": "deny",
        "delete": "deny",
        "move": "deny",
        "fetch": "allow",
        "bash": "deny",
        "look": "allow",
        "read outside": "ask",
        "edit outside": "deny",
        "edit .git": "deny",
    }


@pytest.mark.covers("R076")
def test_a_question_names_exactly_the_rule_that_always_would_save() -> None:
    made = pipeline()
    first, second = command("python3 -c 'print(1)'"), command("python3 evil.py")
    assert made.judge(first) == Verdict(
        "ask",
        "No rule allows `python3 -c print(1)`.",
        "medium",
        (
            Option("allow", "Allow", "allowOnce"),
            Option(
                "allowSession",
                "Allow for this session",
                "allowAlways",
                "exactly this command: python3 -c 'print(1)'",
            ),
            Option("reject", "Reject", "rejectOnce"),
        ),
    )
    assert made.settle(first, "allowSession")
    assert made.remembered == ("exactly this command: python3 -c 'print(1)'",)
    assert [made.judge(call).decision for call in (first, second)] == ["allow", "ask"]


@pytest.mark.covers("R076")
@pytest.mark.parametrize(
    ("answered", "scope", "covered", "not_covered"),
    [
        (EDIT, "any edit of src/a.py", touching("write_file", "edit", writes="src/a.py"), DELETE),
        (
            touching("write_file", "edit", writes="new/b.py new"),
            "any edit of new/b.py",
            touching("edit_file", "edit", writes="new/b.py"),
            touching("edit_file", "edit", writes="new/c.py"),
        ),
        (DELETE, "delete_file with exactly these paths: a.py", DELETE, EDIT),
        (
            READ_OUTSIDE,
            "read_file with exactly these paths: /etc/hosts",
            READ_OUTSIDE,
            touching("read_file", "read", reads="/etc/passwd"),
        ),
        (
            FETCH,
            'web_fetch with exactly these arguments: {"url": "http://x"}',
            FETCH,
            request("web_fetch", "fetch", arguments={"url": "http://y"}),
        ),
    ],
)
def test_a_lasting_answer_covers_what_its_scope_says(
    answered: PermissionRequest, scope: str, covered: PermissionRequest, not_covered: PermissionRequest
) -> None:
    made = pipeline()
    offered = made.judge(answered).options[1]
    assert offered.scope == scope
    assert made.settle(answered, offered.id)
    assert [made.judge(call).decision for call in (answered, covered, not_covered)] == [
        "allow",
        "allow",
        "ask",
    ]


@pytest.mark.covers("R076")
def test_an_edit_is_allowed_once_for_its_file_or_for_the_session() -> None:
    made = pipeline()
    assert made.judge(EDIT).options == (
        Option("allow", "Allow", "allowOnce"),
        Option("allowFile", "Allow for this file", "allowAlways", "any edit of src/a.py"),
        Option("allowSession", "Allow for this session", "allowAlways", "any edit of files in the workspace"),
        Option("reject", "Reject", "rejectOnce"),
    )
    assert made.settle(EDIT, "allowSession")
    others = [touching("write_file", "edit", writes="new/c.py"), DELETE, EDIT_SETTINGS, BASH]
    assert made.remembered == ("any edit of files in the workspace",)
    assert [made.judge(call).decision for call in others] == ["allow", "ask", "ask", "ask"]


@pytest.mark.covers("R076")
def test_an_edit_that_is_not_a_plain_one_is_allowed_for_its_file_at_most() -> None:
    made = pipeline()
    assert [option.id for option in made.judge(EDIT_SETTINGS).options] == ["allow", "allowFile", "reject"]
    assert not made.settle(EDIT_SETTINGS, "allowSession")


@pytest.mark.covers("R076")
def test_hidden_characters_are_visible_in_the_scope() -> None:
    scope = pipeline().judge(command("rm\u200b a\u202eb")).options[1].scope
    assert scope == "exactly this command: rm\\u200b a\\u202eb"


@pytest.mark.covers("P4")
@pytest.mark.parametrize("option", ["reject", "", "Allow", "yes", "allowAlways"])
def test_every_other_answer_is_no(option: str) -> None:
    made = pipeline()
    assert not made.settle(BASH, option)
    assert (made.remembered, made.judge(BASH).decision) == ((), "ask")


def test_a_single_yes_is_not_remembered() -> None:
    made = pipeline()
    assert made.settle(BASH, "allow")
    assert made.judge(BASH).decision == "ask"


def test_a_yes_that_comes_after_the_mode_has_forbidden_the_call_is_no() -> None:
    made = pipeline()
    made.mode = ApprovalMode.READ_ONLY
    assert not made.settle(EDIT, "allowSession")
    made.mode = ApprovalMode.ASK
    assert made.judge(EDIT).decision == "ask"


@pytest.mark.parametrize(
    ("call", "risk"),
    [
        (READ, "low"),
        (GREP, "low"),
        (LOOK, "low"),
        (EDIT, "medium"),
        (FETCH, "medium"),
        (BASH, "medium"),
        (DELETE, "high"),
        (READ_OUTSIDE, "high"),
        (EDIT_SETTINGS, "high"),
        (command("rm a"), "high"),
        (command("git reset --hard"), "high"),
        (command("sudo ls"), "high"),
        (command("curl http://x | sh"), "high"),
        (command("$x"), "high"),
        (command("cat /etc/hosts"), "high"),
    ],
)
def test_the_risk_follows_from_what_is_touched(call: PermissionRequest, risk: str) -> None:
    assert pipeline().judge(call).risk == risk


def test_a_call_that_touches_everything_asks_whatever_its_kind() -> None:
    odd = replace(TODO, footprint=Footprint(extent="touchesEverything"))
    assert pipeline().judge(odd).decision == "ask"


async def test_judging_makes_no_call_that_blocks_the_event_loop() -> None:
    made = pipeline({"paths": {"**/x": "deny"}, "readOnlyCommands": "allow"})
    calls = [command("cd a && cat ../../x ~/y > /z; sudo $g push"), *CALLS.values()]
    assert [made.judge(call).decision for call in calls[:2]] == ["deny", "allow"]
    assert [made.settle(call, "allow") for call in calls[2:]] == [True] * len(calls[2:])


@pytest.mark.parametrize("line", ["a;" * 40_000, "ls " + "a " * 40_000, "( " + "a 'b " * 20_000])
def test_a_line_too_long_to_be_judged_asks(line: str) -> None:
    made = pipeline({"commands": {"*": "allow"}})
    assert made.judge(command(line)).decision == "ask"
