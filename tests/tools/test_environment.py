"""What children get of our environment."""

from __future__ import annotations

import pytest

from pilothouse_agent.tools.shell.environment import child_environment

SECRETS = [
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "GH_TOKEN",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_ACCESS_KEY_ID",
    "AZURE_OPENAI_KEY",
    "DB_PASSWORD",
    "db_password",
    "PGPASSWORD",
    "SMTP_PASS",
    "MYSQL_PWD",
    "npm_config__authToken",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "MY_SECRET_THING",
]
HARMLESS = [
    "PATH",
    "HOME",
    "LANG",
    "PWD",
    "OLDPWD",
    "SSH_AUTH_SOCK",
    "MAX_TOKENS",
    "KEYBOARD",
    "XAUTHORITY",
    "MONKEY",
]


@pytest.mark.covers("R127")
def test_secrets_are_left_out_and_the_rest_stays() -> None:
    child = child_environment(dict.fromkeys(SECRETS + HARMLESS, "value"))

    assert [name for name in SECRETS if name in child] == []
    assert [name for name in HARMLESS if name not in child] == []


@pytest.mark.covers("R127")
def test_named_variables_are_let_through_unchanged() -> None:
    source = {"GH_TOKEN": "t", "PAGER": "less", "NPM_TOKEN": "n"}
    child = child_environment(source, passed=frozenset({"GH_TOKEN", "PAGER", "ABSENT"}))

    assert {name: child.get(name) for name in (*source, "ABSENT")} == {
        "GH_TOKEN": "t",
        "PAGER": "less",
        "NPM_TOKEN": None,
        "ABSENT": None,
    }


def test_nothing_asks_or_pages() -> None:
    child = child_environment({"PAGER": "less", "EDITOR": "vi", "TERM": "xterm"})

    assert {name: child[name] for name in ("GIT_TERMINAL_PROMPT", "PAGER", "EDITOR", "TERM")} == {
        "GIT_TERMINAL_PROMPT": "0",
        "PAGER": "cat",
        "EDITOR": "true",
        "TERM": "dumb",
    }
