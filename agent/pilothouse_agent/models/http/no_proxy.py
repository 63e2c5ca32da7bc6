"""What `NO_PROXY` says: hosts, domains, addresses and networks that are asked directly."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

__all__ = ["NoProxy", "read_no_proxy"]

_SEPARATORS = re.compile(r"[,\s]+")
_LABELS = re.compile(r"[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*\Z")
_PORTS = {"http": 80, "https": 443}
_LONGEST_SHOWN = 60

_Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True, slots=True)
class _Entry:
    host: str | _Network
    """A name in small letters, which stands for all below it too, or a network, maybe of one address."""
    port: int | None
    scheme: str

    def covers(self, host: str | _Network, port: int | None, scheme: str) -> bool:
        if self.port not in (None, port) or self.scheme not in ("", scheme):
            return False
        if isinstance(self.host, str) or isinstance(host, str):
            return isinstance(host, str) and (f".{host}").endswith(f".{self.host}")
        return host.version == self.host.version and host.subnet_of(self.host)  # pyright: ignore[reportArgumentType]


@dataclass(frozen=True, slots=True)
class NoProxy:
    everything: bool
    entries: tuple[_Entry, ...]
    unreadable: tuple[str, ...]
    """The entries that say nothing, short enough to show."""

    def covers(self, url: str) -> bool:
        if self.everything:
            return True
        parts = urlsplit(url)
        host = _host(parts.hostname or "")
        port = parts.port or _PORTS.get(parts.scheme)
        return host is not None and any(entry.covers(host, port, parts.scheme) for entry in self.entries)


def read_no_proxy(text: str) -> NoProxy:
    """Entries stand between commas or blanks. `*`: everything. `example.com`, `.example.com` and
    `*.example.com`: it and all below it. Addresses and networks, IPv6 with brackets or without; behind
    any of them a port, before any of them a scheme.
    """
    entries: list[_Entry] = []
    unreadable: list[str] = []
    everything = False
    for word in filter(None, _SEPARATORS.split(text)):
        if word == "*":
            everything = True
        elif (entry := _entry(word)) is not None:
            entries.append(entry)
        else:
            unreadable.append(word if len(word) <= _LONGEST_SHOWN else f"{word[:_LONGEST_SHOWN]}…")
    return NoProxy(everything, tuple(entries), tuple(unreadable))


def _entry(word: str) -> _Entry | None:
    if "://" not in word:
        whole = _host(word)
        return _Entry(whole, None, "") if whole is not None else _with_port(word, "")
    try:
        parts = urlsplit(word.lower())
    except ValueError:
        return None
    return _with_port(parts.netloc, parts.scheme) if _is_bare(parts) else None


def _is_bare(parts: SplitResult) -> bool:
    """All says where, and nothing who or what."""
    beside = parts.path.strip("/") or parts.query or parts.fragment or "@" in parts.netloc
    return not beside and parts.scheme in ("all", "http", "https")


def _with_port(text: str, scheme: str) -> _Entry | None:
    scheme = "" if scheme == "all" else scheme
    if (whole := _host(text)) is not None:
        return _Entry(whole, None, scheme)
    name, _, port = text.rpartition(":")
    host = _host(name)
    if host is None or not port.isascii() or not port.isdigit() or not 0 < len(port) <= 5:
        return None
    return _Entry(host, int(port), scheme)


def _host(text: str) -> str | _Network | None:
    """A network where it is an address or a network, a name in small letters, None where it is neither."""
    bare = re.sub(r"\A\[([^\[\]]*)\](?=/|\Z)", r"\1", text).partition("%")[0]
    try:
        network = ipaddress.ip_network(bare, strict=False)
    except ValueError:
        return _name(text)
    return _plain(network)


def _plain(network: _Network) -> _Network:
    """An IPv4 address in the clothes of IPv6 is the same address."""
    if isinstance(network, ipaddress.IPv6Network) and network.prefixlen == 128:
        mapped = network.network_address.ipv4_mapped
        return ipaddress.ip_network(mapped) if mapped is not None else network
    return network


def _name(text: str) -> str | None:
    name = text.lower().removeprefix("*.").strip(".")
    try:
        name = name.encode("idna").decode("ascii")
    except UnicodeError:
        return None
    return name if _LABELS.match(name) else None
