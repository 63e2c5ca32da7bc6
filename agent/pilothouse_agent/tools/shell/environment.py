"""What of our environment a child process is given."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

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

_REFUSE = str(Path(__file__).with_name("askpass.sh"))
"""Asked for a password, it fails at once and says what to do instead."""

# Nobody sits before the command: whatever would page, prompt, open a window or an editor must not.
_UNATTENDED = {
    "DEBIAN_FRONTEND": "noninteractive",
    "GCM_INTERACTIVE": "never",
    "GH_PROMPT_DISABLED": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "NO_COLOR": "1",
    "SSH_ASKPASS_REQUIRE": "force",
    "TERM": "dumb",
    **dict.fromkeys(("BROWSER", "GH_BROWSER", "GIT_ASKPASS", "SSH_ASKPASS", "SUDO_ASKPASS"), _REFUSE),
    **dict.fromkeys(("EDITOR", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "VISUAL"), "true"),
    **dict.fromkeys(("HGEDITOR", "KUBE_EDITOR", "SUDO_EDITOR", "SVN_EDITOR"), "true"),
    **dict.fromkeys(("AWS_PAGER", "BAT_PAGER", "DELTA_PAGER", "GH_PAGER", "GIT_PAGER"), "cat"),
    **dict.fromkeys(("MANPAGER", "PAGER", "PSQL_PAGER", "SYSTEMD_PAGER"), "cat"),
}

# For credential helpers of git, which know no variable in common.
_GIT_CONFIG = (("credential.interactive", "false"),)


def child_environment(source: Mapping[str, str], *, passed: frozenset[str] = frozenset()) -> dict[str, str]:
    """`source` without secrets, made fit for running unattended; variables in `passed` stay as they are."""
    kept = {name: value for name, value in source.items() if not _SECRET.search(name)}
    kept |= _UNATTENDED | _git_config(kept)
    return kept | {name: source[name] for name in passed if name in source}


def _git_config(source: Mapping[str, str]) -> dict[str, str]:
    """Behind the settings that are handed on this way already."""
    given = source.get("GIT_CONFIG_COUNT", "0")
    first = int(given) if given.isascii() and given.isdigit() else 0
    made = {"GIT_CONFIG_COUNT": str(first + len(_GIT_CONFIG))}
    for number, (name, value) in enumerate(_GIT_CONFIG, start=first):
        made |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return made
