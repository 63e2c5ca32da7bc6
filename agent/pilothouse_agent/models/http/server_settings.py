"""Where a model server is and how to get in: what all wire formats have in common of that."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar
from urllib.parse import urlsplit, urlunsplit

from pilothouse_agent.kernel.messages import ErrorInfo
from pilothouse_agent.models.http.errors import Source, own_error

__all__ = ["ServerSettings"]

_KEY = re.compile(r"[!-~]*\Z")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_HEADER_VALUE = re.compile(r"[!-~](?:[ -~]*[!-~])?\Z")


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Each wire format has its own kind of these, with its paths and defaults."""

    paths: ClassVar[tuple[str, ...]] = ("",)
    """What follows the address; an address may already end in it, or in a later one of these."""
    home: ClassVar[str] = ""
    """The host of the format's maker, which answers nobody without a key."""

    name: str
    """The provider's part of a model id."""
    address: str
    key: str = ""
    key_name: str = ""
    """The variables, for messages."""
    address_name: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    """Sent with each request besides those of the format; their values are kept secret."""
    start: str = ""
    """The command that starts the server, where it is one for the user's own machine."""

    @property
    def url(self) -> str:
        parts = urlsplit(self.address)
        path = parts.path.rstrip("/")
        for ending in self.paths:
            path = path.removesuffix(ending)
        return urlunsplit(parts._replace(path=path + self.paths[0], fragment=""))

    @property
    def source(self) -> Source:
        secrets = (self.key, *self.headers.values())
        return Source(
            self.name,
            self.key_name,
            tuple(secret for secret in secrets if secret),
            self.address_name,
            self.start,
            self.elsewhere,
        )

    @property
    def elsewhere(self) -> str:
        """What to use where a server does not know the path of this format, as a sentence."""
        return ""

    def problem(self) -> ErrorInfo | None:
        """Why no request can be sent with these settings."""
        where = self.address_name or f"The address of {self.name}"
        if not _is_web_address(self.address):
            text = f"{where} must be an http or https address without user name and password."
            return own_error(self.source, "invalidRequest", text)
        if not self.key and self.home and urlsplit(self.address).hostname == self.home:
            text = f"{self.name} needs a key: set {self.key_name}, or another server in {where}."
            return own_error(self.source, "auth", text)
        if not _KEY.match(self.key):
            text = f"The key in {self.key_name} holds characters that no key has; copy it again."
            return own_error(self.source, "auth", text)
        for name, value in self.headers.items():
            if not _HEADER_NAME.match(name) or not _HEADER_VALUE.match(value):
                text = f"The header {name!r} that the settings give {self.name} is none; correct it there."
                return own_error(self.source, "invalidRequest", text)
        return None


def _is_web_address(address: str) -> bool:
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
