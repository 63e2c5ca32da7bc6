"""Commands that never run."""

from __future__ import annotations

import pytest

from pilothouse_agent.permissions.approval_mode import ApprovalMode
from support.judging import command, pipeline


@pytest.mark.covers("P1")
@pytest.mark.parametrize(
    "line",
    [
        "rm -rf /",
        "rm -rf /*",
        "rm -fr -- //",
        "rm -r --force /usr/../",
        "rm -rf ~",
        "rm -rf ~/*",
        'rm -rf "$HOME"',
        "rm -rf ${HOME}/",
        "rm -rf /home/someone",
        "cd a; sudo /bin/rm -Rf /etc",
        "sh -c 'rm -rf /'",
        "rm -rf --no-preserve-root x",
        "( rm -rf / ;",
        "chmod -R 777 /",
        "chown --recursive me ~",
        "mkfs.ext4 /dev/sdb",
        "dd if=a of=/dev/nvme0n1",
        "cat a > /dev/sda",
        "echo a | tee /dev/sda1",
        ":(){ :|:& };:",
        "bomb() { bomb | bomb & }; bomb",
    ],
)
def test_what_is_never_done_is_denied_whatever_rules_and_modes_say(line: str) -> None:
    made = pipeline({"commands": {"*": "allow"}, "tools": {"bash": "allow"}}, mode=ApprovalMode.ALL)
    verdict = made.judge(command(line))
    assert (verdict.decision, verdict.reason.startswith("Denied: it ")) == ("deny", True)


@pytest.mark.parametrize(
    "line",
    [
        "rm -rf build",
        "rm -rf ./*",
        "rm -rf /home/someone/project/build",
        "rm /",
        "echo rm -rf /",
        "git commit -m 'rm -rf /'",
        "dd if=/dev/zero of=disk.img",
        "cat a > /dev/null",
        "chmod -R u+w build",
        "f() { f; }; f",
    ],
)
def test_similar_commands_are_not(line: str) -> None:
    assert pipeline(mode=ApprovalMode.ALL).judge(command(line)).decision == "allow"
