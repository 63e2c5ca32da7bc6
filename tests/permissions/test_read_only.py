"""Commands that are known to change nothing."""

from __future__ import annotations

import pytest

from pilothouse_agent.permissions.read_only import is_read_only
from support.judging import pipeline, verdict


@pytest.mark.covers("R073")
@pytest.mark.parametrize(
    "line",
    [
        "git diff --output=F",
        "git diff --outp=F",
        "sort -o F",
        "sort -oF",
        "sort -uo F x",
        "sort --compress-program=./x f",
        "uniq IN OUT",
        "git branch -D b",
        "git branch b",
        "git branch -l b",
        "git remote set-url o u",
        "git tag -d t",
        "git tag t",
        "git -c core.pager=x log",
        "git -C other log",
        "git log -S --output=F",
        "git grep -Ox foo",
        "git config a b",
        "git stash",
        "xxd -r",
        "xxd -ps IN OUT",
        "find . -delete",
        "find . -exec ls {} +",
        "find . -fprint F",
        "rg --pre x y",
        "tree -Lo 2 F",
        "date 01010000",
        "printf -v a b",
        "sort *",
        "./ls",
        "cd a && git status",
    ],
)
def test_a_known_name_with_arguments_that_change_something_asks(line: str) -> None:
    assert not is_read_only(line)
    assert verdict(pipeline({"readOnlyCommands": "allow"}), line) == {line: "ask"}


@pytest.mark.covers("R074")
@pytest.mark.parametrize(
    "line",
    [
        "sed -i s/a/b/ f",
        "sed --in-place s/a/b/ f",
        "sed 'w out' f",
        "sed '1e date' f",
        "sed s/a/b/e f",
        "sed 's/a/b/w out' f",
        "sed -f script f",
        "sed -n -e p -e 'w out' f",
        'sed "$x" f',
        "awk 'BEGIN{system(\"id\")}'",
        "awk '{print > \"o\"}'",
    ],
)
def test_programs_in_an_argument_that_write_or_run_ask(line: str) -> None:
    assert not is_read_only(line)
    assert verdict(pipeline({"readOnlyCommands": "allow"}), line) == {line: "ask"}


@pytest.mark.covers("R074")
@pytest.mark.parametrize(
    "line",
    [
        "sed -n 1,5p f",
        "sed -ne '1,3p' f",
        "sed -n '/a/,/b/p' f",
        "sed 's/a/b/g; 3d' f",
        "ls -la *.py",
        "cat a b | grep -n x | head -3",
        "git status --short",
        "git log --oneline -5 -- a.py",
        "git diff HEAD~1 --stat",
        "git show HEAD:a.py",
        "git branch -a",
        "git branch --list 'f*'",
        "find . -name '*.py' -mtime -7 -not -path './x/*'",
        "rg -n 'a|b' src -g '*.py'",
        "sort -u -k2,2n f | uniq -c | wc -l",
        "ls 2>/dev/null || true",
        "timeout 5 ls 2>&1",
        "LC_ALL=C sort f",
        "[ -f a ] && echo yes",
        "command -v git",
        "python3 --version",
        "if ls; then pwd; fi",
        "cat <<'E'\n$(touch x)\nE",
    ],
)
def test_common_ways_of_looking_around_pass(line: str) -> None:
    assert is_read_only(line)
    assert verdict(pipeline({"readOnlyCommands": "allow"}), line) == {line: "allow"}


@pytest.mark.parametrize(
    "line",
    [
        "",
        "# nothing",
        "ls > f",
        "ls >> f",
        "ls &> f",
        "ls <> f",
        "ls > $x",
        "cat < /dev/tcp/h/1",
        "PATH=x ls",
        "$x",
        "ls $x",
        "echo `touch x`",
        "f() { ls; }; f",
        "sudo ls",
        "[[ -v 'a[$(touch x)]' ]]",
        "[ $x ]",
        "sh script",
        "ls | xargs rm",
        "ls; touch x",
    ],
)
def test_redirections_variables_and_what_cannot_be_told_are_not_read_only(line: str) -> None:
    assert not is_read_only(line)


def test_only_words_inside_the_workspace_go_without_a_question() -> None:
    rules = pipeline({"readOnlyCommands": "allow"})
    decisions = {
        "cat src/a.py": "allow",
        "cat src/../a.py": "allow",
        "cat ../other/a.py": "ask",
        "cat /etc/passwd": "ask",
        "cat ~/.ssh/id_rsa": "ask",
        "cat < /etc/passwd": "ask",
        "cat .env": "ask",
        "cd && ls": "ask",
        "cd .. && ls": "ask",
        "grep -r /etc src": "allow",
        "grep -re /etc/passwd src": "ask",
        "grep --file=/etc/passwd a": "ask",
        "ls /home/me/project/src": "allow",
    }
    assert verdict(rules, *decisions) == decisions


@pytest.mark.covers("R303")
@pytest.mark.parametrize(
    "line",
    [
        "sleep 0.2; echo $((1+2))",
        "sleep 0.2 && echo $(( (1 + 2) * 3 % 4 ))",
        'echo "sum: $((0x1F + 16#ff + 010))"',
        "echo $((1 + $((2 << 3))))",
        "echo a$((1+2))b | wc -c",
        "seq 1 $((2*5)) | head -n $((1+1))",
        "[ $((1+1)) -eq 2 ] && echo yes",
        "timeout 5 sleep $((1))",
    ],
)
def test_sleeping_and_arithmetic_on_numbers_change_nothing(line: str) -> None:
    assert is_read_only(line)


@pytest.mark.covers("R303")
@pytest.mark.parametrize(
    "line",
    [
        "echo $((x))",
        "echo $((x=1))",
        "echo $((1 + a[$(touch f)]))",
        "echo $((1 + $x))",
        "echo $((1 + ${x}))",
        "echo $((1 + $(date +%s)))",
        "echo $((1x))",
        "echo $((1+2)) > f",
        "sort $((0-1))",
        "rm $((1+2))",
        "$((1+2))",
        "sleep 1; make",
    ],
)
def test_arithmetic_that_may_run_something_and_what_else_changes_files_stay_alone(line: str) -> None:
    assert not is_read_only(line)


@pytest.mark.covers("R303")
def test_a_rule_that_a_number_may_meet_asks() -> None:
    made = pipeline({"commands": {"kill 3": "deny", "kill": "allow"}})

    assert verdict(made, "kill 3", "kill $((1+2))", "kill 4") == {
        "kill 3": "deny",
        "kill $((1+2))": "ask",
        "kill 4": "allow",
    }
