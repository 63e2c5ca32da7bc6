"""Where a model server is and how to get in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit

from pilothouse_agent.kernel.messages import ErrorInfo
from pilothouse_agent.models.http.errors import Source, own_error
from pilothouse_agent.models.http.wire_format import WireFormat

__all__ = ["Access"]

_KEY = re.compile(r"[!-~]*\Z")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_HEADER_VALUE = re.compile(r"[!-~](?:[ -~]*[!-~])?\Z")


@dataclass(frozen=True, slots=True)
class Access:
    name: str
    """The provider's part of a model id."""
    address: str
    key: str = field(default="", repr=False)
    key_name: str = ""
    """The variables, for messages."""
    address_name: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Sent with each request besides those of the format; their values are kept secret."""
    start: str = ""
    """The command that starts the server, where it is one for the user's own machine."""

    def url(self, wire: WireFormat) -> str:
        parts = urlsplit(self.address)
        path = parts.path.rstrip("/")
        for ending in wire.paths:
            path = path.removesuffix(ending)
        return urlunsplit(parts._replace(path=path + wire.paths[0], fragment=""))

    def source(self, wire: WireFormat) -> Source:
        secrets = tuple(filter(None, (self.key, *self.headers.values())))
        elsewhere = wire.elsewhere(self.name)
        return Source(self.name, self.key_name, secrets, self.address_name, self.start, elsewhere)

    def problem(self, wire: WireFormat) -> ErrorInfo | None:
        """Why no request can be sent."""
        source, where = self.source(wire), self.address_name or f"The address of {self.name}"
        if not _is_web_address(self.address):
            text = f"{where} must be an http or https address without user name and password."
            return own_error(source, "invalidRequest", text)
        if not self.key and wire.home and urlsplit(self.address).hostname == wire.home:
            text = f"{self.name} needs a key: set {self.key_name}, or another server in {where}."
            return own_error(source, "auth", text)
        if not _KEY.match(self.key):
            text = f"The key in {self.key_name} holds characters that no key has; copy it again."
            return own_error(source, "auth", text)
        for name, value in self.headers.items():
            if not _HEADER_NAME.match(name) or not _HEADER_VALUE.match(value):
                text = f"The header {name!r} that the settings give {self.name} is none; correct it there."
                return own_error(source, "invalidRequest", text)
        return None


def _is_web_address(address: str) -> bool:
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
