"""Addresses of servers on the user's own machine, which people write as a host, a port or both."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

__all__ = ["host_address", "local_address"]

_HERE = "127.0.0.1"
_PORTS = {"http": "80", "https": "443"}
_EVERYWHERE = ("0.0.0.0", "::", "")
"""Where a server listens that listens everywhere: not where it can be reached."""
_PLAIN = re.compile(r"(?:https?://)?(?:\[[^\[\]]*\]|[\w.-]*|[0-9a-fA-F:]+)(?::\d{1,5})?(?:/.*)?\Z")
_CLOUD = "ollama.com"


def local_address(text: str, default: str) -> str:
    """`text` as an address of the shape of `default`, whose port and path count where none is said.

    What is no address is left as it is, for its reader to complain of.
    """
    if not _PLAIN.match(text):
        return text
    address, path = _address(text, str(urlsplit(default).port))
    return address + (path or urlsplit(default).path)


def host_address(text: str, default: str) -> str:
    """The same for a variable that Ollama reads too: quotes around it and a port that is none do no
    harm, and a path is what comes before the path of `default`.
    """
    text = text.strip().strip("\"'")
    if "@" in text:
        return text
    if text == _CLOUD:
        text = f"https://{_CLOUD}"
    address, path = _address(text, str(urlsplit(default).port))
    return address + path.removesuffix(urlsplit(default).path) + urlsplit(default).path


def _address(text: str, port: str) -> tuple[str, str]:
    """Scheme, host and port; and the path, without a slash at its end."""
    scheme, found, rest = text.partition("://")
    if not found:
        scheme, rest = "http", text
    place, slash, path = rest.partition("/")
    port = _PORTS.get(scheme, port) if found else port
    host, said = _parts(place)
    if said is not None and said.isascii() and said.isdigit() and int(said) <= 65535:
        port = said
    host = _HERE if host in _EVERYWHERE else host
    shown = f"[{host}]" if ":" in host else host
    usual = port == _PORTS.get(scheme)
    return f"{scheme}://{shown}" + ("" if usual else f":{port}"), (slash + path).rstrip("/")


def _parts(place: str) -> tuple[str, str | None]:
    """Host and port; an IPv6 address may stand without brackets where no port is said."""
    if (bracketed := re.fullmatch(r"\[([^\[\]]*)\](?::(.*))?", place)) is not None:
        return bracketed[1], bracketed[2]
    bare = place.strip("[]")
    try:
        return str(ipaddress.ip_address(bare)), None
    except ValueError:
        host, colon, port = place.rpartition(":")
        return (host, port) if colon and ":" not in host else (place, None)
