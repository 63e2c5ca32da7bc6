"""What of our environment a child process is given."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["child_environment"]

_SECRET = re.compile(
    r"""
      API_?KEY | ACCESS_?KEY | SECRET | PASSW(?:OR)?D | PASSPHRASE | CREDENTIAL | CONNECTION_STRING
    | TOKEN $
    | (?:\b|_) (?: KEY | PAT | AUTH | PASS ) $
    | ^ (?: SSHPASS | MYSQL_PWD ) $
    """,
    re.VERBOSE | re.IGNORECASE,
)

# Nobody sits before the command: whatever would page, prompt or open an editor must not.
_UNATTENDED = {
    "DEBIAN_FRONTEND": "noninteractive",
    "EDITOR": "true",
    "GIT_EDITOR": "true",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "MANPAGER": "cat",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "SSH_ASKPASS_REQUIRE": "never",
    "TERM": "dumb",
    "VISUAL": "true",
}


def child_environment(source: Mapping[str, str], *, passed: frozenset[str] = frozenset()) -> dict[str, str]:
    """`source` without secrets, made fit for running unattended; variables in `passed` stay as they are."""
    kept = {name: value for name, value in source.items() if not _SECRET.search(name)}
    return kept | _UNATTENDED | {name: source[name] for name in passed if name in source}
