"""Files that are asked about also where everything around them is allowed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from pilothouse_agent.permissions.layers import Access
from pilothouse_agent.permissions.path_patterns import compile_pattern

__all__ = ["PROTECTED_GLOBS", "Protected", "protection_of"]


@dataclass(frozen=True, slots=True)
class Protected:
    patterns: tuple[str, ...]
    access: frozenset[Access]
    reason: str
    """Follows the path: `.env ...`."""
    unless: tuple[str, ...] = ()
    """Names that the patterns match but are harmless."""


_ANY: frozenset[Access] = frozenset({"read", "write"})
_WRITE: frozenset[Access] = frozenset({"write"})

_PROTECTED = (
    Protected(
        (".env", ".env.*"),
        _ANY,
        "usually holds passwords and keys",
        unless=(".env.example", ".env.sample", ".env.template", ".env.dist", ".env.schema"),
    ),
    Protected(
        ("id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "*.pem", "*.key", "*.p12", "*.pfx"),
        _ANY,
        "may be a private key",
    ),
    Protected(
        (
            ".netrc",
            ".npmrc",
            ".pgpass",
            ".pypirc",
            ".git-credentials",
            "**/.aws/credentials",
            "**/.docker/config.json",
            "**/.kube/config",
            "**/.gnupg/",
            "**/.ssh/",
        ),
        _ANY,
        "usually holds credentials",
    ),
    Protected(
        (".git", ".envrc", ".husky", ".vscode", ".dir-locals.el", ".helix"),
        _WRITE,
        "can make git or an editor run programs",
    ),
    Protected((".pilothouse",), _WRITE, "holds the agent's own permissions"),
)

PROTECTED_GLOBS = tuple(
    pattern for protected in _PROTECTED if "read" in protected.access for pattern in protected.patterns
)
"""What searches leave out; without a slash at any depth, with one at the end all that is below."""


def protection_of(path: str, access: Iterable[Access]) -> str | None:
    """Why access to a path is asked about; None when it is not.

    Paths inside a workspace begin at its folder, with a slash in front, others at the root.
    """
    wanted = frozenset(access)
    for protected in _PROTECTED:
        if (
            wanted & protected.access
            and _expression(protected.patterns).fullmatch(path)
            and not _expression(protected.unless).fullmatch(path)
        ):
            return protected.reason
    return None


@cache
def _expression(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """Matches what one of the patterns does, in any case."""
    compiled = (compile_pattern(pattern, folders=(), home="", ignore_case=True) for pattern in patterns)
    return re.compile(
        "|".join(expression.pattern for expression in compiled) or "(?!)", re.DOTALL | re.IGNORECASE
    )
